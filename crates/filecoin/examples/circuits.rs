//! Prints the size of every circuit that can be recorded in memory: rows (those of the inputs included), inputs with
//! ONE, aux variables, and points of the A and B queries. `src/size.rs` holds the figures.

use std::collections::BTreeSet;

use cuzk_filecoin::{
    PorepApi, RegisteredProof, SectorSize, seal_of_size, update_of_size, window_post, winning_post,
};
use cuzk_r1cs::{ConstraintSystemMatrices, Matrix};

fn main() {
    let sizes: Vec<SectorSize> =
        std::env::args().skip(1).map(|size| size.parse().expect("a sector size")).collect();
    for size in sizes {
        let proofs = [
            RegisteredProof::Post(winning_post(size)),
            RegisteredProof::Post(window_post(size)),
            RegisteredProof::Update(update_of_size(size)),
            RegisteredProof::Seal(seal_of_size(size, PorepApi::V1_1)),
        ];
        // At production sizes only a winning PoSt fits; the others repeat a block (a sector, a challenge).
        let fitting = if size.is_production() { 1 } else { proofs.len() };
        for proof in &proofs[..fitting] {
            let system = proof.record().expect("upstream's blank circuit");
            let (a, b) = (columns(&system, &system.a), columns(&system, &system.b));
            println!("{proof} {size}: {} {} {} {a} {b}", system.n_rows(), system.n_inputs, system.n_aux);
        }
    }
}

/// The number of columns that are not zero.
fn columns(system: &ConstraintSystemMatrices, matrix: &Matrix) -> usize {
    let terms = (0..matrix.n_rows()).flat_map(|row| matrix.row(row));
    terms.map(|term| term.variable.column(system.n_inputs)).collect::<BTreeSet<_>>().len()
}
