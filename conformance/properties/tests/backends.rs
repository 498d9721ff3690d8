//! Random circuits: every backend of this machine, with every value of every axis, gives the bytes of upstream's prover.

#[path = "../../../crates/cpu/tests/circuits/mod.rs"]
#[allow(dead_code, reason = "the circuits of another crate's tests, of which one is used here")]
mod circuits;

use std::sync::{Arc, LazyLock};

use bellperson::groth16 as upstream;
use blstrs::{Bls12, G1Projective, G2Projective};
use circuits::{Random, random_circuit};
use cuzk_cpu::{CpuBackend, CpuFixedBase};
use cuzk_gpu::CudaBackend;
use cuzk_groth16::{
    Axis, Backend, Blinding, Decided, Parameters, Shape, Silent, Trapdoor, Tuning, Work, generate,
};
use cuzk_r1cs::{PackedWitness, derive_flat, evaluate};
use group::Group;
use proptest::prelude::*;

/// The backends that work here: always the processor, and the first device that can be used.
static BACKENDS: LazyLock<Vec<Box<dyn Backend + Send>>> = LazyLock::new(|| {
    let mut backends: Vec<Box<dyn Backend + Send>> = vec![Box::new(CpuBackend)];
    let devices = cuzk_gpu::devices().unwrap_or_default();
    match devices.iter().find(|device| device.skipped.is_none()) {
        Some(device) => backends.push(Box::new(CudaBackend { device: device.index, memory_bytes: None })),
        None => eprintln!("skipped: no device that can be used, so the processor alone is compared"),
    }
    backends
});

/// The defaults, and each other value alone, of the axes that matter to a backend. Instructions that are not here are left out.
fn tunings(backend: &str) -> Vec<Tuning> {
    let matters = |axis: &&Axis| axis.decided == Decided::AtRun && axis.backends.contains(&backend);
    let mut tunings = vec![Tuning::default()];
    for axis in Tuning::AXES.iter().filter(matters) {
        for value in &axis.values[1..] {
            let mut tuning = Tuning::default();
            tuning.set(axis.name, value.name).unwrap();
            if cuzk_cpu::Arithmetic::of(tuning.isa).is_ok() {
                tunings.push(tuning);
            }
        }
    }
    tunings
}

fn every_backend_gives_upstreams_bytes(circuit: Random, seed: [u8; 32]) -> Result<(), TestCaseError> {
    let template = Arc::new(derive_flat(circuit.clone()).unwrap());
    let trapdoor = Trapdoor::from_seed(seed, "test");
    let mut bytes = vec![];
    generate(&CpuFixedBase::default(), &*template, &trapdoor, &mut bytes, &|_, _| {}).unwrap();
    let parameters = Parameters::from_source("in memory".into(), Box::new(bytes)).unwrap();
    let blinding = Blinding::from_insecure_seed(seed, 0);

    let (g1, g2) = (G1Projective::generator(), G2Projective::generator());
    let Trapdoor { alpha, beta, gamma, delta, tau } = trapdoor;
    let theirs: upstream::Parameters<Bls12> =
        upstream::generate_parameters(circuit.clone(), g1, g2, alpha, beta, gamma, delta, tau).unwrap();
    let proof = upstream::create_proof(circuit.clone(), &theirs, blinding.r, blinding.s).unwrap();
    let mut expected = vec![];
    proof.write(&mut expected).unwrap();

    let synthesis = evaluate(circuit).unwrap();
    let packed = PackedWitness::pack(&template, synthesis.inputs.clone(), &synthesis.aux).unwrap();
    let shape = Shape::of_template(&template).unwrap();
    for backend in BACKENDS.iter() {
        for tuning in tunings(backend.name()) {
            let mut session =
                backend.prepare(&shape, Some(&template), &parameters, &tuning, &Silent).unwrap();
            let works = [
                Work::Evaluated {
                    inputs: synthesis.inputs.clone(),
                    aux: synthesis.aux.clone(),
                    a: synthesis.a.clone(),
                    b: synthesis.b.clone(),
                },
                Work::Packed { witness: packed.clone().into(), template: template.clone() },
            ];
            for work in works {
                let proof = session.prove(work, &blinding, &Silent).unwrap();
                prop_assert_eq!(&proof.to_bytes()[..], &expected[..], "{} {:?}", backend.name(), tuning);
            }
        }
    }
    Ok(())
}

proptest! {
    // A case costs a generation of parameters, upstream's proof, and some twenty of ours.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn small_circuits(circuit in random_circuit(1..20), seed: [u8; 32]) {
        every_backend_gives_upstreams_bytes(circuit, seed)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// Large enough for eight-wide transforms, tiles of the bit reversal, and sums by windows.
    #[test]
    fn larger_circuits(circuit in random_circuit(150..600), seed: [u8; 32]) {
        every_backend_gives_upstreams_bytes(circuit, seed)?;
    }
}
