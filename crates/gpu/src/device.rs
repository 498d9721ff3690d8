//! Devices: which there are, and one with its stream and kernels.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError,
    LaunchConfig, PinnedHostSlice, ValidAsZeroBits, result, sys,
};
use cudarc::nvrtc::Ptx;
use cuzk_groth16::{Error, Observer, Phase};

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

/// Whether this build has kernels, that is, whether there was an nvcc.
pub fn has_kernels() -> bool {
    embedded::KERNELS.is_some()
}

/// What the embedded kernels were compiled with and for.
#[derive(Clone, Copy, Debug)]
pub struct Kernels {
    /// nvcc's release: `13.0.88`.
    pub cuda: &'static str,
    /// Compute capabilities: 90 for 9.0. There is PTX for the last one.
    pub architectures: &'static [u32],
}

/// The kernels of this build, if it has some.
pub fn kernels() -> Option<Kernels> {
    has_kernels().then_some(Kernels { cuda: embedded::CUDA, architectures: embedded::ARCHITECTURES })
}

/// A device of this machine.
#[derive(Clone, Debug)]
pub struct DeviceReport {
    /// Its number.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Major and minor compute capability.
    pub compute_capability: (u32, u32),
    /// Its memory in bytes.
    pub memory_bytes: usize,
    /// Why it can't be used, where that can be told without opening it.
    pub skipped: Option<String>,
}

impl DeviceReport {
    /// Its number and name.
    pub fn label(&self) -> String {
        format!("device {} ({})", self.index, self.name)
    }
}

/// The devices of this machine, or why there are none at all. None is opened.
pub fn devices() -> Result<Vec<DeviceReport>, Error> {
    let missing = |reason: String| Error::DeviceMissing { reason };
    if !has_kernels() {
        let reason = "this program was built without nvcc and has no kernels; build it again with CUZK_NVCC set to the \
                      path of nvcc";
        return Err(missing(reason.to_owned()));
    }
    // SAFETY: asks the loader for the driver's library and runs its initializers, as any use of it does.
    if !unsafe { sys::is_culib_present() } {
        return Err(missing(
            "no CUDA driver: libcuda.so.1 is not in the loader's path (a build by Nix looks in /run/opengl-driver/lib)".to_owned(),
        ));
    }
    check_driver().map_err(missing)?;
    let driver_says = |error: DriverError| missing(format!("the CUDA driver says: {error}"));
    result::init().map_err(driver_says)?;
    let count = result::device::get_count().map_err(driver_says)?;
    if count == 0 {
        return Err(missing("the CUDA driver sees no device".to_owned()));
    }
    Ok((0..count).map(describe).collect())
}

fn describe(ordinal: i32) -> DeviceReport {
    let index = ordinal as usize;
    let describe = || {
        let device = result::device::get(ordinal)?;
        // SAFETY: a device that the driver has just given.
        let attribute = |attribute| unsafe { result::device::get_attribute(device, attribute) };
        use sys::CUdevice_attribute as Attribute;
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u32;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u32;
        let mode = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)?;
        let skipped = if mode == sys::CUcomputemode::CU_COMPUTEMODE_PROHIBITED as i32 {
            Some("its compute mode is `prohibited`; `nvidia-smi -c 0` mends that".to_owned())
        } else {
            no_kernels_for((major, minor), embedded::ARCHITECTURES)
        };
        Ok::<_, DriverError>(DeviceReport {
            index,
            name: result::device::get_name(device)?,
            compute_capability: (major, minor),
            // SAFETY: as above.
            memory_bytes: unsafe { result::device::total_mem(device) }?,
            skipped,
        })
    };
    describe().unwrap_or_else(|error| DeviceReport {
        index,
        name: "unknown".to_owned(),
        compute_capability: (0, 0),
        memory_bytes: 0,
        skipped: Some(format!("the CUDA driver says: {error}")),
    })
}

/// Why a device can't run kernels for these architectures, which ascend: it takes code for its major version and a minor one that
/// is not above its own, or whatever is older than PTX, which there is for the newest.
fn no_kernels_for((major, minor): (u32, u32), architectures: &[u32]) -> Option<String> {
    let newest = architectures.last().copied().unwrap_or(0);
    let own = |architecture: &u32| architecture / 10 == major && architecture % 10 <= minor;
    if architectures.iter().any(own) || 10 * major + minor >= newest {
        return None;
    }
    let dotted = |architecture: &u32| format!("{}.{}", architecture / 10, architecture % 10);
    let known: Vec<String> = architectures.iter().map(dotted).collect();
    Some(format!(
        "its compute capability is {major}.{minor}, and this program has kernels for {} and newer than the last",
        known.join(", ")
    ))
}

