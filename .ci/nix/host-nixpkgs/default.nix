# `import nixpkgs { system; config; overlays; }` against the machine's own tools.
# The sandbox shows the builder /usr, /bin, /lib, /lib64, /etc/alternatives and /rust (bind mounts, see nix.conf).
{ system ? "x86_64-linux", config ? { }, ... }:
let
  lib = import ./lib.nix;
  # Kernels for one architecture, as those for all take a quarter of an hour.
  settings = { cudaCapabilities = [ "9.0" ]; } // config;
  pins = builtins.fromJSON (builtins.readFile ./pins.json);
  hostPath = "/rust/bin:/usr/bin:/bin";

  mk = args:
    let
      env = args.env or { };
      drvArgs = removeAttrs args [ "meta" "passthru" "env" "buildDepsList" ];
      name = args.name or "${args.pname}-${args.version}";
      drv = derivation (env // drvArgs // {
        inherit name system hostPath;
        builder = "/bin/bash";
        args = [ ./setup.sh ];
        # a change of the host's toolchain is a change of the derivation
        hostToolchain = builtins.toJSON pins.host;
        outputs = args.outputs or [ "out" ];
      });
    in drv // {
      meta = args.meta or { };
      passthru = args.passthru or { };
      overrideAttrs = f: mk (args // (if builtins.isFunction (f args) then f args args else f args));
    } // (args.passthru or { }) // lib.optionalAttrs (args ? pname) { inherit (args) pname version; };

  # A fixed output that only the registry's own client brings in; ../seed puts it into the store.
  seeded = { name, sha256, recursive ? false, hint }: derivation {
    inherit name system;
    builder = "/bin/sh";
    args = [ "-c" "echo ${lib.escapeShellArg "${name}: not in the store; ${hint}"} >&2; exit 1" ];
    outputHashAlgo = "sha256"; outputHash = sha256;
    outputHashMode = if recursive then "recursive" else "flat";
    preferLocalBuild = true;
  };
  fetchurl = { name, sha256 }: seeded { inherit name sha256; hint = "cargo fetch, then .ci/nix/seed"; };

  runCommand = name: env: buildCommand: mk ({ inherit name; dontUnpack = true; installPhase = buildCommand; } // env);
  importCargoLock = { lockFile, outputHashes ? { }, ... }:
    let
      lock = builtins.fromTOML (builtins.readFile lockFile);
      deps = builtins.filter (p: p ? source) lock.package;
      tarball = p:
        if lib.hasPrefix "registry+" p.source
        then fetchurl { name = "crate-${p.name}-${p.version}.tar.gz"; sha256 = p.checksum; }
        else throw "no git sources in this shim: ${p.source}";
    in runCommand "cargo-vendor-dir" { passthru = { inherit lockFile; tarballs = map tarball deps; }; } (''
      mkdir -p $out/.cargo
      cp ${lockFile} $out/Cargo.lock
      printf '[source.crates-io]\nreplace-with = "vendored-sources"\n[source.vendored-sources]\ndirectory = "cargo-vendor-dir"\n' > $out/.cargo/config.toml
    '' + lib.concatMapStrings (p: ''
      d=$out/${p.name}-${p.version}; mkdir $d; tar xf ${tarball p} -C $d --strip-components=1
      echo '{"files":{},"package":"${p.checksum}"}' > $d/.cargo-checksum.json
    '') deps);

  rustTarget = "x86_64-unknown-linux-gnu";
  buildRustPackage = args: mk ({ cargoDeps = importCargoLock args.cargoLock; inherit rustTarget; }
    // removeAttrs args [ "cargoLock" "doCheck" "dontCargoInstall" "dontFixup" ]);

  tool = pname: version: runCommand "${pname}-${version}-host" { inherit pname version; } ''
    mkdir -p $out/bin; for f in ${pname}; do ln -s $(command -v $f) $out/bin/$f; done'';

  # the toolkit's pieces as their registry's own client brought them, laid out as one toolkit
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
  rustc = tool "rustc" pins.host.rustc;
  cargo = tool "cargo" pins.host.rustc;
  clippy = tool "cargo-clippy" pins.host.rustc;
  rustfmt = tool "rustfmt" pins.host.rustc;
  valgrind = tool "valgrind" "host";
  # Programs of this machine look for the driver where its loader does.
  autoAddDriverRunpath = runCommand "no-driver-runpath" { } "mkdir $out";
  cudaPackages_13_0 = cudaSet stdenv "13.0" pins.cuda_13_0;
}
