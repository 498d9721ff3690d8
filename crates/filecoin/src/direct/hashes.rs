//! Poseidon of every arity, of many inputs at once: level by level over all paths that are at hand, equal inputs once, eight at a time
//! where the processor can.

use blstrs::Scalar as Fr;
use cuzk_field::{Engine, fr::words};
use cuzk_r1cs::{Error, Writer};
use ff::Field;
use filecoin_hashers::{POSEIDON_CONSTANTS_2, POSEIDON_CONSTANTS_8, POSEIDON_CONSTANTS_11};
use rayon::prelude::*;

use super::eight::{Eight, Permutations};
use super::path::Step;
use super::poseidon::{Poseidon, poseidon};

/// Poseidon of the arities that Filecoin has.
pub(crate) struct Hashes {
    pub(super) two: Hash<3>,
    pub(super) eight: Hash<9>,
    pub(super) eleven: Hash<12>,
}

/// Poseidon of one arity, T − 1, one at a time and maybe eight at a time.
pub(super) struct Hash<const T: usize> {
    pub(super) one: Poseidon<T>,
    eight: Option<(Engine, Eight<T>)>,
}

/// Hashes that wait for each other: a path through a tree over Poseidon, maybe after the hash of a column.
pub(crate) struct Chain<'a> {
    pub(super) start: Start<'a>,
    pub(super) steps: Vec<Step<'a>>,
}

/// What a chain begins with.
pub(super) enum Start<'a> {
    Leaf(Fr),
    /// The hash of these, which goes to this place.
    Hash(Box<Inputs>, &'a mut [Fr]),
}

/// What is hashed.
pub(super) enum Inputs {
    Two([Fr; 2]),
    Eight([Fr; 8]),
    Eleven([Fr; 11]),
}

/// A hash of N inputs that a chain waits for.
struct Job<'a, const N: usize> {
    inputs: [Fr; N],
    place: &'a mut [Fr],
    chain: usize,
}

/// Hashes that wait for nothing.
#[derive(Default)]
struct Jobs<'a> {
    two: Vec<Job<'a, 2>>,
    eight: Vec<Job<'a, 8>>,
    eleven: Vec<Job<'a, 11>>,
}

impl Hashes {
    /// Eight at a time by an engine, if there is one.
    pub(crate) fn new(engine: Option<Engine>) -> Self {
        // The first time neptune computes its constants, for tens of milliseconds.
        let (eleven, (eight, two)) = rayon::join(
            || Hash::new(poseidon!(POSEIDON_CONSTANTS_11), engine),
            || {
                rayon::join(
                    || Hash::new(poseidon!(POSEIDON_CONSTANTS_8), engine),
                    || Hash::new(poseidon!(POSEIDON_CONSTANTS_2), engine),
                )
            },
        );
        Hashes { two, eight, eleven }
    }

    /// How many scalars a hash of so many inputs writes.
    pub(super) fn n_scalars(&self, arity: usize) -> usize {
        match arity {
            2 => self.two.one.n_scalars(),
            8 => self.eight.one.n_scalars(),
            11 => self.eleven.one.n_scalars(),
            _ => unreachable!("no hash of {arity}"),
        }
    }