/// The oldest driver with all functions that are called: that of CUDA 12.8, as 1000·major + 10·minor.
const OLDEST_DRIVER: i32 = 12_080;

fn check_driver() -> Result<(), String> {
    let (major, minor) = asked_version()?;
    match 1000 * major + 10 * minor < OLDEST_DRIVER {
        true => Err(format!("the CUDA driver is that of CUDA {major}.{minor}; 12.8 or newer is needed")),
        false => Ok(()),
    }
}

/// The release of CUDA that the driver is of, as major and minor number. The driver must be there.
fn asked_version() -> Result<(i32, i32), String> {
    let mut version = 0;
    // SAFETY: writes one integer; every driver has the function.
    let asked = unsafe { sys::cuDriverGetVersion(&mut version) }.result();
    asked.map_err(|error| format!("the CUDA driver does not tell its version: {error}"))?;
    Ok((version / 1000, version % 1000 / 10))
}

/// The release of CUDA that the driver is of; `None` where there is no driver.
pub fn driver_release() -> Option<String> {
    // SAFETY: as in `devices`.
    if !unsafe { sys::is_culib_present() } {
        return None;
    }
    asked_version().ok().map(|(major, minor)| format!("{major}.{minor}"))
}

/// Whether the kernels load on a device; its free memory in bytes.
pub fn check(index: usize) -> Result<usize, Error> {
    Ok(Device::open(index)?.memory()?.0)
}

/// A device with the stream of all its work but uploads, and all kernels.
pub(crate) struct Device {
    index: usize,
    name: String,
    pub(crate) stream: Arc<CudaStream>,
    context: Arc<CudaContext>,
    kernels: HashMap<&'static str, CudaFunction>,
    pub(crate) n_multiprocessors: u32,
}

/// Dynamic shared memory that kernels may use: 64 KiB for a tile of a transform. All architectures that we build for
/// have 99 KiB.
const SHARED_BYTES: i32 = 96 << 10;

const NAMES: [(&str, &[&str]); 4] = [
    (
        "ntt",
        &[
            "cuzk_ntt_twiddles",
            "cuzk_ntt_down",
            "cuzk_ntt_up",
            "cuzk_hadamard",
            "cuzk_difference",
            "cuzk_clear",
        ],
    ),
    ("r1cs", &["cuzk_unpack", "cuzk_evaluate"]),
    ("fixed_base", &["cuzk_fixed_references", "cuzk_fixed_encode_g1", "cuzk_fixed_encode_g2"]),
    (
        "msm",
        &[
            "cuzk_msm_classify",
            "cuzk_msm_digits",
            "cuzk_msm_scan_bins",
            "cuzk_msm_fill_bins",
            "cuzk_msm_sort_bins",
            "cuzk_msm_count_parts",
            "cuzk_msm_scan_parts",
            "cuzk_msm_place_parts",
            "cuzk_msm_add_groups_g1",
            "cuzk_msm_sum_parts_g1",
            "cuzk_msm_join_parts_g1",
            "cuzk_msm_weigh_g1",
            "cuzk_msm_finish_g1",
            "cuzk_msm_add_groups_g2",
            "cuzk_msm_sum_parts_g2",
            "cuzk_msm_join_parts_g2",
            "cuzk_msm_weigh_g2",
            "cuzk_msm_finish_g2",
        ],
    ),
];

