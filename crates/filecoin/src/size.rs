//! How large the circuits are: for plans, before anything is built.
//!
//! The figures were recorded from upstream 19.1.0's blank circuits (`examples/circuits.rs`), production sizes other than
//! winning PoSt from their repeated block: a PoRep is a header of 571 rows and a block for each challenge, a window PoSt a
//! block for each sector. The test below records the small ones again.

use filecoin_proofs_api::PoStType;

use crate::registered::RegisteredProof;
use crate::{Kind, SectorSize};

/// The size of a circuit.
struct Size {
    constraints: u64,
    n_aux: u64,
    /// Points of the B queries. (Those of the A query are at most the variables.)
    n_b: u64,
}

impl RegisteredProof {
    /// The kind of proof.
    pub fn kind(&self) -> Kind {
        match self {
            RegisteredProof::Seal(_) => Kind::Porep,
            RegisteredProof::Post(proof) if proof.typ() == PoStType::Winning => Kind::WinningPost,
            RegisteredProof::Post(_) => Kind::WindowPost,
            RegisteredProof::Update(_) => Kind::Snap,
        }
    }

    /// Constraints of one partition, without the row that Groth16 adds for each input.
    pub fn constraints(&self) -> Option<u64> {
        Some(self.size()?.constraints)
    }

    /// Bytes that the CPU backend needs at its peak: parameters in memory, one partition's witness, and four vectors of
    /// the domain's length (a, b, c and the roots of unity).
    pub fn predicted_peak_bytes(&self) -> Option<u64> {
        const SCALAR: u64 = 32;
        let Size { constraints, n_aux, .. } = self.size()?;
        let scalars = SCALAR * (4 * constraints.next_power_of_two() + n_aux);
        Some(scalars + self.parameter_bytes()?)
    }

    /// Bytes of the parameter file, within a few percent.
    pub fn parameter_bytes(&self) -> Option<u64> {
        const G1: u64 = 96;
        const G2: u64 = 192;
        let Size { constraints, n_aux, n_b } = self.size()?;
        // h, l and a (nearly every variable), b.
        Some(G1 * (constraints.next_power_of_two() + 2 * n_aux + n_b) + G2 * n_b)
    }

    fn size(&self) -> Option<Size> {
        let size = |constraints, n_aux, n_b| Some(Size { constraints, n_aux, n_b });
        match (self.kind(), self.sector_size().ok()?) {
            (Kind::Porep, SectorSize::KiB2) => size(2_687_921, 2_685_673, 685_522),
            (Kind::Porep, SectorSize::MiB8) => size(3_844_929, 3_842_449, 1_011_290),
            (Kind::Porep, SectorSize::MiB512) => size(4_423_433, 4_420_837, 1_163_000),
            (Kind::Porep, SectorSize::GiB32) => size(130_278_541, 130_169_893, 33_112_282),
            (Kind::Porep, SectorSize::GiB64) => size(131_185_849, 131_076_643, 33_343_000),
            (Kind::WinningPost, SectorSize::KiB2) => size(90_750, 91_674, 66_793),
            (Kind::WinningPost, SectorSize::MiB8) => size(230_670, 233_442, 169_489),
            (Kind::WinningPost, SectorSize::MiB512) => size(300_630, 304_326, 220_837),
            (Kind::WinningPost, SectorSize::GiB32) => size(370_590, 375_210, 272_185),
            (Kind::WinningPost, SectorSize::GiB64) => size(391_314, 396_000, 287_695),
            (Kind::WindowPost, SectorSize::KiB2) => size(21_866, 22_128, 16_029),
            (Kind::WindowPost, SectorSize::MiB8) => size(64_266, 65_088, 47_149),
            (Kind::WindowPost, SectorSize::MiB512) => size(85_466, 86_568, 62_709),
            (Kind::WindowPost, SectorSize::GiB32) => size(125_279_217, 126_902_376, 92_000_000),
            (Kind::WindowPost, SectorSize::GiB64) => size(129_887_900, 131_537_000, 95_400_000),
            (Kind::Snap, SectorSize::KiB2) => size(1_705_039, 1_703_569, 444_404),
            (Kind::Snap, SectorSize::MiB8) => size(10_007_503, 9_998_039, 2_567_922),
            (Kind::Snap, SectorSize::MiB512) => size(57_450_479, 57_401_314, 14_916_880),
            (Kind::Snap, SectorSize::GiB32) => size(81_049_499, 80_978_488, 21_000_000),
            (Kind::Snap, SectorSize::GiB64) => size(85_006_101, 84_931_220, 22_000_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PorepApi, seal_of_size, update_of_size, window_post, winning_post};

    #[test]
    fn small_circuits_are_as_large_as_said() {
        let small = [
            RegisteredProof::Post(window_post(SectorSize::KiB2)),
            RegisteredProof::Post(window_post(SectorSize::MiB8)),
            RegisteredProof::Post(window_post(SectorSize::MiB512)),
            RegisteredProof::Post(winning_post(SectorSize::KiB2)),
            RegisteredProof::Post(winning_post(SectorSize::GiB64)),
            RegisteredProof::Update(update_of_size(SectorSize::KiB2)),
            RegisteredProof::Seal(seal_of_size(SectorSize::KiB2, PorepApi::V1)),
            RegisteredProof::Seal(seal_of_size(SectorSize::KiB2, PorepApi::V1_1)),
        ];
        for proof in small {
            let system = proof.record().unwrap();
            let size = proof.size().unwrap();
            let found = ((system.n_rows() - system.n_inputs) as u64, system.n_aux as u64);
            assert_eq!((size.constraints, size.n_aux), found, "{proof}");
        }
    }
}
