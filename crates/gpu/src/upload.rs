//! From host to device memory: axis `pin`.

use std::sync::Arc;

use cudarc::driver::{
    CudaEvent, CudaSlice, CudaStream, CudaViewMut, DevicePtrMut, PinnedHostSlice, result, sys,
};
use cuzk_fault::{Fault, injected};
use cuzk_groth16::{Error, Pin};
use rayon::prelude::*;

use crate::device::Device;

/// Words of a staging buffer: 16 MiB. Reasoned: a copy of a third of a millisecond, long beside a launch.
const STAGE_WORDS: usize = 2 << 20;
/// Words that a thread copies to a staging buffer at a time.
const COPY_WORDS: usize = 1 << 17;

/// Copies host memory to the device as axis `pin` says, on a stream of its own, beside the work on the device's.
pub(crate) struct Uploader {
    pin: Pin,
    stream: Arc<CudaStream>,
    /// With `staged`: two buffers that take turns, and when what was last in them has arrived.
    stages: Vec<(PinnedHostSlice<u64>, Option<CudaEvent>)>,
}

impl Uploader {
    pub(crate) fn new(device: &Device, pin: Pin) -> Result<Self, Error> {
        let n_stages = if pin == Pin::Staged { 2 } else { 0 };
        let stages =
            (0..n_stages).map(|_| Ok((device.pinned(STAGE_WORDS)?, None))).collect::<Result<_, Error>>()?;
        Ok(Uploader { pin, stream: device.new_stream()?, stages })
    }

    /// Happens when all that was copied so far has arrived: what reads it must wait for that.
    pub(crate) fn arrival(&self, device: &Device) -> Result<CudaEvent, Error> {
        device.event_on(&self.stream)
    }

    /// Copies `words` to the beginning of `to`, which no work that was submitted may use any more. The words may be dropped
    /// afterwards.
    pub(crate) fn copy(
        &mut self,
        device: &Device,
        to: &mut CudaViewMut<'_, u64>,
        words: &[u64],
    ) -> Result<(), Error> {
        assert!(words.len() <= to.len(), "{} words to a place for {}", words.len(), to.len());
        if words.is_empty() {
            return Ok(());
        }
        let mut flipped = vec![];
        let words = match injected(Fault::UploadBit) {
            true => {
                flipped.extend_from_slice(words);
                flipped[0] ^= 1;
                &flipped[..]
            }
            false => words,
        };
        match self.pin {
            Pin::None => {
                let mut to = to.slice_mut(..words.len());
                // The driver has taken pageable memory over when it returns.
                self.stream.memcpy_htod(words, &mut to).map_err(device.error("cuMemcpyHtoDAsync"))
            }
            Pin::Register => copy_registered(device, &self.stream, to, words),
            Pin::Staged => self.copy_staged(device, to, words),
        }
    }

    fn copy_staged(
        &mut self,
        device: &Device,
        to: &mut CudaViewMut<'_, u64>,
        words: &[u64],
    ) -> Result<(), Error> {
        for (index, piece) in words.chunks(STAGE_WORDS).enumerate() {
            let (stage, arrived) = &mut self.stages[index % 2];
            if let Some(event) = arrived.take() {
                event.synchronize().map_err(device.error("cuEventSynchronize"))?;
            }
            let stage = &mut stage.as_mut_slice().map_err(device.error("cuEventSynchronize"))?[..piece.len()];
            stage
                .par_chunks_mut(COPY_WORDS)
                .zip(piece.par_chunks(COPY_WORDS))
                .for_each(|(stage, piece)| stage.copy_from_slice(piece));
            let start = index * STAGE_WORDS;
            let mut to = to.slice_mut(start..start + piece.len());
            // SAFETY: the stage is neither written nor dropped before the event below has happened: `take` above and the
            // `Drop` below wait for it; the destination is as long as the piece.
            let submitted = unsafe { copy_async(device, &self.stream, &mut to, stage) };
            *arrived = match submitted.and_then(|()| device.event_on(&self.stream)) {
                Ok(event) => Some(event),
                Err(error) => {
                    // A copy that failed has ended, too.
                    let _ = self.stream.synchronize();
                    return Err(error);
                }
            };
        }
        Ok(())
    }
}

impl Drop for Uploader {
    fn drop(&mut self) {
        // What is copied from and to must outlive the copies. One that failed has ended, too.
        let _ = self.stream.synchronize();
    }
}

/// Pins the words where they are for the time of the copy, which is waited for.
fn copy_registered(
    device: &Device,
    stream: &CudaStream,
    to: &mut CudaViewMut<'_, u64>,
    words: &[u64],
) -> Result<(), Error> {
    let address = words.as_ptr().cast_mut().cast();
    device.bind()?;
    // SAFETY: the range is the borrowed slice's, which is only read, and is registered until the end of this function.
    unsafe { sys::cuMemHostRegister_v2(address, size_of_val(words), 0) }
        .result()
        .map_err(device.error("cuMemHostRegister"))?;
    // SAFETY: the slice outlives the copy, which is waited for.
    let copied = unsafe { copy_async(device, stream, to, words) }
        .and_then(|()| stream.synchronize().map_err(device.error("cuStreamSynchronize")));
    // SAFETY: registered above, and no copy from it is under way: it was waited for, or was never submitted.
    let released = unsafe { sys::cuMemHostUnregister(address) }.result();
    copied.and(released.map_err(device.error("cuMemHostUnregister")))
}

/// # Safety
///
/// `words` must stay as they are until the stream has done the copy, and `to` must be at least as long.
unsafe fn copy_async(
    device: &Device,
    stream: &CudaStream,
    to: &mut CudaViewMut<'_, u64>,
    words: &[u64],
) -> Result<(), Error> {
    // A thread of a pool may have worked for another device meanwhile.
    device.bind()?;
    let (address, _guard) = to.device_ptr_mut(stream);
    // SAFETY: by the contract of this function.
    unsafe { result::memcpy_htod_async(address, words, stream.cu_stream()) }
        .map_err(device.error("cuMemcpyHtoDAsync"))
}

/// The points of a query: on the device, or in host memory and brought over in chunks.
pub(crate) enum Points {
    /// All of them.
    Resident(CudaSlice<u64>),
    /// Some at a time.
    Streamed {
        /// Their words.
        words: Vec<u64>,
        /// Their number.
        n: usize,
        /// How many are brought over at a time.
        chunk: usize,
    },
}
