# `import nixpkgs { system; config; }` against the machine's own tools, with the attributes that the flake uses and their meaning.
# The sandbox shows the builder /usr, /bin, /lib, /lib64, /etc/alternatives and /rust (bind mounts, see ../nix.conf).
{ system ? "x86_64-linux", config ? { }, ... }:
let
  lib = import ./lib.nix;
  # Kernels for one architecture, as those for all take a quarter of an hour.
  settings = { cudaCapabilities = [ "9.0" ]; } // config;
  pins = builtins.fromJSON (builtins.readFile ./pins.json);
  hostPath = "/rust/bin:/usr/bin:/bin";

  mk = args:
    let
      name = args.name or "${args.pname}-${args.version}";
      drv = derivation (args.env or { } // removeAttrs args [ "meta" "env" ] // {
        inherit name system hostPath;
        builder = "/bin/bash";
        args = [ ./setup.sh ];
        # Another toolchain of the machine is another derivation: ../run writes here what it finds.
        hostToolchain = builtins.toJSON pins.host;
        outputs = args.outputs or [ "out" ];
      });
    in drv // { meta = args.meta or { }; } // lib.optionalAttrs (args ? pname) { inherit (args) pname; };

  # A fixed output that only the registry's own client brings in; ../seed puts it into the store.
  fetchurl = { name, sha256 }: derivation {
    inherit name system;
    builder = "/bin/sh";
    args = [ "-c" "echo ${lib.escapeShellArg "${name}: not in the store; cargo fetch, then .ci/nix/seed"} >&2; exit 1" ];
    outputHashAlgo = "sha256"; outputHash = sha256;
    outputHashMode = "flat";
    preferLocalBuild = true;
  };

  runCommand = name: env: buildCommand: mk ({ inherit name; dontUnpack = true; installPhase = buildCommand; } // env);

  importCargoLock = { lockFile }:
    let
      lock = builtins.fromTOML (builtins.readFile lockFile);
      deps = builtins.filter (p: p ? source) lock.package;
      tarball = p:
        if lib.hasPrefix "registry+" p.source
        then fetchurl { name = "crate-${p.name}-${p.version}.tar.gz"; sha256 = p.checksum; }
        else throw "the stand-in knows no git sources: ${p.source}";
    in runCommand "cargo-vendor-dir" { } (''
      mkdir -p $out/.cargo
      cp ${lockFile} $out/Cargo.lock
      printf '[source.crates-io]\nreplace-with = "vendored-sources"\n[source.vendored-sources]\ndirectory = "cargo-vendor-dir"\n' > $out/.cargo/config.toml
    '' + lib.concatMapStrings (p: ''
      d=$out/${p.name}-${p.version}; mkdir $d; tar xf ${tarball p} -C $d --strip-components=1
      echo '{"files":{},"package":"${p.checksum}"}' > $d/.cargo-checksum.json
    '') deps);

  rustTarget = "x86_64-unknown-linux-gnu";
  buildRustPackage = args: mk ({ cargoDeps = importCargoLock args.cargoLock; inherit rustTarget; }
    // removeAttrs args [ "cargoLock" "doCheck" "dontCargoInstall" "dontFixup" "auditable" ]);

  tool = name: runCommand "${name}-host" { } "mkdir -p $out/bin; ln -s $(command -v ${name}) $out/bin/${name}";

  # The toolkit's wheels, laid out as one toolkit.
  cudaSet = stdenv: v: wheels:
    let toolkit = mk {
      pname = "cuda_nvcc"; version = v; dontUnpack = true;
      installPhase = ''
        ${lib.concatMapStrings (w: "unzip -q -o ${fetchurl { name = w.file; inherit (w) sha256; }} -d u; ") wheels}
        mkdir $out; cp -r u/nvidia/cu*/. $out/
        ln -s lib $out/lib64
        ln -s libcudart.so.13 $out/lib/libcudart.so
      '';
    }; in {
      backendStdenv = stdenv;
      cuda_nvcc = toolkit; cuda_cudart = toolkit;
    };

in rec {
  inherit lib runCommand;
  config = settings;
  stdenv.mkDerivation = mk;
  mkShell = args: mk ({ name = "shell"; dontUnpack = true; installPhase = "mkdir -p $out"; }
    // removeAttrs args [ "packages" ] // { nativeBuildInputs = args.packages; });
  writeShellScriptBin = name: text: runCommand name { inherit text; passAsFile = [ "text" ]; }
    ''mkdir -p $out/bin; { echo '#!/bin/bash'; cat "$textPath"; } > $out/bin/${name}; chmod +x $out/bin/${name}'';
  rustPlatform = { inherit buildRustPackage importCargoLock; };
  rustc = tool "rustc";
  cargo = tool "cargo";
  clippy = tool "cargo-clippy";
  rustfmt = tool "rustfmt";
  valgrind = tool "valgrind";
  # Programs of this machine look for the driver where its loader does.
  autoAddDriverRunpath = runCommand "no-driver-runpath" { } "mkdir $out";
  cudaPackages_13_0 = cudaSet stdenv "13.0" pins.cuda_13_0;
}
