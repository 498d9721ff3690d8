//! Writing results: files atomically, or stdout.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cuzk_fault::{Fault, injected};
use cuzk_filecoin::store::{StoreError, write_atomically};
use serde::Serialize;

use crate::arguments::ProofFormat;
use crate::failure::Failure;

/// The bytes of a proof in a format. The text formats end with a newline.
pub(crate) fn encode_proof(proof: &[u8], format: ProofFormat) -> Vec<u8> {
    let lost = usize::from(injected(Fault::ByteLost));
    let proof = &proof[..proof.len() - lost];
    match format {
        ProofFormat::Raw => proof.to_vec(),
        ProofFormat::Hex => format!("{}\n", hex::encode(proof)).into_bytes(),
        ProofFormat::Base64 => format!("{}\n", STANDARD.encode(proof)).into_bytes(),
        ProofFormat::Json => {
            format!("{}\n", serde_json::json!({ "proof": STANDARD.encode(proof) })).into_bytes()
        }
    }
}

/// Undoes [`encode_proof`].
pub(crate) fn decode_proof(bytes: Vec<u8>, format: ProofFormat) -> anyhow::Result<Vec<u8>> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).context("not text");
    match format {
        ProofFormat::Raw => Ok(bytes),
        ProofFormat::Hex => hex::decode(text(bytes)?.trim()).context("not hexadecimal"),
        ProofFormat::Base64 => STANDARD.decode(text(bytes)?.trim()).context("not base64"),
        ProofFormat::Json => {
            let value: serde_json::Value = serde_json::from_slice(&bytes).context("not JSON")?;
            let proof =
                value.get("proof").and_then(|proof| proof.as_str()).ok_or(anyhow!("no key `proof`"))?;
            STANDARD.decode(proof).context("`proof` is not base64")
        }
    }
}

/// Writes to a file, whole or not at all, or to stdout for `-`.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path == Path::new("-") {
        return print_bytes(bytes);
    }
    if is_special(path) {
        let written = File::options().write(true).open(path).and_then(|mut file| file.write_all(bytes));
        let written = written.with_context(|| path.display().to_string());
        return written.map_err(|error| Failure::environment("output", error));
    }
    write_atomically(path, |out| {
        out.write_all(bytes).map_err(|source| StoreError::Io { path: path.to_owned(), source })
    })
    .map_err(|error| Failure::environment("output", error))
}

/// Whether it is a device or a pipe, which is written to as it is: nothing can take its place.
pub(crate) fn is_special(path: &Path) -> bool {
    let is_file = || path.metadata().is_ok_and(|metadata| metadata.is_file() || metadata.is_dir());
    path.exists() && (path.starts_with("/dev") || path.starts_with("/proc") || !is_file())
}

/// Prints a value as JSON on stdout.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(&json(value))
}

/// A value as JSON with a final newline.
pub(crate) fn json(value: &impl Serialize) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).expect("reports hold strings, numbers and lists"))
}

/// A value as JSON on one line.
pub(crate) fn json_line(value: &impl Serialize) -> String {
    format!("{}\n", serde_json::to_string(value).expect("reports hold strings, numbers and lists"))
}

/// Prints data on stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| {
        Failure::environment("output", anyhow::Error::new(error).context("writing to stdout"))
    })
}
