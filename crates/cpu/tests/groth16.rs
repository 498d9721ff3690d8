//! Groth16 as a whole on small circuits: in the exponent with a known trapdoor, against bellperson byte for byte, and
//! with witnesses that do not satisfy the circuit.

mod circuits;

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use bellpepper_core::Circuit;
use bellperson::groth16 as upstream;
use blstrs::{Bls12, G1Affine, G1Projective, G2Affine, G2Projective, Scalar as Fr};
use circuits::{Five, Unconstrained, random_circuit};
use cuzk_cpu::{Arithmetic, CpuBackend, CpuFixedBase, CpuTransforms};
use cuzk_groth16::{
    Backend, Blinding, Domain, Error, GenerateError, Generated, Ntt, Parameters, Proof, Query, Shape, Silent,
    Trapdoor, Tuning, Work, generate, quotient,
};
use cuzk_r1cs::{ConstraintSystemMatrices, Synthesis, derive_flat, evaluate, record, walk_witness};
use ff::Field;
use group::{Group, prime::PrimeCurveAffine};
use proptest::prelude::*;

const TRAPDOOR_SEED: [u8; 32] = *b"a trapdoor that everybody knows!";

fn trapdoor() -> Trapdoor {
    Trapdoor::from_seed(TRAPDOOR_SEED, "test")
}

fn fixed_base() -> &'static CpuFixedBase {
    static FIXED_BASE: LazyLock<CpuFixedBase> = LazyLock::new(CpuFixedBase::default);
    &FIXED_BASE
}

fn parameter_bytes(system: &ConstraintSystemMatrices) -> (Vec<u8>, Generated) {
    let mut bytes = vec![];
    let generated = generate(fixed_base(), system, &trapdoor(), &mut bytes, &|_, _| {}).unwrap();
    (bytes, generated)
}

fn parameters(system: &ConstraintSystemMatrices) -> Parameters {
    let bytes = parameter_bytes(system).0;
    Parameters::from_source(PathBuf::from("in memory"), Box::new(bytes)).unwrap()
}

fn prove(parameters: &Parameters, synthesis: Synthesis, blinding: &Blinding, ntt: Ntt) -> Proof {
    let shape = Shape::of(&synthesis).unwrap();
    let mut session =
        CpuBackend.prepare(&shape, None, parameters, &Tuning { ntt, ..Tuning::default() }, &Silent).unwrap();
    session.prove(synthesis.into(), blinding, &Silent).unwrap()
}

fn upstream_parameters(circuit: impl Circuit<Fr>) -> upstream::Parameters<Bls12> {
    let Trapdoor { alpha, beta, gamma, delta, tau } = trapdoor();
    let (g1, g2) = (G1Projective::generator(), G2Projective::generator());
    upstream::generate_parameters(circuit, g1, g2, alpha, beta, gamma, delta, tau).unwrap()
}

fn upstream_verifies(parameters: &Parameters, proof: &Proof, public_inputs: &[Fr]) -> bool {
    let key = upstream::VerifyingKey::<Bls12>::read(&parameters.verifying_key().to_bytes()[..]).unwrap();
    let proof = upstream::Proof::<Bls12>::read(&proof.to_bytes()[..]).unwrap();
    upstream::verify_proof(&upstream::prepare_verifying_key(&key), &proof, public_inputs).unwrap()
}

