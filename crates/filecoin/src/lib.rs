//! Filecoin's proof statements: what the files of a sealing pipeline say, whether they can be true, and the circuits
//! that prove them.
//!
//! ```text
//! bytes ──decode──▶ Input ──statement(overrides)──▶ Statement ──check──▶ synthesize(k) ──▶ prover
//! ```
//!
//! * [`Input`] is a decoded file; [`Statement`] is a file together with what the file does not carry (the miner).
//! * [`Statement::check`] finds in milliseconds what would otherwise show after a full proof: a wrong miner or sector,
//!   missing challenges; [`Statement::check_vanilla_proofs`] asks upstream, too.
//! * [`Statement::synthesize`], [`Statement::witness`] and [`Statement::verify`] go through upstream's public API
//!   (`storage-proofs-porep`), never through its process-wide parameter cache.
//! * [`mod@reference`] proves through unmodified bellperson: what everything else is compared with.
//! * [`templates`] has the circuits of all kinds as a header and a repeated block; [`KnownCircuit`] their digests.
//! * [`ParameterSet`] names the parameter files of a circuit and their digests in upstream's manifest.
//! * [`Aggregation`] makes one proof of the proofs of many PoReps.
//! * [`fixture`] makes inputs by really sealing a sector; [`synthetic`] makes inputs of any size without sealing.
//!
//! This crate knows no backend and prints nothing.
#![forbid(unsafe_code)]

mod aggregate;
mod circuits;
mod commitment;
mod compound;
mod decode;
mod direct;
mod error;
pub mod fixture;
mod identity;
mod parameters;
mod porep;
mod post;
mod public;
pub mod reference;
mod registered;
mod shape;
mod snap;
mod statement;
pub mod store;
pub mod synthetic;
pub mod templates;
mod vanilla_checks;

pub use aggregate::{Aggregation, InnerProductKey, aggregate_bytes};
pub use circuits::{CircuitsFile, KnownCircuit};
pub use commitment::{CommitmentKind, commitment_cid, parse_commitment};
pub use decode::{Input, MAX_INPUT_BYTES};
pub use error::Error;
pub use identity::{SectorSize, prover_id};
pub use parameters::{FileIdentity, ParameterSet, inner_product_key, manifest};
pub use public::PublicStatement;
pub use registered::{PorepApi, RegisteredProof, seal_of_size, update_of_size, window_post, winning_post};
pub use statement::{Kind, Overrides, PublicData, Statement, StatementFile, Unknown};
