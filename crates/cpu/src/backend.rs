//! The backend: parameters resident in memory, one partition at a time.

use std::sync::Arc;
use std::time::Instant;

use blstrs::{G1Affine, G2Affine, Scalar as Fr};
use cuzk_fault::{Fault, injected};
use cuzk_groth16::{
    BG2Cpu, Backend, Blinding, Columns, Error, MsmResults, Observer, Parameters, Phase, Proof, Query,
    Session, Shape, Step, Tuning, VerifyingKey, WindowChoice, Work, assemble, digest_g1, digest_g2,
    digest_scalars, quotient, timed,
};
use cuzk_r1cs::{Template, evaluate_packed};

use crate::msm::{Bases, Curve, Terms};
use crate::{Arithmetic, CpuTransforms};

/// Proves on the threads of the current rayon pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuBackend;

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn prepare(
        &self,
        shape: &Shape,
        _: Option<&Arc<Template>>,
        parameters: &Parameters,
        tuning: &Tuning,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Session>, Error> {
        let arithmetic = Arithmetic::of(tuning.isa)?;
        timed(observer, Phase::LoadParameters, || {
            shape.check_parameters(parameters)?;
            let g1 = |query| {
                Bases::read(arithmetic, parameters.n_points(query), |range| parameters.read_g1(query, range))
            };
            let n_b_g2 = parameters.n_points(Query::BG2);
            Ok(Box::new(CpuSession {
                shape: shape.clone(),
                tuning: *tuning,
                verifying_key: parameters.verifying_key().clone(),
                h: g1(Query::H)?,
                l: g1(Query::L)?,
                a: g1(Query::A)?,
                b_g1: g1(Query::BG1)?,
                b_g2: Bases::read(arithmetic, n_b_g2, |range| parameters.read_g2(range))?,
                columns: Columns::of(shape),
                transforms: CpuTransforms::new(arithmetic, shape.domain),
            }) as Box<dyn Session>)
        })
    }
}

struct CpuSession {
    shape: Shape,
    tuning: Tuning,
    verifying_key: VerifyingKey,
    h: Bases<G1Affine>,
    l: Bases<G1Affine>,
    a: Bases<G1Affine>,
    b_g1: Bases<G1Affine>,
    b_g2: Bases<G2Affine>,
    columns: Columns,
    transforms: CpuTransforms,
}

impl Session for CpuSession {
    fn prove(&mut self, work: Work, blinding: &Blinding, observer: &dyn Observer) -> Result<Proof, Error> {
        let (inputs, aux, a, b) = match work {
            Work::Evaluated { inputs, aux, a, b } => (inputs, aux, a, b),
            Work::Packed { witness, template } => {
                let rows = timed(observer, Phase::Evaluate, || evaluate_packed(&template, &witness));
                let (a, b) = rows.expect("witness of another circuit");
                let aux = witness.unpack_aux(&template).expect("witness of another circuit");
                (witness.inputs.clone(), aux, a, b)
            }
        };
        let shape = &self.shape;
        assert_eq!((inputs.len(), aux.len()), (shape.n_inputs, shape.n_aux), "witness of another circuit");
        assert_eq!((a.len(), b.len()), (shape.n_rows, shape.n_rows), "rows of another circuit");
        let report = |step, parts: &[&[Fr]]| {
            if observer.wants_digests() {
                observer.digest(step, digest_scalars(parts));
            }
        };
        report(Step::Witness, &[&inputs, &aux]);
        report(Step::A, &[&a]);
        report(Step::B, &[&b]);
        let c = quotient::hadamard(&a, &b);
        report(Step::C, &[&c]);
        let h =
            timed(observer, Phase::Ntt, || quotient::quotient(&self.transforms, self.tuning.ntt, a, b, c));
        report(Step::H, &[&h]);

        let sums = self.sums(&inputs, &aux, &h, observer);
        if observer.wants_digests() {
            let steps =
                [(Step::MsmH, sums.h), (Step::MsmL, sums.l), (Step::MsmA, sums.a), (Step::MsmBG1, sums.b_g1)];
            steps.iter().for_each(|(step, sum)| observer.digest(*step, digest_g1(sum)));
            observer.digest(Step::MsmBG2, digest_g2(&sums.b_g2));
        }
        timed(observer, Phase::Assemble, || assemble(&self.verifying_key, &sums, blinding))
    }
}

impl CpuSession {
    fn sums(&self, inputs: &[Fr], aux: &[Fr], h: &[Fr], observer: &dyn Observer) -> MsmResults {
        let value = |column: u32| {
            let column = column as usize;
            *inputs.get(column).unwrap_or_else(|| &aux[column - inputs.len()])
        };
        let a = |index: usize| value(self.columns.a[index]);
        let b = |index: usize| value(self.columns.b[index]);
        let b_g2 = || self.sum(&self.b_g2, b, Phase::MsmBG2, observer);
        let in_g1 = || {
            let sum_over_h = || Terms::new(&self.h, |index| h[index]).sum();
            let h = timed(observer, Phase::MsmH, || match injected(Fault::SlowSum) {
                true => slowly(sum_over_h),
                false => sum_over_h(),
            });
            let l = self.sum(&self.l, |index| aux[index], Phase::MsmL, observer);
            let a = self.sum(&self.a, a, Phase::MsmA, observer);
            (h, l, a, self.sum(&self.b_g1, b, Phase::MsmBG1, observer))
        };
        let ((h, l, a, b_g1), b_g2) = match self.tuning.b_g2_cpu {
            BG2Cpu::Parallel => rayon::join(in_g1, b_g2),
            BG2Cpu::Sequential => (in_g1(), b_g2()),
        };
        MsmResults { h, l, a, b_g1, b_g2 }
    }

    /// Σ scalar(i)·bases[i], the terms whose scalar is 1 timed as [`Phase::Bits`].
    fn sum<P: Curve>(
        &self,
        bases: &Bases<P>,
        scalar: impl Fn(usize) -> Fr + Sync,
        phase: Phase,
        observer: &dyn Observer,
    ) -> P::Curve {
        let terms = timed(observer, Phase::Bits, || Terms::new(bases, scalar));
        let ones = timed(observer, Phase::Bits, || terms.sum_of_ones());
        let rest = || match self.tuning.windows {
            WindowChoice::PerMsm => terms.sum_of_rest(),
            WindowChoice::Shared => terms.sum_of_rest_as_if(self.h.len()),
        };
        ones + timed(observer, phase, rest)
    }
}

/// Work, and 15 % of its time more.
fn slowly<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    std::thread::sleep(start.elapsed().mul_f64(0.15));
    result
}