/// The discrete logarithms of A, B, C from the definition of Groth16, by naive polynomial arithmetic.
fn proof_in_the_exponent(
    system: &ConstraintSystemMatrices,
    synthesis: &Synthesis,
    blinding: &Blinding,
) -> [Fr; 3] {
    let Trapdoor { alpha, beta, gamma: _, delta, tau } = trapdoor();
    let Blinding { r, s } = *blinding;
    let n = system.n_rows().next_power_of_two();
    let padded = |mut values: Vec<Fr>| {
        values.resize(n, Fr::ZERO);
        values
    };
    let at_tau =
        |values: Vec<Fr>| cuzk_naive::evaluate(&cuzk_naive::inverse_ntt(&padded(values), &Fr::ONE), &tau);
    let product = |matrix, aux_only: bool| {
        let inputs = if aux_only { vec![Fr::ZERO; system.n_inputs] } else { synthesis.inputs.clone() };
        system.multiply(matrix, &inputs, &synthesis.aux)
    };
    let rows = [&system.a, &system.b, &system.c].map(|matrix| padded(product(matrix, false)));
    let h = cuzk_naive::qap_quotient(&rows[0], &rows[1], &rows[2]);
    let vanishing = tau.pow_vartime([n as u64]) - Fr::ONE;

    let a = alpha + at_tau(product(&system.a, false)) + r * delta;
    let b = beta + at_tau(product(&system.b, false)) + s * delta;
    let l = beta * at_tau(product(&system.a, true))
        + alpha * at_tau(product(&system.b, true))
        + at_tau(product(&system.c, true));
    let c = (l + cuzk_naive::evaluate(&h, &tau) * vanishing) * delta.invert().unwrap() + s * a + r * b
        - r * s * delta;
    [a, b, c]
}

#[test]
fn five_constraints_in_the_exponent() {
    let system = record(Five { x: 3, bit: true }).unwrap();
    // Five constraints, and one row for each of ONE, x, y.
    assert_eq!((system.n_rows(), system.n_inputs, system.n_aux), (8, 3, 4));
    let parameters = parameters(&system);
    for (x, bit) in [(3, true), (0, false), (1, false), (u64::MAX, true)] {
        let synthesis = evaluate(Five { x, bit }).unwrap();
        let blinding = Blinding::from_insecure_seed([7; 32], x as usize);
        let [a, b, c] = proof_in_the_exponent(&system, &synthesis, &blinding);
        for ntt in [Ntt::Six, Ntt::Seven] {
            let proof = prove(&parameters, synthesis.clone(), &blinding, ntt);
            assert_eq!(G1Projective::from(proof.a), G1Affine::generator() * a);
            assert_eq!(G2Projective::from(proof.b), G2Affine::generator() * b);
            assert_eq!(G1Projective::from(proof.c), G1Affine::generator() * c);
            assert!(upstream_verifies(&parameters, &proof, &synthesis.inputs[1..]));
        }
    }
}

#[test]
fn parameters_are_upstreams_byte_for_byte() {
    let circuit = Five { x: 3, bit: true };
    let (bytes, generated) = parameter_bytes(&record(circuit).unwrap());
    let mut expected = vec![];
    upstream_parameters(circuit).write(&mut expected).unwrap();
    assert!(bytes == expected);
    assert_eq!(generated.n_bytes, bytes.len() as u64);
    assert_eq!(&generated.blake2b_512, blake2b_simd::blake2b(&bytes).as_array());
    assert_eq!(bytes[..generated.verifying_key.n_bytes()], generated.verifying_key.to_bytes());
}

#[test]
fn computed_parameters_are_those_of_the_file() {
    let system = record(Five { x: 3, bit: true }).unwrap();
    let stored = parameters(&system);
    let fixed_base = Box::new(CpuFixedBase::default());
    let computed = Parameters::computed("none".into(), fixed_base, &system, &trapdoor()).unwrap();
    assert_eq!(computed.verifying_key(), stored.verifying_key());
    assert_eq!(computed.size(), stored.size());
    for query in Query::ALL {
        let n = stored.n_points(query);
        assert_eq!(computed.n_points(query), n);
        for range in [0..n, n / 2..n, 0..0] {
            match query {
                Query::BG2 => {
                    assert_eq!(computed.read_g2(range.clone()).unwrap(), stored.read_g2(range).unwrap())
                }
                _ => {
                    let points = computed.read_g1(query, range.clone()).unwrap();
                    assert_eq!(points, stored.read_g1(query, range).unwrap());
                }
            }
        }
    }
    computed.check_points(&|_| ()).unwrap();
    computed.check_unchanged().unwrap();
}

