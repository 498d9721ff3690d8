//! Properties that no single crate owns, in `tests/`: random circuits through every backend and every value of every axis, against upstream;
//! random sectors of every kind through both ways of synthesis; golden files with damage.
#![forbid(unsafe_code)]
