//! Vanilla proofs in the files that the field uses.

use std::io::{BufWriter, Write};

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use filecoin_proofs_api::seal::SealCommitPhase1Output;

use crate::Error;

/// Writes lotus-bench's C1 output: the sector number, the base64 of the inner JSON, the sector size. Streams: 51 MB at
/// 32 GiB are never held.
pub fn write_c1(out: impl Write, sector: u64, phase1: &SealCommitPhase1Output) -> Result<(), Error> {
    /// serde_json writes bytes and commas one by one; base64 and files want more at a time.
    const BUFFER_BYTES: usize = 1 << 16;
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
    let mut write = || -> anyhow::Result<()> {
        write!(out, "{{\"SectorNum\":{sector},\"Phase1Out\":\"")?;
        let base64 = EncoderWriter::new(&mut out, &STANDARD);
        let mut inner = BufWriter::with_capacity(BUFFER_BYTES, base64);
        serde_json::to_writer(&mut inner, phase1)?;
        inner.into_inner().map_err(|error| error.into_error())?.finish()?;
        write!(out, "\",\"SectorSize\":{}}}", phase1.registered_proof.sector_size().0)?;
        Ok(out.flush()?)
    };
    write().map_err(Error::upstream("writing the C1 output"))
}

/// Writes PoSt or Snap proofs as `cuzk-bench --vanilla` and lotus do: a JSON array of the base64 of each.
pub fn write_vanilla_proofs(out: impl Write, proofs: &[Vec<u8>]) -> Result<(), Error> {
    let mut out = BufWriter::new(out);
    let mut write = || -> std::io::Result<()> {
        write!(out, "[")?;
        for (index, proof) in proofs.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(out, "{comma}\"{}\"", Base64Display::new(proof, &STANDARD))?;
        }
        write!(out, "]")?;
        out.flush()
    };
    write().map_err(|error| Error::upstream("writing the vanilla proofs")(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;

    #[test]
    fn vanilla_proofs_are_an_array_of_base64() {
        let proofs = [vec![1, 2, 3, 4], vec![], vec![255; 100]];
        let mut file = Vec::new();
        write_vanilla_proofs(&mut file, &proofs).unwrap();
        let strings: Vec<String> = serde_json::from_slice(&file).unwrap();
        let decoded: Vec<_> = strings.iter().map(|text| STANDARD.decode(text).unwrap()).collect();
        assert_eq!(decoded, proofs);
        let mut empty = Vec::new();
        write_vanilla_proofs(&mut empty, &[]).unwrap();
        assert_eq!(empty, b"[]");
    }
}
