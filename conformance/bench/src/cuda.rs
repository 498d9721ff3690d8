//! Sums and transforms on a CUDA device.

use std::collections::BTreeMap;

use blstrs::Scalar as Fr;
use cuzk_cpu::msm::{Bases, Terms};
use cuzk_cpu::{Arithmetic, CpuTransforms};
use cuzk_gpu::measure::{ResidentSum, ResidentTransforms};
use cuzk_groth16::{Domain, Transforms, Tuning};
use ff::Field;

use crate::inputs;
use crate::stopwatch::Comparison;

/// Scalars with their name.
pub(crate) struct Scalars(&'static str, Vec<Fr>);

pub(crate) fn uniform(n: usize) -> Scalars {
    Scalars("uniform", inputs::scalars(n, 2))
}

/// 47 % ones, 51 % zeros, as in the witness of a PoRep.
pub(crate) fn mostly_bits(n: usize) -> Scalars {
    let scalar = |scalar: Fr| match scalar.to_bytes_le()[0] {
        0..5 => scalar,
        5..125 => Fr::ONE,
        _ => Fr::ZERO,
    };
    Scalars("98 % bits", inputs::scalars(n, 2).into_iter().map(scalar).collect())
}

/// A sum with everything resident, from the scalars in Montgomery form to the point in host memory.
pub(crate) fn msm(
    results: &mut BTreeMap<String, Comparison>,
    tuning: Tuning,
    device: usize,
    Scalars(name, scalars): Scalars,
    repetitions: usize,
) -> anyhow::Result<()> {
    let points = inputs::g1(scalars.len(), 1);
    let bases = Bases::new(Arithmetic::of(tuning.isa)?, &points);
    let mut resident = ResidentSum::new(device, &points, &scalars, tuning.accumulation)?;
    let cpu = || Terms::new(&bases, |index| scalars[index]).sum();
    anyhow::ensure!(resident.sum()? == cpu(), "another sum than the CPU's");
    let comparison = Comparison::of(repetitions, || resident.sum().expect("it has worked before"), cpu);
    let settings = tuning.settings();
    let (_, way) = settings.iter().find(|(axis, _)| *axis == "accumulation").expect("an axis");
    results.insert(format!("cuda msm g1 2^{} {name}, {way}, against cpu", scalars.len().ilog2()), comparison);
    Ok(())
}

const TIMES: usize = 10;

/// Ten interpolations, so that the launches and the wait for the end hardly count.
pub(crate) fn ntt(
    results: &mut BTreeMap<String, Comparison>,
    arithmetic: Arithmetic,
    device: usize,
    log2_n: u32,
    repetitions: usize,
) -> anyhow::Result<()> {
    let mut values = inputs::scalars(1 << log2_n, 5);
    let domain = Domain::for_rows(values.len())?;
    let transforms = CpuTransforms::new(arithmetic, domain);
    let mut resident = ResidentTransforms::new(device, &values)?;
    resident.interpolate(1)?;
    resident.evaluate_on_coset()?;
    transforms.interpolate(&mut values);
    transforms.evaluate_on_coset(&mut values);
    let n = Fr::from(1 << log2_n);
    let same = resident.values()?.iter().zip(&values).all(|(device, cpu)| *device == *cpu * n);
    anyhow::ensure!(same, "other values than the CPU's");
    let ours = || resident.interpolate(TIMES).expect("it has worked before");
    let cpu = || (0..TIMES).for_each(|_| transforms.interpolate(&mut values));
    let comparison = Comparison::of(repetitions, ours, cpu);
    results.insert(format!("cuda ntt 2^{log2_n}, {TIMES} transforms, against cpu"), comparison);
    Ok(())
}
