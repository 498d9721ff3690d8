//! Proving partitions of one circuit, through whatever was chosen.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::Instant;

use anyhow::anyhow;
use cuzk_cpu::CpuBackend;
use cuzk_fault::{Fault, injected};
use cuzk_filecoin::Statement;
use cuzk_filecoin::reference::ReferenceParameters;
use cuzk_gpu::CudaBackend;
use cuzk_groth16::{Backend, Blinding, Observer, Parameters, Proof, Session, Shape, Tuning};

use crate::failure::Failure;
use crate::progress::{Progress, Recorder, milliseconds};
use crate::report::{BackendReport, UsedDevice};
use crate::synthesis::{Synthesizer, WitnessCheck};

/// A way to prove the partitions of one circuit, also from several threads; parameters are loaded for the first of them.
pub(crate) trait Prover: Sync {
    /// The proof of a partition, and the time in ms that it took once the parameters were loaded. `around` hears of
    /// what is done once for all partitions.
    fn prove(
        &self,
        statement: &Statement,
        partition: usize,
        blinding: &Blinding,
        recorder: &Recorder<'_>,
        around: &Recorder<'_>,
    ) -> Result<(Proof, f64), Failure>;

    /// The memory that is taken on devices, in bytes, once something was proved there; of what nobody uses just now.
    fn device_memory_bytes(&self) -> Option<u64> {
        None
    }
}

/// The prover of a backend; `device_memory` is the most that it takes of a device's, in bytes.
pub(crate) fn prover(
    backend: &BackendReport,
    device_memory: Option<usize>,
    file: Arc<Parameters>,
    tuning: Tuning,
    check: WitnessCheck,
) -> Box<dyn Prover> {
    if backend.name == "reference" {
        return Box::new(ReferenceProver { file, loaded: Mutex::default() });
    }
    let cuda = |used: &UsedDevice| -> Box<dyn Backend + Send> {
        let is_shared = backend.devices.iter().filter(|other| other.number == used.number).count() > 1;
        // One alone looks for itself what is free.
        let memory_bytes =
            if is_shared { Some(backend.session_bytes(used, device_memory)) } else { device_memory };
        Box::new(CudaBackend { device: used.number, memory_bytes })
    };
    let backends = match &backend.devices[..] {
        [] => vec![Box::new(CpuBackend) as Box<dyn Backend + Send>],
        // The first is taken first.
        devices => devices.iter().rev().map(cuda).collect(),
    };
    let places = backends.into_iter().map(|backend| Place { backend, prepared: None }).collect();
    Box::new(BackendProver {
        file,
        tuning,
        check,
        synthesizer: OnceLock::new(),
        making: Mutex::default(),
        places: Pool::new(places),
    })
}

/// Proves partitions, so many at a time, and returns what comes of them in their order. After a failure no other is begun.
pub(crate) fn in_flight<T: Send>(
    at_a_time: usize,
    partitions: &[usize],
    prove: impl Fn(usize) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Vec<Mutex<Option<Result<T, Failure>>>> = partitions.iter().map(|_| Mutex::default()).collect();
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(&partition) = partitions.get(index) else { break };
            let proved = prove(partition);
            failed.fetch_or(proved.is_err(), Ordering::Relaxed);
            *done[index].lock().expect("no panic while held") = Some(proved);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..at_a_time.min(partitions.len()) {
            // Where no thread can be had, it takes longer.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    // Those that were not begun come after a failure.
    done.into_iter().filter_map(|proved| proved.into_inner().expect("no panic while held")).collect()
}

/// Through a backend of ours, on one device or several.
struct BackendProver {
    file: Arc<Parameters>,
    tuning: Tuning,
    check: WitnessCheck,
    synthesizer: OnceLock<Synthesizer>,
    /// Held while the synthesizer is made.
    making: Mutex<()>,
    places: Pool<Place>,
}

/// A processor or device, and its session for circuits of this shape once something was proved there.
struct Place {
    backend: Box<dyn Backend + Send>,
    prepared: Option<(Shape, Box<dyn Session>)>,
}

/// Things that one thread at a time uses: the one that was used last goes first.
struct Pool<T> {
    unused: Mutex<Vec<T>>,
    returned: Condvar,
}

/// One of a pool, which goes back there.
struct Taken<'a, T> {
    pool: &'a Pool<T>,
    item: Option<T>,
}

impl<T> Pool<T> {
    fn new(items: Vec<T>) -> Self {
        Pool { unused: Mutex::new(items), returned: Condvar::new() }
    }

    fn unused(&self) -> MutexGuard<'_, Vec<T>> {
        self.unused.lock().expect("no panic while held")
    }

    /// Waits for one that nobody uses.
    fn take(&self) -> Taken<'_, T> {
        let none = |unused: &mut Vec<T>| unused.is_empty();
        let mut unused = self.returned.wait_while(self.unused(), none).expect("no panic while held");
        Taken { pool: self, item: unused.pop() }
    }
}

impl<T> Taken<'_, T> {
    fn item(&mut self) -> &mut T {
        self.item.as_mut().expect("taken until it is dropped")
    }
}

impl<T> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        self.pool.unused().extend(self.item.take());
        self.pool.returned.notify_one();
    }
}

impl BackendProver {
    /// The synthesizer; the template is read or derived by the first who asks, while others wait.
    fn synthesizer(&self, statement: &Statement, progress: &Progress) -> Result<&Synthesizer, Failure> {
        let _only = self.making.lock().expect("no panic while held");
        match self.synthesizer.get() {
            Some(synthesizer) => Ok(synthesizer),
            None => {
                let new = Synthesizer::new(statement, &self.tuning, self.check, progress)?;
                Ok(self.synthesizer.get_or_init(|| new))
            }
        }
    }
}

