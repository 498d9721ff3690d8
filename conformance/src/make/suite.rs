//! What all suites have in common: every other case is the valid one but for one thing.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Recipe, read, write};
use crate::Error;
use crate::case::{
    Arguments, CASE_FILE, Case, Command, END_OF_A, END_OF_B, Expected, ExpectedAcceptance, ExpectedFailure,
    ExpectedProof, Flag, Form, Input, PROOF_BYTES, ProofFile, Role, Verdict, pretty, read_json,
};
use crate::digest::{Hex, sha256};

pub(super) const VALID: &str = "valid";
pub(super) const STATEMENT_FILE: &str = "statement.json";
/// The proofs of all partitions, one after the other.
pub(super) const PROOF_FILE: &str = "proof.bin";
/// Their aggregate.
pub(super) const AGGREGATE_FILE: &str = "aggregate.bin";

/// Where an aggregate says of how many proofs it is, in little-endian: behind five elements of Gt and one of G1.
const AGGREGATED_PROOFS: usize = 5 * 288 + 48;
/// In the first byte of a compressed point: which of the two y coordinates it has.
const SIGN_BIT: u8 = 0x20;

/// A suite with its valid case.
pub(super) struct Suite {
    recipe: &'static Recipe,
    folder: PathBuf,
    /// The valid case.
    pub(super) valid: Case,
    /// The file that it proves.
    pub(super) input: Vec<u8>,
    /// The proofs of all its partitions, one after the other.
    pub(super) proof: Vec<u8>,
}

impl Suite {
    /// Reads the valid case of a suite's folder.
    pub(super) fn open(recipe: &'static Recipe, folder: &Path) -> Result<Self, Error> {
        let valid = folder.join(VALID);
        let suite = Self {
            recipe,
            folder: folder.to_owned(),
            valid: read_json(&valid.join(CASE_FILE))?,
            input: read(&valid.join(recipe.input))?,
            proof: read(&valid.join(PROOF_FILE))?,
        };
        suite.check_length(&suite.proof, Form::Plain)?;
        Ok(suite)
    }

    fn check_length(&self, proof: &[u8], form: Form) -> Result<(), Error> {
        let partitions = self.valid_expectation()?.partitions;
        if partitions > 0 && proof.len() == form.proof_bytes(partitions) {
            return Ok(());
        }
        Err(Error::ValidLacks("proof of the length that its partitions call for"))
    }

