//! Prints `golden/circuits.json` for the given sector sizes, or for all: counts and digests of upstream's circuits, from
//! their templates. A few minutes for all; times go to stderr.

use std::time::Instant;

use cuzk_filecoin::{CircuitsFile, Kind, KnownCircuit, RegisteredProof, SectorSize};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes: Vec<SectorSize> =
        std::env::args().skip(1).map(|size| size.parse()).collect::<Result<_, _>>()?;
    if sizes.is_empty() {
        sizes = SectorSize::ALL.to_vec();
    }
    let mut circuits = vec![];
    for kind in Kind::ALL {
        for size in &sizes {
            let start = Instant::now();
            let template = RegisteredProof::latest(kind, *size).derive_template()?;
            let derived = start.elapsed();
            circuits.push(KnownCircuit::of(kind, *size, &template)?);
            eprintln!("{kind} {size}: derived in {derived:.1?}, digest in {:.1?}", start.elapsed() - derived);
        }
    }
    let file = CircuitsFile { schema: CircuitsFile::SCHEMA, circuits };
    println!("{}", serde_json::to_string_pretty(&file)?);
    Ok(())
}
