//! Vanilla proofs in the files that the field uses.

use std::io::{BufWriter, Write};

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use filecoin_proofs_api::seal::SealCommitPhase1Output;

use super::snap::SnapVanillaProofs;
use crate::{Error, porep};

/// The files in which a C1 output occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum C1Shape {
    /// lotus-bench's: sector number, base64 of the inner JSON, sector size.
    Outer,
    /// The inner JSON by itself.
    Inner,
    /// curio's request to a snark market, which carries the miner, too.
    Market,
    /// Bincode of filecoin-proofs' own type, as in supra_seal's demos. It carries neither the registered proof nor any
    /// identity.
    Bincode,
}

/// serde_json writes bytes and commas one by one; base64 and files want more at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// Writes a C1 output. Streams: 51 MB at 32 GiB are never held.
pub fn write_c1(
    out: impl Write,
    shape: C1Shape,
    miner: u64,
    sector: u64,
    phase1: &SealCommitPhase1Output,
) -> Result<(), Error> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
    let mut write = || -> anyhow::Result<()> {
        match shape {
            C1Shape::Outer => write_outer(&mut out, sector, phase1)?,
            C1Shape::Inner => serde_json::to_writer(&mut out, phase1)?,
            C1Shape::Market => {
                write!(out, "{{\"SectorID\":{},\"PoRep\":", sector_id(miner, sector))?;
                serde_json::to_writer(&mut out, phase1)?;
                write!(out, ",\"Snap\":null}}")?;
            }
            C1Shape::Bincode => porep::write_bincode(&mut out, phase1)?,
        }
        Ok(out.flush()?)
    };
    write().map_err(Error::upstream("writing the C1 output"))
}

fn write_outer(mut out: impl Write, sector: u64, phase1: &SealCommitPhase1Output) -> anyhow::Result<()> {
    write!(out, "{{\"SectorNum\":{sector},\"Phase1Out\":\"")?;
    let base64 = EncoderWriter::new(&mut out, &STANDARD);
    let mut inner = BufWriter::with_capacity(BUFFER_BYTES, base64);
    serde_json::to_writer(&mut inner, phase1)?;
    inner.into_inner().map_err(|error| error.into_error())?.finish()?;
    write!(out, "\",\"SectorSize\":{}}}", phase1.registered_proof.sector_size().0)?;
    Ok(())
}

/// As curio names a sector.
fn sector_id(miner: u64, sector: u64) -> String {
    format!("{{\"Miner\":{miner},\"Number\":{sector}}}")
}

/// Writes curio's request to a snark market for a replica update.
pub fn write_update_market(
    out: impl Write,
    miner: u64,
    sector: u64,
    proof_type: u64,
    update: &SnapVanillaProofs,
) -> Result<(), Error> {
    let mut out = BufWriter::new(out);
    let mut write = || -> anyhow::Result<()> {
        let SnapVanillaProofs { comm_r_old, comm_r_new, comm_d_new, proofs } = update;
        write!(out, "{{\"SectorID\":{},\"PoRep\":null,", sector_id(miner, sector))?;
        write!(out, "\"Snap\":{{\"ProofType\":{proof_type}")?;
        for (name, bytes) in [("old_r", comm_r_old), ("new_r", comm_r_new), ("new_d", comm_d_new)] {
            write!(out, ",\"{name}\":{bytes:?}")?;
        }
        write!(out, ",\"Proofs\":")?;
        write_array(&mut out, proofs)?;
        write!(out, "}}}}")?;
        Ok(out.flush()?)
    };
    write().map_err(Error::upstream("writing the market request"))
}

/// Writes PoSt or Snap proofs as `cuzk-bench --vanilla` and lotus do: a JSON array of the base64 of each.
pub fn write_vanilla_proofs(out: impl Write, proofs: &[Vec<u8>]) -> Result<(), Error> {
    let mut out = BufWriter::new(out);
    let written = write_array(&mut out, proofs).and_then(|()| out.flush());
    written.map_err(|error| Error::upstream("writing the vanilla proofs")(error.into()))
}

fn write_array(mut out: impl Write, proofs: &[Vec<u8>]) -> std::io::Result<()> {
    write!(out, "[")?;
    for (index, proof) in proofs.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}\"{}\"", Base64Display::new(proof, &STANDARD))?;
    }
    write!(out, "]")
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
