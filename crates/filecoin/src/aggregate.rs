//! SnarkPack aggregates of PoRep proofs, through upstream: many Groth16 proofs of one circuit in one proof whose size
//! grows with the logarithm of their number. ("SnarkPack: Practical SNARK Aggregation", eprint 2021/529, in the version
//! that Filecoin calls 2.) A non-interactive PoRep goes on chain as the aggregate of its partitions.
//!
//! Aggregation needs no witness and no randomness: the same proofs give the same bytes.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bellperson::groth16 as upstream;
use bellperson::groth16::aggregate::{
    AggregateProof, AggregateVersion, GenericSRS, aggregate_proofs, setup_fake_srs, verify_aggregate_proof,
};
use blstrs::{Bls12, G1Affine, G2Affine, Scalar as Fr};
use cuzk_groth16::{Proof, VerifyingKey};
use group::GroupEncoding;
use rand_core::RngCore;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::compound::prepared;
use crate::{Error, Statement};

/// FIP-0092: as many non-interactive PoReps go into one aggregate.
const MAX_NON_INTERACTIVE: usize = 65;
/// FIP-0013: as many interactive PoReps go into one aggregate.
const MAX_INTERACTIVE: usize = 819;

/// Powers in each vector of the official inner-product key; no file has more.
const MAX_POWERS: usize = (1 << 20) + 1;

/// Powers in each vector of a test key: enough for 1,024 proofs, which is more than the largest aggregate of
/// non-interactive PoReps of 2 KiB has (65 of 13 partitions).
const TEST_PROOFS: usize = 1024;

/// A key of the inner-product argument (upstream's "SRS"): powers of two secrets in G1 and G2, as many as an aggregate
/// of some number of proofs needs.
#[derive(Debug)]
pub struct InnerProductKey {
    powers: GenericSRS<Bls12>,
}

impl InnerProductKey {
    /// Reads what aggregates of `proofs` proofs need: twice as many powers, rounded up to a power of two, of a file in
    /// upstream's format (four vectors of compressed points behind a big-endian u32 count each: G1, G1, G2, G2).
    /// 5 ms for 16 proofs, whatever the file's size.
    pub fn open(path: &Path, proofs: usize) -> Result<Self, Error> {
        let file = KeyFile::open(path)?;
        let [g_alpha, g_beta, h_alpha, h_beta] = file.vectors()?;
        let n = 2 * padded(proofs);
        Ok(InnerProductKey {
            powers: GenericSRS {
                g_alpha_powers: file.points::<G1Affine>(g_alpha, n)?,
                g_beta_powers: file.points::<G1Affine>(g_beta, n)?,
                h_alpha_powers: file.points::<G2Affine>(h_alpha, n)?,
                h_beta_powers: file.points::<G2Affine>(h_beta, n)?,
            },
        })
    }

    /// A key whose secrets come from `rng`, in upstream's format, for up to 1,024 proofs. Whoever knows them can forge
    /// aggregates. 1 s.
    pub(crate) fn write_test_key(
        rng: &mut impl RngCore,
        out: &mut dyn std::io::Write,
    ) -> std::io::Result<()> {
        setup_fake_srs::<Bls12, _>(rng, TEST_PROOFS).write(&mut { out })
    }
}

/// A vector of points in a key file.
#[derive(Clone, Copy, Debug)]
struct Vector {
    /// Offset of the first point.
    offset: u64,
    n_points: usize,
}

struct KeyFile {
    path: PathBuf,
    file: File,
}

impl KeyFile {
    fn open(path: &Path) -> Result<Self, Error> {
        let unreadable = |error: std::io::Error| Error::InnerProductKey {
            path: path.to_owned(),
            problem: error.to_string(),
        };
        Ok(KeyFile { path: path.to_owned(), file: File::open(path).map_err(unreadable)? })
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        self.file.read_exact_at(bytes, offset).map_err(|error| self.bad(error.to_string()))
    }

    fn bad(&self, problem: String) -> Error {
        Error::InnerProductKey { path: self.path.clone(), problem }
    }

    /// Where the four vectors are. Their counts must give the file's size.
    fn vectors(&self) -> Result<[Vector; 4], Error> {
        let found = self.file.metadata().map_err(|error| self.bad(error.to_string()))?.len();
        let mut offset = 0;
        let mut vectors = [Vector { offset: 0, n_points: 0 }; 4];
        for (vector, point_bytes) in vectors.iter_mut().zip([48, 48, 96, 96]) {
            if offset + 4 > found {
                return Err(self.bad(format!("truncated: it ends at byte {found}, before a count")));
            }
            let mut count = [0; 4];
            self.read(&mut count, offset)?;
            let n_points = u32::from_be_bytes(count) as usize;
            if n_points > MAX_POWERS {
                return Err(self.bad(format!("a vector of {n_points} points; none has over {MAX_POWERS}")));
            }
            *vector = Vector { offset: offset + 4, n_points };
            offset += 4 + point_bytes * n_points as u64;
        }
        if offset != found {
            return Err(self.bad(format!("truncated or damaged: {offset} bytes expected, {found} found")));
        }
        Ok(vectors)
    }