#[test]
fn a_template_stands_for_recording_and_synthesis() {
    let circuit = Five { x: 3, bit: true };
    // The flat form: a header and no blocks. Circuits that repeat are tested where templates are.
    let template = derive_flat(circuit).unwrap();
    let mut bytes = vec![];
    generate(fixed_base(), &template, &trapdoor(), &mut bytes, &|_, _| {}).unwrap();
    assert!(bytes == parameter_bytes(&record(circuit).unwrap()).0);

    let parameters = Parameters::from_source("in memory".into(), Box::new(bytes)).unwrap();
    let synthesis = evaluate(circuit).unwrap();
    let shape = Shape::of_template(&template).unwrap();
    assert_eq!(shape, Shape::of(&synthesis).unwrap());
    let witness = walk_witness(&template, circuit).unwrap();
    let blinding = Blinding::from_insecure_seed([7; 32], 0);
    let mut session = CpuBackend.prepare(&shape, None, &parameters, &Tuning::default(), &Silent).unwrap();
    let work = Work::Packed { witness: Arc::new(witness), template: Arc::new(template) };
    let proof = session.prove(work, &blinding, &Silent).unwrap();
    assert_eq!(proof, prove(&parameters, synthesis, &blinding, Ntt::Six));
}

#[test]
fn unusable_circuits_and_trapdoors_are_refused() {
    let refused = |system: &ConstraintSystemMatrices, trapdoor: Trapdoor| match generate(
        fixed_base(),
        system,
        &trapdoor,
        &mut vec![],
        &|_, _| {},
    ) {
        Err(GenerateError::Circuit(error)) => error,
        other => panic!("{other:?}"),
    };
    let system = record(Unconstrained).unwrap();
    assert!(matches!(refused(&system, trapdoor()), Error::Unconstrained { index: 1 }));
    let system = record(Five { x: 3, bit: true }).unwrap();
    let omega = Domain::for_rows(system.n_rows()).unwrap().omega();
    for bad in [
        Trapdoor { gamma: Fr::ZERO, ..trapdoor() },
        Trapdoor { delta: Fr::ZERO, ..trapdoor() },
        Trapdoor { tau: omega, ..trapdoor() },
        Trapdoor { tau: Fr::ONE, ..trapdoor() },
    ] {
        assert!(matches!(refused(&system, bad), Error::BadTrapdoor { .. }));
    }
}

#[test]
fn parameters_of_another_circuit_are_refused() {
    let five = parameters(&record(Five { x: 3, bit: true }).unwrap());
    let mut shape = Shape::of(&evaluate(Five { x: 3, bit: true }).unwrap()).unwrap();
    assert!(shape.check_parameters(&five).is_ok());
    shape.n_aux += 1;
    let error = CpuBackend.prepare(&shape, None, &five, &Tuning::default(), &Silent).err().unwrap();
    assert!(matches!(error, Error::OtherCircuit { query: "l", expected: 5, found: 4, .. }), "{error}");
}

#[test]
fn a_key_without_delta_is_refused() {
    let system = record(Five { x: 3, bit: true }).unwrap();
    let (mut bytes, _) = parameter_bytes(&system);
    // delta_g1 is the fifth point of the file.
    let start = 96 + 96 + 192 + 192;
    bytes[start..start + 96].fill(0);
    bytes[start] = 0x40; // the flag of the point at infinity
    let parameters = Parameters::from_source("in memory".into(), Box::new(bytes)).unwrap();
    let synthesis = evaluate(Five { x: 3, bit: true }).unwrap();
    let shape = Shape::of(&synthesis).unwrap();
    let mut session = CpuBackend.prepare(&shape, None, &parameters, &Tuning::default(), &Silent).unwrap();
    let error = session.prove(synthesis.into(), &Blinding { r: Fr::ONE, s: Fr::ONE }, &Silent).unwrap_err();
    assert!(matches!(error, Error::DeltaAtInfinity));
}

