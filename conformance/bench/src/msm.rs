//! Sums of points.

use std::collections::BTreeMap;

use blst::{MultiPoint, blst_p1, blst_p1_affine, blst_p2, blst_p2_affine, p1_affines, p2_affines};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar as Fr};
use cuzk_cpu::msm::{Bases, Curve, Terms};
use cuzk_cpu::{Arithmetic, CpuFixedBase};
use cuzk_groth16::FixedBase;
use ff::Field;
use group::Curve as _;
use group::prime::PrimeCurveAffine;
use rayon::prelude::*;

use crate::inputs;
use crate::stopwatch::Comparison;

type Results = BTreeMap<String, Comparison>;

fn sum<P: Curve>(bases: &Bases<P>, scalars: &[Fr]) -> P::Curve {
    Terms::new(bases, |index| scalars[index]).sum()
}

fn scalar_bytes(scalars: &[Fr]) -> Vec<u8> {
    scalars.iter().flat_map(Fr::to_bytes_le).collect()
}

fn same_g1(ours: &G1Projective, theirs: &blst_p1) -> bool {
    p1_affines::from(std::slice::from_ref(theirs)).as_slice()[0] == *ours.to_affine().as_ref()
}

fn same_g2(ours: &G2Projective, theirs: &blst_p2) -> bool {
    p2_affines::from(std::slice::from_ref(theirs)).as_slice()[0] == *ours.to_affine().as_ref()
}

/// Uniform scalars in G1.
pub(crate) fn uniform_g1(results: &mut Results, arithmetic: Arithmetic, log2_n: u32, repetitions: usize) {
    let n = 1 << log2_n;
    let points = inputs::g1(n, 1);
    let raw: Vec<blst_p1_affine> = points.iter().map(|point| *point.as_ref()).collect();
    let scalars = inputs::scalars(n, 2);
    let bytes = scalar_bytes(&scalars);
    let bases = Bases::new(arithmetic, &points);
    let (ours, theirs) = (|| sum(&bases, &scalars), || raw.mult(&bytes, 255));
    assert!(same_g1(&ours(), &theirs()), "another sum than blst's");
    let comparison = Comparison::of(repetitions, ours, theirs);
    results.insert(format!("msm g1 2^{log2_n} uniform, against blst"), comparison);
}

/// Uniform scalars in G2.
pub(crate) fn uniform_g2(results: &mut Results, arithmetic: Arithmetic, log2_n: u32, repetitions: usize) {
    let n = 1 << log2_n;
    let points = inputs::g2(n, 1);
    let raw: Vec<blst_p2_affine> = points.iter().map(|point| *point.as_ref()).collect();
    let scalars = inputs::scalars(n, 2);
    let bytes = scalar_bytes(&scalars);
    let bases = Bases::new(arithmetic, &points);
    let (ours, theirs) = (|| sum(&bases, &scalars), || raw.mult(&bytes, 255));
    assert!(same_g2(&ours(), &theirs()), "another sum than blst's");
    let comparison = Comparison::of(repetitions, ours, theirs);
    results.insert(format!("msm g2 2^{log2_n} uniform, against blst"), comparison);
}

/// A selection of 47 % of the points of G1; blst gets the selected points as one list.
pub(crate) fn bits(results: &mut Results, arithmetic: Arithmetic, log2_n: u32, repetitions: usize) {
    let n = 1 << log2_n;
    let points = inputs::g1(n, 1);
    let bit = |scalar: &Fr| if scalar.to_bytes_le()[0] < 120 { Fr::ONE } else { Fr::ZERO };
    let bits: Vec<Fr> = inputs::scalars(n, 3).iter().map(bit).collect();
    let selected: Vec<blst_p1_affine> = (points.iter().zip(&bits))
        .filter(|(_, bit)| **bit == Fr::ONE)
        .map(|(point, _)| *point.as_ref())
        .collect();
    let bases = Bases::new(arithmetic, &points);
    let (ours, theirs) = (|| sum(&bases, &bits), || selected.add());
    assert!(same_g1(&ours(), &theirs()), "another sum than blst's");
    let comparison = Comparison::of(repetitions, ours, theirs);
    results.insert(format!("bits g1 2^{log2_n}, 47 % set, against blst"), comparison);
}