    /// Leaves the hash of a column, of two rows or eleven, to be computed.
    pub(super) fn column<'a>(&self, rows: &[Fr], out: &mut Writer<'a>) -> Result<Start<'a>, Error> {
        let inputs = match rows.try_into() {
            Ok(rows) => Inputs::Eleven(rows),
            Err(_) => Inputs::Two(rows.try_into().expect("two layers or eleven")),
        };
        Ok(Start::Hash(Box::new(inputs), out.scalars(self.n_scalars(rows.len()))?))
    }

    /// Fills the places of all chains, on all threads of the current rayon pool.
    pub(crate) fn complete(&self, chains: Vec<Chain<'_>>) {
        let mut nodes = vec![Fr::ZERO; chains.len()];
        let mut first = Jobs::default();
        let mut paths = Vec::with_capacity(chains.len());
        for (chain, Chain { start, steps }) in chains.into_iter().enumerate() {
            match start {
                Start::Leaf(leaf) => nodes[chain] = leaf,
                Start::Hash(inputs, place) => first.push(*inputs, place, chain),
            }
            paths.push(steps.into_iter());
        }
        self.run(first, &mut nodes);
        loop {
            let mut level = Jobs::default();
            for (chain, path) in paths.iter_mut().enumerate() {
                if let Some(step) = path.next() {
                    let (inputs, place) = step.select(nodes[chain]);
                    level.push(inputs, place, chain);
                }
            }
            if level.is_empty() {
                return;
            }
            self.run(level, &mut nodes);
        }
    }

    fn run(&self, jobs: Jobs<'_>, nodes: &mut [Fr]) {
        self.two.run(jobs.two, nodes);
        self.eight.run(jobs.eight, nodes);
        self.eleven.run(jobs.eleven, nodes);
    }
}

impl<'a> Jobs<'a> {
    fn push(&mut self, inputs: Inputs, place: &'a mut [Fr], chain: usize) {
        match inputs {
            Inputs::Two(inputs) => self.two.push(Job { inputs, place, chain }),
            Inputs::Eight(inputs) => self.eight.push(Job { inputs, place, chain }),
            Inputs::Eleven(inputs) => self.eleven.push(Job { inputs, place, chain }),
        }
    }

    fn is_empty(&self) -> bool {
        self.two.is_empty() && self.eight.is_empty() && self.eleven.is_empty()
    }
}

impl<const T: usize> Hash<T> {
    pub(super) fn new(one: Poseidon<T>, engine: Option<Engine>) -> Self {
        let eight = engine.map(|engine| (engine, Eight::new(&one)));
        Hash { one, eight }
    }

    /// Fills the places of all jobs and sets the nodes of their chains.
    fn run<const N: usize>(&self, mut jobs: Vec<Job<'_, N>>, nodes: &mut [Fr]) {
        // Paths through one tree meet: equal inputs become neighbours.
        jobs.sort_unstable_by(|a, b| a.inputs.iter().map(words).cmp(b.inputs.iter().map(words)));
        let mut equal: Vec<&mut [Job<'_, N>]> = jobs.chunk_by_mut(|a, b| a.inputs == b.inputs).collect();
        equal.par_chunks_mut(8).for_each(|jobs| self.fill(jobs));
        for job in &jobs {
            nodes[job.chain] = *job.place.last().expect("a hash writes its result last");
        }
    }

    /// Hashes the inputs of the first of each, and copies what it writes to the places of the others.
    fn fill<const N: usize>(&self, equal: &mut [&mut [Job<'_, N>]]) {
        match &self.eight {
            Some((engine, constants)) => {
                // Lanes without a job repeat the first one, into a place of their own.
                let mut idle: Vec<Vec<Fr>> = vec![vec![Fr::ZERO; self.one.n_scalars()]; 8 - equal.len()];
                let mut firsts = equal.iter_mut().map(|jobs| &mut jobs[0]);
                let first = firsts.next().expect("chunks are not empty");
                let inputs = first.inputs;
                let mut lanes = firsts.map(|job| (&job.inputs, &mut *job.place));
                let mut idle = idle.iter_mut().map(|place| (&inputs, &mut place[..]));
                let mut all = [const { None }; 8];
                all[0] = Some((&inputs, &mut *first.place));
                all[1..].fill_with(|| lanes.next().or_else(|| idle.next()));
                let lanes = all.map(|lane| lane.expect("eight lanes"));
                let inputs = lanes.each_ref().map(|(inputs, _)| *inputs);
                let places = lanes.map(|(_, place)| place);
                engine.run(Permutations { constants, inputs, places });
            }
            None => equal.iter_mut().for_each(|jobs| {
                self.one.hash(&jobs[0].inputs, jobs[0].place);
            }),
        }
        for jobs in equal {
            let (first, others) = jobs.split_first_mut().expect("chunks are not empty");
            others.iter_mut().for_each(|job| job.place.copy_from_slice(first.place));
        }
    }
}