    fn points<G>(&self, vector: Vector, n: usize) -> Result<Vec<G>, Error>
    where
        G: GroupEncoding + Send,
        G::Repr: Sync,
    {
        if vector.n_points < n {
            let problem = format!("{} powers, but these proofs need {n}", vector.n_points);
            return Err(self.bad(problem));
        }
        let n_bytes = G::Repr::default().as_ref().len();
        let mut bytes = vec![0; n * n_bytes];
        self.read(&mut bytes, vector.offset)?;
        let point = |bytes: &[u8]| {
            let mut repr = G::Repr::default();
            repr.as_mut().copy_from_slice(bytes);
            Option::from(G::from_bytes(&repr))
        };
        let points: Option<Vec<G>> = bytes.par_chunks_exact(n_bytes).map(point).collect();
        points.ok_or_else(|| self.bad("a point is not on its curve or not in its group".to_owned()))
    }
}

/// The number of proofs that an aggregate of `proofs` proofs is made of: a power of two, at least two. The last proof is
/// repeated.
fn padded(proofs: usize) -> usize {
    proofs.next_power_of_two().max(2)
}

/// The size of an aggregate of `proofs` proofs. No number of plain proofs has the same size: 192 does not divide it.
pub fn aggregate_bytes(proofs: usize) -> usize {
    // Five elements of Gt (288 bytes each, compressed) and a G1 before the number of proofs; then for each round of the
    // argument ten of Gt and two of G1, and at its end eight of G1 and four of G2 (AggregateProof::write, bellperson 0.27).
    const G1: usize = 48;
    const G2: usize = 96;
    const GT: usize = 288;
    let rounds = padded(proofs).ilog2() as usize;
    NUMBER_OFFSET + 4 + rounds * (10 * GT + 2 * G1) + 8 * G1 + 4 * G2
}

/// Where an aggregate says of how many proofs it is made: a little-endian u32.
const NUMBER_OFFSET: usize = 5 * 288 + 48;

/// PoReps whose proofs are aggregated together, in this order.
#[derive(Debug)]
pub struct Aggregation<'a> {
    statements: &'a [Statement],
    /// SHA-256 of what the argument's challenges are bound to.
    transcript: [u8; 32],
    n_proofs: usize,
}

impl<'a> Aggregation<'a> {
    /// Checks that the statements can go into one aggregate: PoReps of one registered proof, not more than the chain
    /// takes.
    pub fn new(statements: &'a [Statement]) -> Result<Self, Error> {
        let refused = |problem: String| Error::Aggregation { problem };
        let first = statements.first().ok_or_else(|| refused("there is no statement".to_owned()))?;
        let proof = first.registered_proof();
        let (mut hash, mut sectors) = (Sha256::new(), BTreeSet::new());
        for statement in statements {
            let Some(porep) = statement.as_porep() else {
                let kind = statement.kind();
                return Err(refused(format!("only proofs of PoReps are aggregated, and this is a {kind}")));
            };
            if statement.registered_proof() != proof {
                let other = statement.registered_proof();
                return Err(refused(format!("{proof} and {other} do not go together")));
            }
            if !sectors.insert((porep.prover.id(), porep.sector)) {
                return Err(refused(format!("sector {} is there twice", porep.sector)));
            }
            // Challenges of a non-interactive PoRep come from comm_r alone.
            if !proof.is_aggregated() {
                hash.update(porep.seed);
            }
            hash.update(porep.comm_r);
        }
        let most = if proof.is_aggregated() { MAX_NON_INTERACTIVE } else { MAX_INTERACTIVE };
        if statements.len() > most {
            return Err(refused(format!("{} {proof}; the chain takes at most {most}", statements.len())));
        }
        let n_proofs: usize = statements.iter().map(Statement::partitions).sum();
        if n_proofs < 2 {
            return Err(refused("one proof of one partition: it takes two to aggregate".to_owned()));
        }
        Ok(Aggregation { statements, transcript: hash.finalize().into(), n_proofs })
    }

    /// The number of Groth16 proofs: the statements' partitions.
    pub fn n_proofs(&self) -> usize {
        self.n_proofs
    }

