//! Transforms over Fr.

use std::collections::BTreeMap;

use bellperson::domain::EvaluationDomain;
use blstrs::Scalar as Fr;
use cuzk_cpu::{Arithmetic, CpuTransforms};
use cuzk_groth16::{Domain, Transforms};
use ec_gpu_gen::threadpool::Worker;

use crate::inputs;
use crate::stopwatch::Comparison;

/// Interpolation on the domain followed by evaluation on the coset, as for a and b in a quotient.
pub(crate) fn transforms(
    results: &mut BTreeMap<String, Comparison>,
    arithmetic: Arithmetic,
    log2_n: u32,
    repetitions: usize,
) -> anyhow::Result<()> {
    let n = 1 << log2_n;
    let values = inputs::scalars(n, 5);
    let transforms = CpuTransforms::new(arithmetic, Domain::for_rows(n)?);
    let worker = Worker::new();
    let ours = |values: &mut [Fr]| {
        transforms.interpolate(values);
        transforms.evaluate_on_coset(values);
    };
    let theirs = |domain: &mut EvaluationDomain<Fr>| {
        domain.ifft(&worker, &mut None).expect("no GPU is used");
        domain.coset_fft(&worker, &mut None).expect("no GPU is used");
    };
    let mut vector = values.clone();
    let mut domain = EvaluationDomain::from_coeffs(values)?;
    ours(&mut vector);
    theirs(&mut domain);
    assert!(vector == domain.as_ref(), "other values than bellperson's");
    let comparison = Comparison::of(repetitions, || ours(&mut vector), || theirs(&mut domain));
    results.insert(format!("ntt 2^{log2_n}, two transforms, against bellperson"), comparison);
    Ok(())
}
