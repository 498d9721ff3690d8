//! Runs the golden cases against any prover binary, and keeps the golden folder in order.
//!
//! A golden case is a folder `golden/<suite>/<case>/` with a `case.json` ([`case::Case`]) and the raw files beside
//! it. The suite is a black box over prover *binaries*: it links no prover, so a build of ours, an older one and a
//! foreign one are all judged by the same bytes.
//!
//! - [`run`] runs cases and names what differed;
//! - [`html`] makes a page of a run;
//! - [`faults`] runs a prover that does one thing wrong, and looks whether [`run`] names it;
//! - [`lint`] lists every fault of a golden folder;
//! - [`variants`] builds the product once for each storage of linear combinations;
//! - [`measure`] compares what variants of synthesis cost;
//! - [`mod@bench`] times two ways to the same proof in turn, [`stats`] says what the times show, and [`gate`] whether a binary may
//!   take another's place;
//! - [`counts`] counts instructions and cache misses of a run;
//! - [`own`] makes a case for them of a user's own input;
//! - [`runs`] tables results that were kept over time;
//! - [`make`] creates suites from a binary's *reference* backend.

#![forbid(unsafe_code)]

pub mod bench;
pub mod case;
pub mod counts;
pub mod digest;
pub mod error;
pub mod faults;
pub mod gate;
pub mod html;
mod judge;
pub mod lint;
pub mod make;
pub mod measure;
pub mod own;
pub mod prover;
mod report;
pub mod rows;
pub mod run;
pub mod runs;
pub mod stats;
pub mod variants;

pub use error::Error;
pub use report::Cost;