    /// Aggregates the plain proofs of all statements, 192 bytes for each partition, one after the other. Verifies
    /// nothing. 90 ms for 16 proofs.
    pub fn aggregate(&self, proofs: &[u8], key: &InnerProductKey) -> Result<Vec<u8>, Error> {
        let expected = self.n_proofs * Proof::BYTES;
        if proofs.len() != expected {
            return Err(Error::ProofLength { found: proofs.len(), partitions: self.n_proofs, expected });
        }
        let read = |(index, bytes): (usize, &[u8])| {
            upstream::Proof::<Bls12>::read(bytes).map_err(|error| Error::ProofInvalid {
                reason: format!("proof {index} is not made of points: {error}"),
            })
        };
        let mut proofs: Vec<_> =
            proofs.chunks_exact(Proof::BYTES).enumerate().map(read).collect::<Result<_, _>>()?;
        pad(&mut proofs);
        let prover_key = key.powers.specialize_prover(proofs.len());
        let aggregate = aggregate_proofs(&prover_key, &self.transcript, &proofs, AggregateVersion::V2)
            .map_err(|error| Error::Upstream { doing: "aggregating the proofs", source: error.into() })?;
        let mut bytes = vec![];
        aggregate.write(&mut bytes).expect("a vector takes all bytes");
        Ok(bytes)
    }

    /// Upstream's verification of an aggregate. `rng` weighs the equations that are checked together. 20 ms for 16 proofs.
    pub fn verify(
        &self,
        aggregate: &[u8],
        key: &InnerProductKey,
        verifying_key: &VerifyingKey,
        rng: impl RngCore + Send,
    ) -> Result<(), Error> {
        let invalid = |reason: String| Error::ProofInvalid { reason };
        let expected = aggregate_bytes(self.n_proofs);
        if aggregate.len() != expected {
            let found = aggregate.len();
            return Err(Error::AggregateLength { found, proofs: self.n_proofs, expected });
        }
        // Upstream counts rounds by this number before it looks at anything else.
        let n: [u8; 4] = aggregate[NUMBER_OFFSET..][..4].try_into().expect("four bytes");
        if u32::from_le_bytes(n) as usize != padded(self.n_proofs) {
            return Err(invalid(format!("it says that it is of {} proofs", u32::from_le_bytes(n))));
        }
        let aggregate = AggregateProof::<Bls12>::read(aggregate)
            .map_err(|error| invalid(format!("it is not made of points: {error}")))?;
        let mut inputs = self.inputs()?;
        pad(&mut inputs);
        let verified = verify_aggregate_proof(
            &key.powers.specialize_vk(inputs.len()),
            &prepared(verifying_key)?,
            rng,
            &inputs,
            &aggregate,
            &self.transcript,
            AggregateVersion::V2,
        )
        .map_err(|error| invalid(error.to_string()))?;
        if verified { Ok(()) } else { Err(invalid("upstream's verifier says so".to_owned())) }
    }

    fn inputs(&self) -> Result<Vec<Vec<Fr>>, Error> {
        let partitions = self.statements.iter().flat_map(|statement| {
            (0..statement.partitions()).map(move |partition| statement.public_inputs(partition))
        });
        partitions.collect()
    }
}

/// Repeats the last until there are as many as an aggregate is made of.
fn pad<T: Clone>(values: &mut Vec<T>) {
    if let Some(last) = values.last().cloned() {
        values.resize(padded(values.len()), last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_upstream() {
        // FIP-0092's figure for the 126 partitions of a 32 GiB sector, and the one that was seen for 16 proofs.
        assert_eq!(aggregate_bytes(16), 14_164);
        assert_eq!(aggregate_bytes(13), aggregate_bytes(16));
        for proofs in 1..3000 {
            assert_ne!(aggregate_bytes(proofs) % Proof::BYTES, 0);
        }
    }

    #[test]
    fn a_key_file_is_read_up_to_what_is_needed_and_refused_when_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.srs");
        let powers = setup_fake_srs::<Bls12, _>(&mut rand_chacha_rng(), 4);
        let mut bytes = vec![];
        powers.write(&mut bytes).unwrap();
        let open = |bytes: &[u8], proofs| {
            std::fs::write(&path, bytes).unwrap();
            InnerProductKey::open(&path, proofs)
        };
        assert_eq!(open(&bytes, 4).unwrap().powers, powers);
        let two = open(&bytes, 2).unwrap().powers;
        assert_eq!(two.h_beta_powers[..], powers.h_beta_powers[..4]);
        let message = |result: Result<_, Error>| result.unwrap_err().to_string();
        assert!(message(open(&bytes, 5)).contains("8 powers, but these proofs need 16"));
        assert!(message(open(&bytes[..bytes.len() - 1], 4)).contains("truncated or damaged"));
        assert!(message(open(&bytes[..3], 4)).contains("before a count"));
        assert!(message(open(&[255; 100], 4)).contains("4294967295 points"));
        let mut damaged = bytes.clone();
        damaged[10] ^= 1;
        assert!(message(open(&damaged, 4)).contains("not on its curve"));
    }

    fn rand_chacha_rng() -> rand_chacha::ChaCha20Rng {
        rand_core::SeedableRng::seed_from_u64(1)
    }
}
