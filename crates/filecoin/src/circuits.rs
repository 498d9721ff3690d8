//! The circuits as upstream's pinned version has them: counts and digests, from `golden/circuits.json`.

use std::sync::LazyLock;

use cuzk_r1cs::{CircuitDigest, CircuitSize, Template};
use filecoin_proofs_api::PoStType;
use serde::{Deserialize, Serialize};

use crate::{Error, Kind, RegisteredProof, SectorSize};

/// An entry of `golden/circuits.json`. All versions of a kind have the same circuit at a sector size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownCircuit {
    /// The kind of proof.
    pub kind: Kind,
    /// The sector size as it prints.
    pub sector_size: String,
    /// Rows, those of the inputs included.
    pub rows: usize,
    /// Inputs, ONE included.
    pub inputs: usize,
    /// Aux variables.
    pub aux: usize,
    /// Aux variables that are not 0 or 1 by construction.
    pub scalars: usize,
    /// Points of the A query.
    pub a_points: usize,
    /// Points of the B queries.
    pub b_points: usize,
    /// SHA-256 of the R1CS in hexadecimal; the encoding is that of [`CircuitDigest`]'s module.
    pub sha256: String,
}

/// `golden/circuits.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CircuitsFile {
    /// Version of this format: 1.
    pub schema: u32,
    /// One entry for each kind and size.
    pub circuits: Vec<KnownCircuit>,
}

impl CircuitsFile {
    /// The version of the format that this program knows.
    pub const SCHEMA: u32 = 1;
}

static KNOWN: LazyLock<Vec<KnownCircuit>> = LazyLock::new(|| {
    let file: CircuitsFile = serde_json::from_str(include_str!("../../../golden/circuits.json"))
        .expect("golden/circuits.json is valid");
    file.circuits
});

impl KnownCircuit {
    /// The circuit of this kind and size.
    pub fn find(kind: Kind, size: SectorSize) -> &'static Self {
        let size = size.to_string();
        let mut all = KNOWN.iter();
        all.find(|known| known.kind == kind && known.sector_size == size).expect("all circuits are known")
    }

    /// The entry for a template. Hashes all its rows: about ten seconds at 32 GiB.
    pub fn of(kind: Kind, size: SectorSize, template: &Template) -> Result<Self, Error> {
        let densities = template.densities();
        Ok(KnownCircuit {
            kind,
            sector_size: size.to_string(),
            rows: template.n_rows(),
            inputs: template.n_inputs(),
            aux: template.n_aux(),
            scalars: template.n_scalars(),
            a_points: template.n_inputs() + densities.a_aux.count_ones(),
            b_points: densities.b_inputs.count_ones() + densities.b_aux.count_ones(),
            sha256: template.circuit_digest()?.to_string(),
        })
    }

    /// The circuit's counts, from which an enforcing walk sizes its vectors.
    pub fn size(&self) -> CircuitSize {
        CircuitSize { n_rows: self.rows, n_inputs: self.inputs, n_aux: self.aux }
    }

    /// The circuit's digest.
    pub fn digest(&self) -> CircuitDigest {
        let mut digest = [0; 32];
        hex::decode_to_slice(&self.sha256, &mut digest).expect("64 hexadecimal digits");
        CircuitDigest(digest)
    }

    /// Compares the counts of a template with these. Microseconds.
    pub fn check_counts(&self, template: &Template) -> Result<(), Error> {
        let found = (template.n_rows(), template.n_inputs(), template.n_aux(), template.n_scalars());
        let expected = (self.rows, self.inputs, self.aux, self.scalars);
        if found == expected {
            return Ok(());
        }
        Err(Error::CircuitChanged {
            kind: self.kind,
            sector_size: self.sector_size.clone(),
            found: format!("{found:?}"),
            expected: format!("{expected:?}"),
        })
    }
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

    /// The circuit of one partition as it is known.
    pub fn known_circuit(&self) -> Result<&'static KnownCircuit, Error> {
        Ok(KnownCircuit::find(self.kind(), self.sector_size()?))
    }

    /// Constraints of one partition, without the row that Groth16 adds for each input.
    pub fn constraints(&self) -> Option<u64> {
        let circuit = self.known_circuit().ok()?;
        Some((circuit.rows - circuit.inputs) as u64)
    }

    /// Bytes of the parameter file.
    pub fn parameter_bytes(&self) -> Option<u64> {
        const G1: usize = 96;
        const G2: usize = 192;
        /// Of ic and of the five queries.
        const COUNTS: usize = 6 * 4;
        let circuit = self.known_circuit().ok()?;
        let h = circuit.rows.next_power_of_two() - 1;
        let g1 = 3 + circuit.inputs + h + circuit.aux + circuit.a_points + circuit.b_points;
        Some((G1 * g1 + G2 * (3 + circuit.b_points) + COUNTS) as u64)
    }
}