#[test]
fn quotients_agree_with_schoolbook_division() {
    for log2_n in 0..7 {
        let n = 1usize << log2_n;
        let transforms = CpuTransforms::new(Arithmetic::default(), Domain::for_rows(n).unwrap());
        // Full domains and ones that are padded.
        for rows in [n, n - n / 4] {
            let a: Vec<Fr> = (0..rows as u64).map(|i| Fr::from(i + 2).square()).collect();
            let b: Vec<Fr> = a.iter().map(|a| a.square() - Fr::from(9)).collect();
            let c = quotient::hadamard(&a, &b);
            let padded = [&a, &b, &c].map(|values| {
                let mut values = values.clone();
                values.resize(n, Fr::ZERO);
                values
            });
            let expected = cuzk_naive::qap_quotient(&padded[0], &padded[1], &padded[2]);
            for ntt in [Ntt::Six, Ntt::Seven] {
                assert_eq!(quotient::quotient(&transforms, ntt, a.clone(), b.clone(), c.clone()), expected);
            }
        }
    }
}

proptest! {
    // A case costs two generations of parameters, three proofs of ours and one of upstream's.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_circuits_are_proved_as_upstream_does(circuit in random_circuit(1..20), seed: [u8; 32], flip: usize) {
        let system = record(circuit.clone()).unwrap();
        let (bytes, _) = parameter_bytes(&system);
        let upstream_parameters = upstream_parameters(circuit.clone());
        let mut expected = vec![];
        upstream_parameters.write(&mut expected).unwrap();
        prop_assert!(bytes == expected, "parameters differ");

        let parameters = Parameters::from_source("in memory".into(), Box::new(bytes)).unwrap();
        let blinding = Blinding::from_insecure_seed(seed, 0);
        let synthesis = evaluate(circuit.clone()).unwrap();
        prop_assert_eq!(&synthesis.a, &system.multiply(&system.a, &synthesis.inputs, &synthesis.aux));
        prop_assert_eq!(&synthesis.b, &system.multiply(&system.b, &synthesis.inputs, &synthesis.aux));
        let checked = cuzk_r1cs::check(circuit.clone()).unwrap();
        prop_assert_eq!(&checked.synthesis, &synthesis);
        prop_assert_eq!(checked.unsatisfied, None);

        let proof = prove(&parameters, synthesis.clone(), &blinding, Ntt::Six);
        let seven = prove(&parameters, synthesis, &blinding, Ntt::Seven);
        prop_assert_eq!(proof, seven);
        let theirs = upstream::create_proof(circuit.clone(), &upstream_parameters, blinding.r, blinding.s).unwrap();
        let mut expected = vec![];
        theirs.write(&mut expected).unwrap();
        prop_assert_eq!(&proof.to_bytes()[..], &expected[..]);
        prop_assert!(upstream_verifies(&parameters, &proof, circuit.public_inputs()));

        let mut flipped = circuit.clone();
        flipped.flipped = Some(flip % circuit.n_aux());
        let synthesis = evaluate(flipped.clone()).unwrap();
        let c = system.multiply(&system.c, &synthesis.inputs, &synthesis.aux);
        let satisfied = quotient::hadamard(&synthesis.a, &synthesis.b) == c;
        prop_assert_eq!(cuzk_r1cs::check(flipped).unwrap().unsatisfied.is_none(), satisfied);
        // A flipped bit stays a bit, and may occur nowhere else: then the system is still satisfied.
        let proof = prove(&parameters, synthesis, &blinding, Ntt::Six);
        prop_assert_eq!(upstream_verifies(&parameters, &proof, circuit.public_inputs()), satisfied);
    }
}

#[test]
fn queries_have_the_lengths_that_the_shape_tells() {
    let circuit = Five { x: 3, bit: true };
    let shape = Shape::of(&evaluate(circuit).unwrap()).unwrap();
    let parameters = parameters(&record(circuit).unwrap());
    let lengths = Query::ALL.map(|query| parameters.n_points(query));
    // A: ONE, x, y; square, cube, bit. B: ONE, x; bit.
    assert_eq!(lengths, [7, 4, 6, 3, 3]);
    assert_eq!(Query::ALL.map(|query| shape.n_points(query)), lengths);
}