/// Through unmodified bellperson.
struct ReferenceProver {
    file: Arc<Parameters>,
    loaded: Mutex<Option<ReferenceParameters>>,
}

impl Prover for ReferenceProver {
    fn prove(
        &self,
        statement: &Statement,
        partition: usize,
        blinding: &Blinding,
        recorder: &Recorder<'_>,
        around: &Recorder<'_>,
    ) -> Result<(Proof, f64), Failure> {
        let mut loaded = self.loaded.lock().expect("no panic while held");
        let parameters = match &mut *loaded {
            Some(parameters) => parameters,
            none => {
                let parameters = ReferenceParameters::open(self.file.path(), around)?;
                self.file.check_unchanged()?;
                none.insert(parameters)
            }
        };
        let proved = statement.prove_by_reference(partition, parameters, blinding)?;
        if recorder.wants_digests() {
            let in_steps = statement.digests_by_reference(partition, parameters, blinding, recorder)?;
            if in_steps != proved.proof {
                let message = anyhow!("upstream's prover and its public pieces give different proofs");
                return Err(Failure::not_verified("reference_disagrees", message));
            }
        }
        Ok((proved.proof, milliseconds(proved.elapsed)))
    }
}

impl Prover for BackendProver {
    fn prove(
        &self,
        statement: &Statement,
        partition: usize,
        blinding: &Blinding,
        recorder: &Recorder<'_>,
        around: &Recorder<'_>,
    ) -> Result<(Proof, f64), Failure> {
        let synthesizer = self.synthesizer(statement, around.progress())?;
        let start = Instant::now();
        let partition = if injected(Fault::WitnessRepeated) { 0 } else { partition };
        let synthesized = synthesizer.synthesize(statement, &[partition], recorder)?;
        let synthesized = synthesized.into_iter().next().expect("one of one partition");
        let synthesis_time = start.elapsed();
        // Others may be synthesized or verified while this one waits or is proved.
        let mut place = self.places.take();
        let Place { backend, prepared } = place.item();
        let (shape, session) = match prepared {
            Some(prepared) => prepared,
            none => {
                let shape = synthesized.shape()?;
                let template = synthesizer.template();
                let session = backend.prepare(&shape, template, &self.file, &self.tuning, around)?;
                self.file.check_unchanged()?;
                none.insert((shape, session))
            }
        };
        let witness = synthesizer.to_recycle(&synthesized);
        let work = synthesized.into_work(shape)?;
        let start = Instant::now();
        let proof = session.prove(work, blinding, recorder)?;
        let proving_time = start.elapsed();
        drop(place);
        witness.into_iter().for_each(|witness| synthesizer.recycle(witness));
        Ok((proof, milliseconds(synthesis_time + proving_time)))
    }

    fn device_memory_bytes(&self) -> Option<u64> {
        let places = self.places.unused();
        let bytes =
            |place: &Place| place.prepared.as_ref().and_then(|(_, session)| session.device_memory_bytes());
        places.iter().filter_map(bytes).reduce(|sum, bytes| sum + bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_a_pool_is_used_by_one_at_a_time_and_the_last_used_first() {
        let pool = Pool::new(vec![AtomicUsize::new(0), AtomicUsize::new(0)]);
        let numbers: Vec<usize> = (0..40).collect();
        let used = in_flight(8, &numbers, |_| {
            let mut taken = pool.take();
            let item = taken.item();
            assert_eq!(item.fetch_add(1, Ordering::SeqCst) % 2, 0, "nobody else has it");
            std::thread::sleep(std::time::Duration::from_millis(1));
            item.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        assert_eq!(used.unwrap().len(), 40);
        let counts: Vec<usize> = pool.unused().iter().map(|item| item.load(Ordering::SeqCst)).collect();
        assert_eq!(counts.iter().sum::<usize>(), 80);
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");

        // A thread alone has the same again and again.
        let pool = Pool::new(vec![0, 0]);
        (0..5).for_each(|_| *pool.take().item() += 1);
        assert_eq!(*pool.unused(), [0, 5]);
    }

    #[test]
    fn partitions_in_flight_come_in_their_order_and_none_is_begun_after_a_failure() {
        let partitions: Vec<usize> = (10..30).collect();
        for at_a_time in [1, 2, 7, 100] {
            let begun = AtomicUsize::new(0);
            let slow = |partition: usize| {
                begun.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(std::time::Duration::from_millis((partition % 3) as u64));
                Ok(2 * partition)
            };
            let doubled: Vec<usize> = partitions.iter().map(|partition| 2 * partition).collect();
            assert_eq!(in_flight(at_a_time, &partitions, slow).unwrap(), doubled);
            assert_eq!(begun.into_inner(), 20);

            let begun = AtomicUsize::new(0);
            let failing = |partition: usize| {
                begun.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(std::time::Duration::from_millis(1));
                if partition < 12 {
                    Ok(())
                } else {
                    Err(Failure::environment("device", anyhow!("{partition}")))
                }
            };
            let failure = in_flight(at_a_time, &partitions, failing).unwrap_err();
            assert_eq!(failure.error.to_string(), "12", "the first that failed");
            assert!(begun.into_inner() <= 2 + at_a_time);
        }
        assert_eq!(in_flight(2, &[], Ok).unwrap(), Vec::<usize>::new());
    }
}
