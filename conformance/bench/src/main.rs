//! `cuzk-bench`: times the arithmetic against blst and bellperson, in one process, repetitions interleaved; that of a CUDA
//! device against ours on the CPU.
//!
//! Every timed result is compared with the peer's before it is timed. Prints JSON. Both sides use all processors that
//! the process may run on; `taskset -c 0 cuzk-bench …` compares them on one.
#![forbid(unsafe_code)]

mod cuda;
mod field;
mod inputs;
mod msm;
mod ntt;
mod stopwatch;

use std::collections::BTreeMap;

use clap::{Parser, ValueEnum};
use cuzk_cpu::Arithmetic;
use cuzk_groth16::{Isa, Tuning};
use serde::Serialize;
use stopwatch::Comparison;

/// Times the CPU arithmetic against blst and bellperson.
#[derive(Debug, Parser)]
#[command(name = "cuzk-bench", version)]
struct Arguments {
    /// What is timed; several can be given.
    #[arg(required = true)]
    what: Vec<What>,
    /// log2 of the number of elements; several can be given.
    #[arg(long, value_delimiter = ',', default_values_t = [18, 20])]
    log2_n: Vec<u32>,
    /// Values of axes, such as `isa=portable,accumulation=affine`.
    #[arg(long, default_value = "")]
    tune: String,
    /// The CUDA device, numbered from 0.
    #[arg(long, default_value_t = 0)]
    device: usize,
    /// Repetitions of each side.
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// No timing: the laws of the eight-wide arithmetic on the engines of this machine.
    Check,
    /// Multiplications in Fp, Fp2 and Fr, against blst's.
    Field,
    /// G1 sums with uniform scalars, against blst's Pippenger.
    MsmG1,
    /// G2 sums with uniform scalars, against blst's Pippenger.
    MsmG2,
    /// Sums of a 47 % selection of the points, against blst's batched addition.
    Bits,
    /// Sums over adversarial points and scalars, against uniform ones.
    Adversarial,
    /// The transforms of a quotient, against bellperson's domain.
    Ntt,
    /// Multiples of the generators, as parameter generation needs them.
    FixedBase,
    /// G1 sums with uniform scalars on a CUDA device, bases and scalars resident, against ours on the CPU.
    CudaMsmG1,
    /// The same with 98 % of the scalars 0 or 1.
    CudaBits,
    /// One transform on a CUDA device, data resident, against ours on the CPU.
    CudaNtt,
}

/// What is printed.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    cpu: String,
    threads: usize,
    arithmetic: &'static str,
    results: BTreeMap<String, Comparison>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut tuning = Tuning::default();
    tuning.set_all(&arguments.tune)?;
    let arithmetic = Arithmetic::of(tuning.isa)?;
    // A fast wrong kernel is worth nothing.
    if tuning.isa != Isa::Portable {
        cuzk_field::testing::engines().into_iter().for_each(cuzk_field::testing::check);
    }
    let mut results = BTreeMap::new();
    for what in &arguments.what {
        match what {
            What::Check => continue,
            What::Field => {
                field::multiplications(&mut results, arguments.repetitions);
                continue;
            }
            _ => {}
        }
        for &log2_n in &arguments.log2_n {
            let repetitions = arguments.repetitions;
            match what {
                What::Check | What::Field => unreachable!("done above"),
                What::MsmG1 => msm::uniform_g1(&mut results, arithmetic, log2_n, repetitions),
                What::MsmG2 => msm::uniform_g2(&mut results, arithmetic, log2_n, repetitions),
                What::Bits => msm::bits(&mut results, arithmetic, log2_n, repetitions),
                What::Adversarial => msm::adversarial(&mut results, arithmetic, log2_n, repetitions),
                What::Ntt => ntt::transforms(&mut results, arithmetic, log2_n, repetitions)?,
                What::FixedBase => msm::fixed_base(&mut results, arithmetic, log2_n, repetitions),
                What::CudaMsmG1 | What::CudaBits => {
                    let scalars = if let What::CudaBits = what { cuda::mostly_bits } else { cuda::uniform };
                    cuda::msm(&mut results, tuning, arguments.device, scalars(1 << log2_n), repetitions)?;
                }
                What::CudaNtt => cuda::ntt(&mut results, arithmetic, arguments.device, log2_n, repetitions)?,
            }
        }
    }
    let report = Report {
        schema: "cuzk-bench",
        version: 1,
        cpu: cpu_name(),
        threads: rayon::current_num_threads(),
        arithmetic: arithmetic.name(),
        results,
    };
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}

fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
}
