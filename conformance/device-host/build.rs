//! Compiles `cuda/host/host.cpp` with the C++ compiler.

use std::env;
use std::path::Path;

fn main() {
    let sources = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../cuda");
    for part in ["ec", "ff", "host", "msm", "ntt", "r1cs"] {
        println!("cargo:rerun-if-changed={}", sources.join(part).display());
    }
    let mut build = cc::Build::new();
    build
        .cpp(true)
        // No exceptions, no standard library: nothing of C++ has to be linked.
        .cpp_link_stdlib(None)
        .flags(["-fno-exceptions", "-fno-rtti"])
        .std("c++20")
        .opt_level(2)
        .extra_warnings(true)
        .warnings_into_errors(true)
        // `#pragma unroll` is nvcc's.
        .flag("-Wno-unknown-pragmas")
        .file(sources.join("host/host.cpp"));
    // Undefined behavior ends the program, and needs no runtime library for it.
    for trap in ["-fsanitize-trap=undefined", "-fsanitize-undefined-trap-on-error"] {
        if build.is_flag_supported(trap).unwrap_or(false) {
            build.flags(["-fsanitize=undefined", trap]);
            break;
        }
    }
    build.compile("cuzk_device_host");
}