/// Inputs that collide in buckets and in x; the peer is the same sum over uniform ones.
pub(crate) fn adversarial(results: &mut Results, arithmetic: Arithmetic, log2_n: u32, repetitions: usize) {
    let n = 1 << log2_n;
    let points = inputs::g1(n, 1);
    let scalars = inputs::scalars(n, 2);
    let opposite: Vec<G1Affine> = points.chunks_exact(2).flat_map(|pair| [pair[0], -pair[0]]).collect();
    let infinities: Vec<G1Affine> = (points.iter().enumerate())
        .map(|(i, point)| if i % 3 == 0 { G1Affine::identity() } else { *point })
        .collect();
    let uniform = || (Bases::new(arithmetic, &points), &scalars[..]);
    let two_scalars: Vec<Fr> = (0..n).map(|i| if i % 2 == 0 { scalars[0] } else { -scalars[0] }).collect();
    for (name, points, scalars) in [
        ("equal points", &vec![points[0]; n], &scalars),
        ("equal scalars", &points, &vec![scalars[0]; n]),
        ("equal points and scalars", &vec![points[0]; n], &vec![scalars[0]; n]),
        ("opposite pairs", &opposite, &scalars),
        ("opposite pairs, equal scalars", &opposite, &vec![scalars[0]; n]),
        ("a third at infinity", &infinities, &scalars),
        ("opposite scalars", &points, &two_scalars),
        ("all minus one", &points, &vec![-Fr::ONE; n]),
        ("all one", &vec![points[0]; n], &vec![Fr::ONE; n]),
        ("all one, opposite pairs", &opposite, &vec![Fr::ONE; n]),
    ] {
        let raw: Vec<(blst_p1_affine, [u8; 32])> = (points.iter().zip(scalars))
            .filter(|(point, _)| !bool::from(point.is_identity()))
            .map(|(point, scalar)| (*point.as_ref(), scalar.to_bytes_le()))
            .collect();
        let (raw, bytes): (Vec<_>, Vec<_>) = raw.into_iter().unzip();
        let (bases, (uniform_bases, uniform_scalars)) = (Bases::new(arithmetic, points), uniform());
        let ours = || sum(&bases, scalars);
        assert!(same_g1(&ours(), &raw.mult(bytes.as_flattened(), 255)), "another sum than blst's: {name}");
        let comparison = Comparison::of(repetitions, ours, || sum(&uniform_bases, uniform_scalars));
        results.insert(format!("adversarial 2^{log2_n} {name}, against uniform"), comparison);
    }
}

/// Multiples of the generator of G1, then of G2; the peer multiplies with blstrs on all threads, an eighth as many.
pub(crate) fn fixed_base(results: &mut Results, arithmetic: Arithmetic, log2_n: u32, repetitions: usize) {
    let scalars = inputs::scalars(1 << log2_n, 4);
    let few = &scalars[..scalars.len() / 8];
    let fixed_base = CpuFixedBase::new(arithmetic);
    let g1 = |scalars: &[Fr]| fixed_base.g1(scalars).expect("a processor does not fail");
    let g2 = |scalars: &[Fr]| fixed_base.g2(scalars).expect("a processor does not fail");
    let direct = || -> Vec<G1Affine> {
        few.par_iter().map(|scalar| (G1Affine::generator() * *scalar).to_affine()).collect()
    };
    assert!(g1(few) == direct(), "other multiples than blstrs'");
    let comparison = Comparison::of(repetitions, || g1(&scalars), direct);
    results.insert(format!("fixed base g1 2^{log2_n}, against blstrs on an eighth"), comparison);
    let direct = || -> Vec<G2Affine> {
        few.par_iter().map(|scalar| (G2Affine::generator() * *scalar).to_affine()).collect()
    };
    assert!(g2(few) == direct(), "other multiples than blstrs'");
    let comparison = Comparison::of(repetitions, || g2(&scalars), direct);
    results.insert(format!("fixed base g2 2^{log2_n}, against blstrs on an eighth"), comparison);
}
