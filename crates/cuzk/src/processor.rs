//! A build for a certain processor (`-C target-cpu`) refuses to start on another, in a sentence instead of by SIGILL.
//!
//! std's own detection is of no use here: for features that the compiler was given it is the constant `true`. So this reads
//! CPUID itself. Bits: Intel's Software Developer's Manual, volume 2A, CPUID; AMD's Architecture Programmer's Manual, volume
//! 3, appendix E, for the extended leaf.

macro_rules! features {
    ($($leaf:literal, $subleaf:literal, $register:ident { $($name:tt = $bit:literal,)* })*) => {
        /// The first feature that this build was compiled for and that the processor lacks. Costs a dozen CPUIDs.
        #[cfg(target_arch = "x86_64")]
        #[inline(never)]
        pub(crate) fn missing_feature() -> Option<&'static str> {
            use std::arch::x86_64::__cpuid_count;
            $({
                // A leaf beyond the last one of its range gives anything.
                let last = __cpuid_count($leaf & 0x8000_0000, 0).eax;
                let bits = if $leaf <= last { __cpuid_count($leaf, $subleaf).$register } else { 0 };
                $(if cfg!(target_feature = $name) && bits & (1 << $bit) == 0 {
                    return Some($name);
                })*
            })*
            None
        }

        /// All names, and whether std finds the feature.
        #[cfg(all(test, target_arch = "x86_64"))]
        fn detected() -> Vec<(&'static str, bool, bool)> {
            use std::arch::x86_64::__cpuid_count;
            vec![$($((
                $name,
                std::is_x86_feature_detected!($name),
                __cpuid_count($leaf, $subleaf).$register & (1 << $bit) != 0,
            )),*),*]
        }
    };
}

/// Elsewhere no table is at hand, and nothing is refused.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn missing_feature() -> Option<&'static str> {
    None
}

features! {
    1, 0, ecx {
        "sse3" = 0,
        "pclmulqdq" = 1,
        "ssse3" = 9,
        "fma" = 12,
        "cmpxchg16b" = 13,
        "sse4.1" = 19,
        "sse4.2" = 20,
        "movbe" = 22,
        "popcnt" = 23,
        "aes" = 25,
        "xsave" = 26,
        "avx" = 28,
        "f16c" = 29,
        "rdrand" = 30,
    }
    1, 0, edx {
        "fxsr" = 24,
        "sse" = 25,
        "sse2" = 26,
    }
    7, 0, ebx {
        "bmi1" = 3,
        "avx2" = 5,
        "bmi2" = 8,
        "avx512f" = 16,
        "avx512dq" = 17,
        "rdseed" = 18,
        "adx" = 19,
        "avx512ifma" = 21,
        "avx512cd" = 28,
        "sha" = 29,
        "avx512bw" = 30,
        "avx512vl" = 31,
    }
    7, 0, ecx {
        "avx512vbmi" = 1,
        "avx512vbmi2" = 6,
        "gfni" = 8,
        "vaes" = 9,
        "vpclmulqdq" = 10,
        "avx512vnni" = 11,
        "avx512bitalg" = 12,
        "avx512vpopcntdq" = 14,
    }
    7, 1, eax {
        "avx512bf16" = 5,
    }
    0xd, 1, eax {
        "xsaveopt" = 0,
        "xsavec" = 1,
        "xsaves" = 3,
    }
    0x8000_0001, 0, ecx {
        "lzcnt" = 5,
        "sse4a" = 6,
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_bits_are_those_that_std_reads() {
        for (name, by_std, by_table) in detected() {
            assert_eq!(by_std, by_table, "{name}");
        }
    }

    #[test]
    fn this_build_runs_here() {
        assert_eq!(missing_feature(), None);
    }

    /// Of the processors with builds of their own.
    #[test]
    fn every_feature_that_rustc_may_use_is_in_the_table() {
        let table: Vec<&str> = detected().into_iter().map(|(name, ..)| name).collect();
        for cpu in ["x86-64-v4", "znver4"] {
            let flags = ["--print=cfg", "--target=x86_64-unknown-linux-gnu"];
            let output =
                Command::new("rustc").args(flags).arg(format!("-Ctarget-cpu={cpu}")).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let features: Vec<&str> = text
                .lines()
                .filter_map(|line| line.strip_prefix("target_feature=\"")?.strip_suffix('"'))
                .collect();
            assert!(features.len() > 10, "{cpu}: {text}");
            for feature in features {
                assert!(table.contains(&feature), "{cpu}: {feature} is not in the table");
            }
        }
    }
}