impl Device {
    /// Opens device `index`, which loads the kernels.
    pub(crate) fn open(index: usize) -> Result<Self, Error> {
        let report = devices()?;
        let Some(report) = report.get(index) else {
            let reason = format!("no device {index}; there are {} (0 is the first)", report.len());
            return Err(Error::DeviceMissing { reason });
        };
        let name = report.label();
        if let Some(reason) = &report.skipped {
            return Err(Error::DeviceMissing { reason: format!("{name}: {reason}") });
        }
        let fail = |call| move |error| device_error(&name, call, error);
        let fail = |call: &'static str| {
            let fail = fail.clone();
            fail(call)
        };
        let context = CudaContext::new(index).map_err(fail("cuDevicePrimaryCtxRetain"))?;
        // SAFETY: all slices of this context are used on the one stream below, but for those that `Uploader` writes: its callers
        // wait for the stream before, and have the stream wait for `Uploader::arrival` after; it waits for its copies when it is
        // dropped, before they are freed.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(fail("cuStreamCreate"))?;
        let mut kernels = HashMap::new();
        for (module, binary) in embedded::KERNELS.expect("devices() says when there are none") {
            let loaded =
                context.load_module(Ptx::from_binary(binary.to_vec())).map_err(fail("cuModuleLoadData"))?;
            let (_, names) = NAMES.iter().find(|(name, _)| *name == module).expect("every binary is listed");
            for name in *names {
                let function = loaded.load_function(name).map_err(fail("cuModuleGetFunction"))?;
                let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                function.set_attribute(attribute, SHARED_BYTES).map_err(fail("cuFuncSetAttribute"))?;
                kernels.insert(*name, function);
            }
        }
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let n_multiprocessors = context.attribute(attribute).map_err(fail("cuDeviceGetAttribute"))? as u32;
        let name = report.label();
        let device = Device { index, name, stream, context, kernels, n_multiprocessors };
        device.bind()?;
        Ok(device)
    }

    pub(crate) fn kernel(&self, name: &'static str) -> &CudaFunction {
        self.kernels.get(name).unwrap_or_else(|| panic!("no kernel {name}"))
    }

    /// An error of the driver, told with the call and the device.
    pub(crate) fn error(&self, call: &'static str) -> impl Fn(DriverError) -> Error + '_ {
        move |error| device_error(&self.name, call, error)
    }

    /// Memory for `n` values, not initialized.
    pub(crate) fn allocate<T: DeviceRepr>(&self, n: usize) -> Result<CudaSlice<T>, Error> {
        // SAFETY: the values are integers, of which any are valid; kernels write what others read.
        unsafe { self.stream.alloc(n.max(1)) }.map_err(self.error("cuMemAlloc"))
    }

    /// Memory with values of the host's.
    pub(crate) fn upload<T: DeviceRepr>(&self, values: &[T]) -> Result<CudaSlice<T>, Error> {
        let mut slice = self.allocate(values.len())?;
        if !values.is_empty() {
            self.stream.memcpy_htod(values, &mut slice).map_err(self.error("cuMemcpyHtoD"))?;
        }
        Ok(slice)
    }

    pub(crate) fn clear<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        slice: &mut CudaSlice<T>,
    ) -> Result<(), Error> {
        self.stream.memset_zeros(slice).map_err(self.error("cuMemset"))
    }

    /// Free and total memory in bytes.
    pub(crate) fn memory(&self) -> Result<(usize, usize), Error> {
        self.context.mem_get_info().map_err(self.error("cuMemGetInfo"))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        self.stream.synchronize().map_err(self.error("cuStreamSynchronize"))
    }

    /// Makes this device's context that of the thread, for calls of the driver that are made directly.
    pub(crate) fn bind(&self) -> Result<(), Error> {
        self.context.bind_to_thread().map_err(self.error("cuCtxSetCurrent"))?;
        let mut current = -1;
        // SAFETY: writes one integer.
        unsafe { sys::cuCtxGetDevice(&mut current) }.result().map_err(self.error("cuCtxGetDevice"))?;
        assert_eq!(usize::try_from(current), Ok(self.index), "a context of another device");
        Ok(())
    }

    /// Pinned host memory.
    pub(crate) fn pinned(&self, n_words: usize) -> Result<PinnedHostSlice<u64>, Error> {
        const NO_FLAGS: u32 = 0;
        // SAFETY: integers, of which any values are valid; whoever reads them has written them.
        unsafe { self.context.alloc_pinned_with_flags(n_words, NO_FLAGS) }
            .map_err(self.error("cuMemHostAlloc"))
    }

    /// Another stream, whose order with the first one is the caller's business.
    pub(crate) fn new_stream(&self) -> Result<Arc<CudaStream>, Error> {
        self.context.new_stream().map_err(self.error("cuStreamCreate"))
    }

    /// Happens when the stream has done what was submitted so far.
    pub(crate) fn event(&self) -> Result<CudaEvent, Error> {
        self.event_on(&self.stream)
    }

    pub(crate) fn event_on(&self, stream: &CudaStream) -> Result<CudaEvent, Error> {
        stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(self.error("cuEventRecord"))
    }

    /// Work that is submitted from here on starts after the event.
    pub(crate) fn wait(&self, event: &CudaEvent) -> Result<(), Error> {
        self.stream.wait(event).map_err(self.error("cuStreamWaitEvent"))
    }

    /// Where a slice is on the device.
    pub(crate) fn address<T>(&self, slice: &CudaSlice<T>) -> u64 {
        DevicePtr::device_ptr(slice, &self.stream).0
    }
}

