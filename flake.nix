{
  description = "cuzk: Groth16 proofs for Filecoin, and the suite that shows every way to one gives the same bytes";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";

  outputs = { self, nixpkgs }:
    let
      system = "x86_64-linux";
      target = "x86_64-unknown-linux-gnu";
      inherit (builtins.fromTOML (builtins.readFile ./Cargo.toml)) workspace;
      inherit (workspace.package) version;

      pkgs = import nixpkgs {
        inherit system;
        # NVIDIA's toolkit, and nothing else that is not free.
        config.allowUnfreePredicate = package:
          builtins.match "(cuda_|libnv|nsight_).*" (package.pname or "") != null;
      };
      inherit (pkgs) lib rustPlatform;
      cuda = pkgs.cudaPackages_13_0;

      # A folder of this one, with what is chosen by its path in it. Named `source` everywhere, so that all cargo builds are in
      # the same folder, and what one has compiled is fresh for the next.
      choose = wanted: lib.cleanSourceWith {
        name = "source";
        src = ./.;
        filter = path: type: wanted (lib.removePrefix (toString ./. + "/") path) type;
      };
      under = folders: path: lib.any (folder: path == folder || lib.hasPrefix (folder + "/") path) folders;

      # What the programs are compiled from.
      source = choose (path: type:
        under [ "Cargo.toml" "Cargo.lock" "LICENSE-APACHE" "LICENSE-MIT" "crates" "cuda" "conformance" ] path && !under [ "conformance/runs" ] path
        && !(type == "directory" && baseNameOf path == "tests")
        || path == "golden" || path == "golden/circuits.json");
      # What lints and tests need: also the golden cases, and what tests read besides.
      tree = choose (path: _: !under [ ".ci" "flake.nix" "flake.lock" "conformance/runs" ] path);
      # What third-party crates are chosen by.
      manifests = choose (path: type:
        if type == "directory"
        then under [ "crates" "conformance" ] path && !lib.elem (baseNameOf path) [ "runs" "src" "tests" "examples" "memcheck" ]
        else lib.elem (baseNameOf path) [ "Cargo.toml" "Cargo.lock" ]);

      # What nixpkgs sets for its own calls of cargo has to hold for ours, or they compile everything anew.
      profile.CARGO_PROFILE_RELEASE_STRIP = "false";

      # Every crate of the registry, compiled once for each processor; whatever is built of our own starts from its `target/`.
      depsFor = flags: rustPlatform.buildRustPackage {
        pname = "cuzk-deps";
        inherit version;
        src = manifests;
        cargoLock.lockFile = ./Cargo.lock;
        preBuild = ''
          for manifest in crates/*/Cargo.toml conformance/Cargo.toml conformance/*/Cargo.toml; do
            folder=$(dirname "$manifest")
            mkdir -p "$folder/src"
            touch "$folder/src/lib.rs"
            echo 'fn main() {}' | tee "$folder/src/main.rs" > "$folder/build.rs"
          done
        '';
        cargoBuildFlags = [ "--workspace" ];
        doCheck = false;
        auditable = false;
        env = profile // flags;
        installPhase = "mkdir $out && cp -r --preserve=timestamps target $out/";
        dontFixup = true;
      };
      deps = depsFor { };

      # Takes over what another derivation has compiled. Everything in the store is of 1970, and what was vendored has to be no newer.
      continueFrom = built: ''
        cp -r --preserve=mode,timestamps ${built}/target target
        chmod -R u+w target
        find "$NIX_BUILD_TOP/cargo-vendor-dir" -exec touch -h -d @1 {} +
      '';
      # The same, where our own crates are to be compiled anew.
      startFrom = deps: ''
        ${continueFrom deps}
        find . -path ./target -prune -o -type f -exec touch {} +
      '';

      cargo = args: rustPlatform.buildRustPackage ({
        inherit version;
        src = source;
        cargoLock.lockFile = ./Cargo.lock;
        preBuild = continueFrom ours;
        doCheck = false;
        auditable = false;
        dontCargoInstall = true;
      } // args // { env = profile // args.env or { }; });

      # Our own crates, for any processor and without device code: what differs in a package is compiled on top of it.
      ours = cargo {
        pname = "cuzk-crates";
        preBuild = startFrom deps;
        cargoBuildFlags = [ "--workspace" ];
        installPhase = "mkdir $out && cp -r --preserve=timestamps target $out/";
        dontFixup = true;
      };

      # Features of the crates are those of a build of the whole workspace, for whichever programs.
      programs = names: [ "--workspace" ] ++ lib.concatMap (name: [ "--bin" name ]) names;

      provenance = {
        CUZK_REVISION = self.rev or self.dirtyRev or "";
        CUZK_NAR_HASH = self.narHash or "";
      };
      licences = name: "install -Dm644 -t $out/share/licenses/${name} LICENSE-APACHE LICENSE-MIT";

      # The prover. Its manual and completions come from itself, or from one that runs wherever it is built.
      prover = { suffix ? "", description, flags ? { }, kernels ? null, binary ? "target/${target}/release/cuzk", from ? "$out/bin/cuzk", ... }@args: cargo ({
        pname = "cuzk${suffix}";
        cargoBuildFlags = programs [ "cuzk" ];
        # libcuda comes with the driver, and is looked for when a device is asked for.
        nativeBuildInputs = lib.optional (kernels != null) pkgs.autoAddDriverRunpath ++ args.nativeBuildInputs or [ ];
        env = provenance // flags // lib.optionalAttrs (kernels != null) { CUZK_KERNELS = "${kernels}"; };
        installPhase = ''
          install -Dm755 ${binary} $out/bin/cuzk
          ${from} man --out $out/share/man/man1
          install -d $out/share/bash-completion/completions $out/share/zsh/site-functions $out/share/fish/vendor_completions.d
          ${from} completions bash > $out/share/bash-completion/completions/cuzk
          ${from} completions zsh > $out/share/zsh/site-functions/_cuzk
          ${from} completions fish > $out/share/fish/vendor_completions.d/cuzk.fish
          ${licences "cuzk"}
        '';
        meta = meta // { inherit description; mainProgram = "cuzk"; };
      } // removeAttrs args [ "suffix" "description" "flags" "kernels" "binary" "from" "nativeBuildInputs" ]);
      meta = {
        license = with lib.licenses; [ mit asl20 ];
        platforms = [ system ];
      };

      # The storage of linear combinations is edited into a copy of upstream's crate by the program that does so for cargo builds.
      smallvec = capacity: prover {
        suffix = "-smallvec-${capacity}";
        description = "The prover, with linear combinations of up to ${capacity} terms without an allocation";
        inherit kernels;
        nativeBuildInputs = [ conformance ];
        preBuild = ''
          mkdir variants
          ${startFrom deps}
          mv target variants/target
        '';
        buildPhase = ''
          runHook preBuild
          cuzk-variants-build --workspace . --out variants --target ${target} --variants smallvec-${capacity}
        '';
        binary = "variants/cuzk-smallvec-${capacity}";
      };

      # Compiled by the program that the prover's build would run, in a derivation of its own: the prover changes more often.
      kernelsFor = suffix: architectures: cuda.backendStdenv.mkDerivation {
        pname = "cuzk-kernels${suffix}";
        inherit version;
        src = choose (path: _:
          under [ "cuda" "LICENSE-APACHE" "LICENSE-MIT" ] path || lib.elem path [ "crates" "crates/gpu" "crates/gpu/build.rs" ]);
        nativeBuildInputs = [ cuda.cuda_nvcc pkgs.rustc ];
        buildInputs = [ cuda.cuda_cudart ];
        strictDeps = true;
        buildPhase = ''
          rustc --edition ${workspace.package.edition} -o compile-kernels crates/gpu/build.rs
          mkdir out
          CARGO_MANIFEST_DIR=$PWD/crates/gpu OUT_DIR=$PWD/out CUZK_NVCC=$(command -v nvcc) \
            CUZK_CUDA_ARCHS=${lib.concatStringsSep "," architectures} ./compile-kernels
        '';
        installPhase = ''
          mkdir $out && cp out/*.fatbin out/*.txt $out/
          ${licences "cuzk-kernels"}
        '';
        dontFixup = true;
        meta = meta // { description = "The prover's device code"; };
      };
      kernels = kernelsFor "" (if capabilities == [ ] then [ "80" "86" "89" "90" "100" "120" ] else capabilities);
      # CI's stand-in for nixpkgs names one, as all take a quarter of an hour.
      capabilities = map (lib.replaceStrings [ "." ] [ "" ]) (pkgs.config.cudaCapabilities or [ ]);

      conformance = cargo {
        pname = "cuzk-conformance";
        cargoBuildFlags = programs [ "cuzk-conformance" "cuzk-variants-build" "cuzk-variants-measure" ];
        installPhase = ''
          install -Dm755 -t $out/bin target/${target}/release/{cuzk-conformance,cuzk-variants-build,cuzk-variants-measure}
          mkdir -p $out/share/cuzk
          cp -r ${./golden} $out/share/cuzk/golden
          ${licences "cuzk-conformance"}
        '';
        meta = meta // { description = "Runs the golden cases against any prover; judges upgrades"; mainProgram = "cuzk-conformance"; };
      };

      znver4.RUSTFLAGS = "-C target-cpu=znver4";

      provers = {
        cuzk = prover {
          description = "Groth16 prover for Filecoin, for any processor and NVIDIA's cards";
          inherit kernels;
        };
        cuzk-cpu = prover {
          suffix = "-cpu";
          description = "The prover without device code";
        };
        cuzk-znver4 = prover {
          suffix = "-znver4";
          description = "The prover, compiled for Zen 4 and what has all its instructions";
          inherit kernels;
          # To rustc alone, and with a target: build scripts run where they are built.
          flags = znver4;
          preBuild = startFrom (depsFor znver4);
          from = lib.getExe provers.cuzk-cpu;
        };
        cuzk-smallvec-1 = smallvec "1";
        cuzk-smallvec-2 = smallvec "2";
        cuzk-smallvec-4 = smallvec "4";
      };

      # --- checks ---

      # One of cargo's commands over the whole workspace; what it builds is not kept.
      check = name: args: cargo ({
        pname = "cuzk-${name}";
        src = tree;
        env.CUZK_KERNELS = "${kernels}";
        installPhase = "touch $out";
      } // args);

      # Insecure, of a published seed, for all kinds at 2 KiB; with the circuits' templates.
      testParameters = pkgs.runCommand "cuzk-test-parameters" { } ''
        export HOME=$PWD XDG_CACHE_HOME=$out
        for kind in porep winning-post window-post snap; do
          ${lib.getExe provers.cuzk-cpu} params generate --kind $kind --quiet
        done
        ${lib.getExe provers.cuzk-cpu} params generate --inner-product-key --quiet
      '';

      # Whether a program starts, as exit code. One for a certain processor (`elsewhere` = "refuses") may refuse to where its instructions
      # are missing, by exit code 3 and in the sentence for that; anything else ends the check.
      starts = elsewhere: package: ''
        if ${lib.getExe package} --version 2> refusal; then
          started=1
        else
          status=$?
          cat refusal
          [ ${elsewhere} = refuses ]
          [ $status = 3 ]
          grep -q 'this build is for processors that have' refusal
          started=0
        fi
      '';
      elsewhere = name: if name == "cuzk-znver4" then "refuses" else "fails";
      withTestParameters = ''
        export HOME=$PWD XDG_CACHE_HOME=$PWD/cache
        cp -rs ${testParameters} cache
        chmod -R u+w cache
      '';

      # The golden cases that a package has to pass: PoRep of 2 KiB, and everything that is to be refused or verified.
      conforms = name: package: pkgs.runCommand "conformance-${name}" { nativeBuildInputs = [ conformance ]; } ''
        ${withTestParameters}
        mkdir $out
        ${starts (elsewhere name) package}
        if [ $started = 1 ]; then
          run() { cuzk-conformance run --golden ${./golden} --binary ${lib.getExe package} "$@"; }
          run --filter porep-2kib-v1_1/valid --report $out/proof.json
          run --skip /valid --skip last_partition_alone --report $out/others.json
        else
          # All that can be seen of it here is how it says so.
          { printf 'SKIPPED %s: ' ${name}; cat refusal; } > $out/skipped
        fi
      '';
      seed = lib.concatStrings (lib.genList (_: "07") 32);

      checks = lib.mapAttrs' (name: package: lib.nameValuePair "conformance-${name}" (conforms name package)) provers // {
        formatting = pkgs.runCommand "cuzk-formatting" { nativeBuildInputs = [ pkgs.cargo pkgs.rustfmt ]; } ''
          cd ${tree}
          cargo fmt --all --check
          touch $out
        '';

        # Lints and documentation use the same metadata of all crates, which take longer than both.
        lints = check "lints" {
          nativeBuildInputs = [ pkgs.clippy ];
          buildPhase = ''
            runHook preBuild
            cargo clippy --offline --frozen --release --target ${target} --workspace --all-targets -- -D warnings
            RUSTDOCFLAGS='-D warnings' cargo doc --offline --frozen --release --target ${target} --workspace --no-deps
          '';
        };

        # Of libraries and programs, that hot kernels do not spill, and that licences and advisories allow all crates. Whole proofs are in the conformance checks.
        tests = check "tests" {
          buildPhase = ''
            runHook preBuild
            ${withTestParameters}
            cargo test --offline --frozen --release --target ${target} --workspace --lib --bins --test resources --test dependencies
          '';
        };

        golden = pkgs.runCommand "cuzk-golden" { nativeBuildInputs = [ conformance ]; } ''
          cuzk-conformance lint --golden ${./golden}
          touch $out
        '';

        # Every package that runs here makes the same bytes.
        agreement = pkgs.runCommand "cuzk-agreement" { } (withTestParameters + lib.concatStrings (lib.mapAttrsToList (name: package: ''
          ${starts (elsewhere name) package}
          if [ $started = 1 ]; then
            for case in winning-post-2kib-v1/valid window-post-2kib-v1_2/valid; do
              ${lib.getExe package} prove ${./golden}/$case/statement.json --test-params --insecure-seed ${seed} --quiet -o proof
              sha256sum < proof | sed "s,-,$case,"
            done > ${name}.sums
          fi
        '') provers) + ''
          for sums in *.sums; do
            diff cuzk.sums $sums || { echo "cuzk and ''${sums%.sums} do not agree" >&2; exit 1; }
          done
          [ "$(ls *.sums | wc -l)" -ge 5 ]
          cp cuzk.sums $out
        '');
      } // lib.optionalAttrs (pkgs ? cargo-deny) {
        licences = check "licences" {
          nativeBuildInputs = [ pkgs.cargo-deny ];
          buildPhase = ''
            cp conformance/deny.toml deny.toml
            cargo deny --offline check licenses bans sources
          '';
        };
      };

      # --- what is run ---

      # The suite with a prover beside it, where it looks for one.
      suite = pkgs.runCommand "cuzk-suite" { meta.mainProgram = "cuzk-conformance"; } ''
        mkdir -p $out/bin
        cp ${lib.getExe conformance} $out/bin/
        ln -s ${lib.getExe provers.cuzk} $out/bin/cuzk
        ln -s ${conformance}/share $out/share
      '';
      # Those that nixpkgs has for this machine, and whose licence the predicate above lets in.
      profilers = lib.concatMap
        (name: lib.optional (cuda ? ${name} && cuda.${name}.meta.available or true) cuda.${name})
        [ "cuda_cuobjdump" "cuda_nvdisasm" "cuda_sanitizer_api" "nsight_compute" "nsight_systems" ];
      app = description: program: { type = "app"; inherit program; meta = { inherit description; }; };
      script = name: command: "${pkgs.writeShellScriptBin name ''exec ${command} "$@"''}/bin/${name}";
    in {
      packages.${system} = provers // { default = provers.cuzk; test-parameters = testParameters; inherit conformance kernels; };
      checks.${system} = checks;

      apps.${system} = {
        default = app "The prover" (lib.getExe provers.cuzk);
        conformance = app "The golden cases against this prover" (lib.getExe suite);
        gate = app "May a binary take another's place?" (script "cuzk-gate" "${lib.getExe suite} gate");
        # Not a check: a sandbox has no card. The driver is found at run time.
        conformance-cuda = app "The golden cases on this machine's card"
          (script "cuzk-conformance-cuda" "${lib.getExe suite} run --backend cuda --require cuda");
      };

      devShells.${system}.default = pkgs.mkShell {
        packages = [ pkgs.rustc pkgs.cargo pkgs.clippy pkgs.rustfmt pkgs.valgrind cuda.cuda_nvcc ] ++ profilers;
        buildInputs = [ cuda.cuda_cudart ];
        env.CUZK_REQUIRE_NVCC = "1";
      };
    };
}
