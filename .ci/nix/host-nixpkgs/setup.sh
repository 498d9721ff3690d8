# The generic builder: the phases of nixpkgs' stdenv that the flake's derivations use. As there, a phase that a derivation gives
# replaces the default one with its hooks.
set -eu -o pipefail
export HOME=/homeless-shelter TMPDIR="${TMPDIR:-/build}" SOURCE_DATE_EPOCH=315532800 TZ=UTC LC_ALL=C
export CARGO_HOME="$TMPDIR/cargo-home" NIX_BUILD_CORES="${NIX_BUILD_CORES:-1}"
p=
for d in ${nativeBuildInputs:-} ${buildInputs:-}; do [ ! -d "$d/bin" ] || p="$p$d/bin:"; done
export PATH="$p${hostPath:?}"

runHook() { local b="${!1:-}"; if [ -n "$b" ]; then eval "$b"; fi; }

unpackPhase() {
  runHook preUnpack
  if [ -n "${dontUnpack:-}" ] || [ -z "${src:-}" ]; then mkdir work; cd work; return; fi
  cp -r --preserve=timestamps "$src" source
  chmod -R u+w source
  cd source
  if [ -n "${cargoDeps:-}" ]; then cargoSetup; fi
  runHook postUnpack
}

cargoSetup() {
  local cargoDepsCopy="$NIX_BUILD_TOP/cargo-vendor-dir"
  cp -r --no-preserve=mode,ownership "$cargoDeps" "$cargoDepsCopy"
  mkdir -p "$CARGO_HOME"
  sed "s,directory = .*,directory = \"$cargoDepsCopy\"," "$cargoDeps/.cargo/config.toml" > "$CARGO_HOME/config.toml"
  cmp Cargo.lock "$cargoDeps/Cargo.lock"
  export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$NIX_BUILD_TOP=/build"
}

buildPhase() {
  runHook preBuild
  if [ -n "${cargoDeps:-}" ]; then
    cargo build -j "$NIX_BUILD_CORES" --offline --frozen --profile release --target "$rustTarget" ${cargoBuildFlags:-}
  fi
  runHook postBuild
}

installPhase() { runHook preInstall; runHook postInstall; }

for phase in unpackPhase buildPhase installPhase; do
  echo "phase: $phase"
  if [ -n "${!phase:-}" ]; then eval "${!phase}"; else $phase; fi
done