fn device_error(device: &str, call: &'static str, error: DriverError) -> Error {
    Error::Device { device: device.to_owned(), call, problem: error.to_string() }
}

/// `n` threads in blocks of `block`.
pub(crate) fn grid(n: usize, block: u32) -> LaunchConfig {
    blocks(n.div_ceil(block as usize).max(1), block, 0)
}

/// So many blocks of `block` threads with `shared` bytes of dynamic shared memory.
pub(crate) fn blocks(n: usize, block: u32, shared: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (u32::try_from(n).expect("fewer than 2^32 blocks"), 1, 1),
        block_dim: (block, 1, 1),
        shared_mem_bytes: u32::try_from(shared).expect("less than 4 GiB"),
    }
}

/// Launches a kernel with arguments in its order.
macro_rules! launch {
    ($device:expr, $name:literal, $config:expr, $($argument:expr),+ $(,)?) => {{
        let mut launch = $device.stream.launch_builder($device.kernel($name));
        $(cudarc::driver::PushKernelArg::arg(&mut launch, $argument);)+
        // SAFETY: the arguments are those of the kernel in `cuda/`, in number, order and type; each caller's comment
        // on lengths tells why the kernel stays within them.
        unsafe { launch.launch($config) }.map(|_| ()).map_err($device.error(concat!("cuLaunchKernel ", $name)))
    }};
}
pub(crate) use launch;

/// Phases of work on the stream, timed by events on it, and of uploads beside it.
pub(crate) struct Timeline<'a> {
    device: &'a Device,
    observer: &'a dyn Observer,
    /// One moment on both clocks.
    start: (Instant, CudaEvent),
    marks: Vec<(Phase, CudaEvent, CudaEvent)>,
}

impl<'a> Timeline<'a> {
    /// With the stream at rest.
    pub(crate) fn new(device: &'a Device, observer: &'a dyn Observer) -> Result<Self, Error> {
        let event = device.event()?;
        event.synchronize().map_err(device.error("cuEventSynchronize"))?;
        Ok(Timeline { device, observer, start: (Instant::now(), event), marks: vec![] })
    }

    /// Submits `work` as a phase.
    pub(crate) fn phase<T>(
        &mut self,
        phase: Phase,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let start = self.device.event()?;
        let result = work()?;
        self.marks.push((phase, start, self.device.event()?));
        Ok(result)
    }

    /// Adds what ran beside the stream.
    pub(crate) fn add(&mut self, phase: Phase, spans: Vec<(CudaEvent, CudaEvent)>) {
        self.marks.extend(spans.into_iter().map(|(start, end)| (phase, start, end)));
    }

    /// Waits for all of it and tells the observer.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let (host_start, device_start) = self.start;
        let between = |start: &CudaEvent, end: &CudaEvent| {
            let elapsed_ms = start.elapsed_ms(end).map_err(self.device.error("cuEventElapsedTime"))?;
            Ok::<_, Error>(Duration::from_secs_f64(f64::from(elapsed_ms.max(0.0)) / 1e3))
        };
        for (phase, start, end) in &self.marks {
            let begun = host_start + between(&device_start, start)?;
            self.observer.on_device(*phase, begun, between(start, end)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn devices_without_kernels_are_told_why() {
        const RELEASE: &[u32] = &[80, 86, 89, 90, 100, 120];
        let runs = |major, minor, architectures| no_kernels_for((major, minor), architectures).is_none();
        let mut cards =
            [(8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (12, 0), (12, 1), (13, 0)].iter();
        assert!(cards.all(|&(major, minor)| runs(major, minor, RELEASE)));
        let reason = no_kernels_for((7, 5), RELEASE).unwrap();
        assert!(reason.contains("7.5") && reason.contains("8.0, 8.6, 8.9, 9.0, 10.0, 12.0"), "{reason}");
        // Code for 8.6 does not run on 8.0, and that for 9.0 not on 10.0, which PTX does.
        assert!(!runs(8, 0, &[86, 90]) && runs(10, 0, &[86, 90]) && !runs(11, 0, RELEASE));
    }

    #[test]
    fn every_kernel_is_loaded() {
        let messages = include_str!(concat!(env!("OUT_DIR"), "/resources.txt"));
        let compiled: BTreeSet<&str> = messages
            .lines()
            .filter_map(|line| line.split_once("Compiling entry function '")?.1.split('\'').next())
            .collect();
        let loaded: BTreeSet<&str> = NAMES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert!(!has_kernels() || compiled == loaded, "{:?}", compiled.symmetric_difference(&loaded));
    }
}
