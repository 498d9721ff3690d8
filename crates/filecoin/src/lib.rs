//! Filecoin's proof statements: what the files of a sealing pipeline say, whether they can be true, and the circuits
//! that prove them.
//!
//! ```text
//! bytes ──decode──▶ Input ──statement(overrides)──▶ Statement ──check──▶ synthesize(k) ──▶ prover
//! ```
//!
//! * [`Input`] is a decoded file; [`Statement`] is a file together with what the file does not carry (the miner).
//! * [`Statement::check`] finds in milliseconds what would otherwise show after a full proof: a wrong miner or sector,
//!   missing challenges, false vanilla proofs.
//! * [`Statement::synthesize`], [`Statement::record`] and [`Statement::verify`] go through upstream's public API
//!   (`storage-proofs-porep`), never through its process-wide parameter cache.
//! * [`reference`] proves through unmodified bellperson: what everything else is compared with.
//! * [`ParameterSet`] names the parameter files of a circuit and their digests in upstream's manifest.
//! * [`fixture`] makes inputs by really sealing a sector.
//!
//! This crate knows no backend and prints nothing.
#![forbid(unsafe_code)]

mod commitment;
mod decode;
mod error;
pub mod fixture;
mod identity;
mod layout;
mod parameters;
mod porep;
pub mod reference;
mod statement;
pub mod store;

pub use commitment::{CommitmentKind, commitment_cid};
pub use decode::{Input, MAX_INPUT_BYTES};
pub use error::Error;
pub use filecoin_proofs_api::RegisteredSealProof;
pub use identity::{SectorSize, prover_id};
pub use parameters::{FileIdentity, ParameterSet, manifest};
pub use porep::{porep_parameter_set, record_porep};
pub use statement::{Overrides, Statement, StatementFile};