    /// What `verify` has to say of the valid proof and of those that differ from it in a bit or in length.
    pub(super) fn write_judgements(&self) -> Result<(), Error> {
        self.write_verification()?;
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut proof = self.proof.clone();
            change(&mut proof);
            proof
        };
        let flipped = |end: usize| changed(&|proof| proof[end - 1] ^= 1);
        let invalid = || failure(1, "proof_invalid");
        let comment = "The last bit of the x coordinate of the proof's point A is flipped.";
        self.judged("proof_bit_flip_a", comment, &flipped(END_OF_A), invalid())?;
        let comment = "The last bit of the x coordinate of the proof's point B is flipped.";
        self.judged("proof_bit_flip_b", comment, &flipped(END_OF_B), invalid())?;
        let comment = "The last bit of the x coordinate of the proof's point C is flipped.";
        self.judged("proof_bit_flip_c", comment, &flipped(PROOF_BYTES), invalid())?;
        let comment =
            "The proof's point C is negated: still a point of the group, but not that of this proof.";
        self.judged("proof_negated_c", comment, &changed(&|proof| proof[END_OF_B] ^= SIGN_BIT), invalid())?;
        let comment = "A proof without its last byte.";
        let truncated = changed(&|proof| proof.truncate(proof.len() - 1));
        self.judged("proof_truncated", comment, &truncated, failure(2, "proof_length"))?;
        let comment = "A proof with one zero byte too many.";
        let extended = changed(&|proof| proof.push(0));
        self.judged("proof_extended", comment, &extended, failure(2, "proof_length"))
    }

    /// Without this case, a verifier that refuses every proof would pass.
    fn write_verification(&self) -> Result<(), Error> {
        let statement = read(&self.folder.join(VALID).join(STATEMENT_FILE))?;
        let comment = "The valid proof verifies against the fixture's statement.json, which says all that the input \
                       does not.";
        self.case("verify_by_statement", |case| {
            case.comment = comment.to_owned();
            case.command = Command::Verify;
            case.arguments = Arguments::default();
            case.inputs = vec![
                self.valid_proof(),
                input(Role::Statement, &format!("../{VALID}/{STATEMENT_FILE}"), &statement),
            ];
            case.expected = accepted();
        })
    }

    /// What `verify` has to say of the valid aggregate and of those that differ from it.
    pub(super) fn write_judgements_of_aggregate(&self) -> Result<(), Error> {
        let aggregate = read(&self.folder.join(VALID).join(AGGREGATE_FILE))?;
        self.check_length(&aggregate, Form::Aggregate)?;
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut aggregate = aggregate.clone();
            change(&mut aggregate);
            aggregate
        };
        let judged = |name, comment, aggregate: &[u8], expected| {
            self.write_part(name, AGGREGATE_FILE, aggregate)?;
            self.case(name, |case| {
                case.comment = str::to_owned(comment);
                case.command = Command::Verify;
                case.inputs =
                    vec![input(Role::Proof, AGGREGATE_FILE, aggregate), self.valid_input(Role::Statement)];
                case.inner_product_key = self.valid.inner_product_key.clone();
                case.expected = expected;
            })
        };
        let comment = "The valid aggregate verifies.";
        judged("aggregate_verifies", comment, &aggregate, accepted())?;
        let comment = "The last bit of the aggregate, in one of its points, is flipped.";
        let flipped = changed(&|bytes| bytes.iter_mut().last().into_iter().for_each(|byte| *byte ^= 1));
        judged("aggregate_bit_flip", comment, &flipped, failure(1, "proof_invalid"))?;
        let comment = "The aggregate says that it is of half as many proofs.";
        let halved = changed(&|bytes| bytes[AGGREGATED_PROOFS] /= 2);
        judged("aggregate_of_fewer_proofs", comment, &halved, failure(1, "proof_invalid"))?;
        let comment = "An aggregate without its last byte.";
        let truncated = changed(&|bytes| bytes.truncate(bytes.len() - 1));
        judged("aggregate_truncated", comment, &truncated, failure(2, "proof_length"))
    }

    /// A case whose input is refused before proving.
    pub(super) fn refused(
        &self,
        name: &str,
        comment: &str,
        bytes: &[u8],
        error_kind: &str,
    ) -> Result<(), Error> {
        self.write_part(name, self.recipe.input, bytes)?;
        self.case(name, |case| {
            case.comment = comment.to_owned();
            case.inputs = vec![input(Role::Input, self.recipe.input, bytes)];
            case.expected = failure(2, error_kind);
        })
    }

    /// A case in which the valid input is refused for what the command line says.
    pub(super) fn refused_arguments(
        &self,
        name: &str,
        comment: &str,
        change: impl FnOnce(&mut Arguments),
        error_kind: &str,
    ) -> Result<(), Error> {
        self.case(name, |case| {
            case.comment = comment.to_owned();
            case.inputs = vec![self.valid_input(Role::Input)];
            change(&mut case.arguments);
            case.expected = failure(2, error_kind);
        })
    }

    /// [`Suite::refused_arguments`] for a registered proof that is not the input's.
    pub(super) fn refused_type(
        &self,
        name: &str,
        comment: &str,
        proof_type: &str,
        error_kind: &str,
    ) -> Result<(), Error> {
        let change = |arguments: &mut Arguments| arguments.proof_type = Some(proof_type.to_owned());
        self.refused_arguments(name, comment, change, error_kind)
    }

    /// A case in which a folder stands where the input should be.
    pub(super) fn refused_folder(&self, name: &str, comment: &str, error_kind: &str) -> Result<(), Error> {
        self.case(name, |case| {
            case.comment = comment.to_owned();
            case.inputs = vec![Input { role: Role::Input, file: Some(format!("../{VALID}")), sha256: None }];
            case.expected = failure(2, error_kind);
        })
    }

    /// A case in which a proof is verified against the valid input.
    pub(super) fn judged(
        &self,
        name: &str,
        comment: &str,
        proof: &[u8],
        expected: Expected,
    ) -> Result<(), Error> {
        self.write_part(name, PROOF_FILE, proof)?;
        self.case(name, |case| {
            case.comment = comment.to_owned();
            case.command = Command::Verify;
            case.inputs = vec![input(Role::Proof, PROOF_FILE, proof), self.valid_input(Role::Statement)];
            case.expected = expected;
        })
    }

    /// A case in which the valid proof is verified against another input.
    pub(super) fn judged_against(
        &self,
        name: &str,
        comment: &str,
        statement: &[u8],
        expected: Expected,
    ) -> Result<(), Error> {
        self.write_part(name, self.recipe.input, statement)?;
        self.case(name, |case| {
            case.comment = comment.to_owned();
            case.command = Command::Verify;
            case.inputs = vec![self.valid_proof(), input(Role::Statement, self.recipe.input, statement)];
            case.expected = expected;
        })
    }

    /// A case in which another command line must give the valid proof all the same.
    pub(super) fn same_proof(
        &self,
        name: &str,
        comment: &str,
        change: impl FnOnce(&mut Arguments),
    ) -> Result<(), Error> {
        let mut proof = self.valid_expectation()?.clone();
        proof.proof.file = format!("../{VALID}/{}", proof.proof.file);
        self.case(name, |case| {
            case.comment = comment.to_owned();
            case.flags = self.valid.flags.clone();
            if !case.flags.contains(&Flag::DefaultsOnly) {
                case.flags.push(Flag::DefaultsOnly);
            }
            case.inputs = vec![self.valid_input(Role::Input)];
            change(&mut case.arguments);
            case.inner_product_key = self.valid.inner_product_key.clone();
            case.randomness_seed = self.valid.randomness_seed;
            case.expected = Expected::Proof(proof);
        })
    }

    /// A case in which one partition of the valid statement is proved, of which the valid proof is a part: r and s
    /// depend on the seed and the partition alone.
    pub(super) fn one_partition(&self, name: &str, comment: &str, partition: usize) -> Result<(), Error> {
        let start = partition * PROOF_BYTES;
        let proof = self.proof.get(start..start + PROOF_BYTES);
        let digests = self.valid_expectation()?.digests.get(partition).cloned();
        let (Some(proof), Some(digests)) = (proof, digests) else {
            return Err(Error::ValidLacks("such a partition"));
        };
        self.write_part(name, PROOF_FILE, proof)?;
        self.case(name, |case| {
            case.comment = comment.to_owned();
            case.flags.push(Flag::DefaultsOnly);
            case.inputs = vec![self.valid_input(Role::Input)];
            case.arguments.partitions = Some(partition.to_string());
            case.randomness_seed = self.valid.randomness_seed;
            case.expected = Expected::Proof(ExpectedProof {
                exit_code: 0,
                partitions: 1,
                form: Form::Plain,
                proof: ProofFile { file: PROOF_FILE.to_owned(), sha256: sha256(proof) },
                digests: vec![digests],
            });
        })
    }

    fn valid_expectation(&self) -> Result<&ExpectedProof, Error> {
        match &self.valid.expected {
            Expected::Proof(proof) => Ok(proof),
            _ => Err(Error::ValidLacks("proof")),
        }
    }

    /// The valid input, as the other cases of the suite name it.
    fn valid_input(&self, role: Role) -> Input {
        input(role, &format!("../{VALID}/{}", self.recipe.input), &self.input)
    }

    fn valid_proof(&self) -> Input {
        input(Role::Proof, &format!("../{VALID}/{PROOF_FILE}"), &self.proof)
    }

    /// Writes a case that is the valid one but for what `change` changes, and that yields no proof unless that says so.
    fn case(&self, name: &str, change: impl FnOnce(&mut Case)) -> Result<(), Error> {
        let mut case = self.valid.clone();
        case.id = format!("{}/{name}", self.recipe.name);
        case.flags = vec![Flag::InsecureParameters];
        case.inner_product_key = None;
        case.randomness_seed = None;
        change(&mut case);
        case.result = match case.expected {
            Expected::Failure(_) => Verdict::Invalid,
            Expected::Proof(_) | Expected::Accepted(_) => Verdict::Valid,
        };
        self.write_part(name, CASE_FILE, pretty(&case).as_bytes())
    }

    fn write_part(&self, case: &str, file: &str, bytes: &[u8]) -> Result<(), Error> {
        let folder = self.folder.join(case);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        write(&folder.join(file), bytes)
    }
}

fn accepted() -> Expected {
    Expected::Accepted(ExpectedAcceptance { exit_code: 0 })
}

pub(super) fn failure(exit_code: i32, error_kind: &str) -> Expected {
    Expected::Failure(ExpectedFailure { exit_code, error_kind: error_kind.to_owned() })
}

/// A file, and the bytes in it.
pub(super) fn input(role: Role, file: &str, bytes: &[u8]) -> Input {
    Input { role, file: Some(file.to_owned()), sha256: Some(sha256(bytes)) }
}

/// The proofs of the first two partitions exchanged.
pub(super) fn exchange_first_two(proof: &[u8]) -> Result<Vec<u8>, Error> {
    let (first, second) = (proof.get(..PROOF_BYTES), proof.get(PROOF_BYTES..2 * PROOF_BYTES));
    let (Some(first), Some(second)) = (first, second) else {
        return Err(Error::ValidLacks("second partition"));
    };
    Ok([second, first, &proof[2 * PROOF_BYTES..]].concat())
}

/// Another value, which is as much an element of the field as this: only the lowest bit differs.
pub(super) fn flip_first_bit(bytes: Hex<32>) -> Hex<32> {
    let mut bytes = bytes.0;
    bytes[0] ^= 1;
    Hex(bytes)
}
