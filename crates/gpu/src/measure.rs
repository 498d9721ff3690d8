//! Single steps of a proof on resident data, for benchmarks and comparisons.

use blstrs::{G1Affine, G1Projective, Scalar as Fr};
use cudarc::driver::CudaSlice;
use cuzk_groth16::{Accumulation, Domain, Error};
use ff::Field;

use crate::device::Device;
use crate::layout::{FR_WORDS, values_of, words_of};
use crate::msm::{Capacity, GROUPS_AT_A_TIME, Memory, Method, Order, Scalars};
use crate::ntt::Transforms;

/// A multi-scalar sum in G1 whose bases and scalars are on the device.
pub struct ResidentSum {
    device: Device,
    bases: CudaSlice<u64>,
    scalars: CudaSlice<u64>,
    memory: Memory,
    n: usize,
}

impl ResidentSum {
    /// Uploads both, which must be as many.
    pub fn new(
        device: usize,
        bases: &[G1Affine],
        scalars: &[Fr],
        accumulation: Accumulation,
    ) -> Result<Self, Error> {
        assert_eq!(bases.len(), scalars.len(), "a scalar a base");
        let device = Device::open(device)?;
        let method = Method { accumulation, like: None, groups_at_a_time: GROUPS_AT_A_TIME[0] };
        let capacity = Capacity::for_terms::<G1Projective>(&device, bases.len(), &method);
        let resident = ResidentSum {
            bases: device.upload(words_of(bases))?,
            scalars: device.upload(words_of(scalars))?,
            memory: Memory::new(&device, &capacity, &method)?,
            n: bases.len(),
            device,
        };
        resident.device.synchronize()?;
        Ok(resident)
    }

    /// The sum, in host memory.
    pub fn sum(&mut self) -> Result<G1Projective, Error> {
        let scalars = Scalars { w: self.scalars.as_view(), order: Order::Same };
        let Self { device, memory, .. } = self;
        let plan = memory.plan::<G1Projective>(device, &scalars, 0..self.n, None)?;
        memory.submit::<G1Projective>(device, &self.bases.as_view(), &plan)?;
        Ok(memory.collect(device, &plan)?.combine())
    }
}

/// A vector on the device and the transforms of its domain.
pub struct ResidentTransforms {
    device: Device,
    transforms: Transforms,
    domain: Domain,
    values: CudaSlice<u64>,
}

impl ResidentTransforms {
    /// Uploads the values, whose number must be a power of two, and computes the tables.
    pub fn new(device: usize, values: &[Fr]) -> Result<Self, Error> {
        let device = Device::open(device)?;
        let domain = Domain::for_rows(values.len())?;
        assert_eq!(domain.n(), values.len(), "a power of two");
        let transforms = Transforms::new(&device, domain)?;
        let resident =
            ResidentTransforms { values: device.upload(words_of(values))?, transforms, domain, device };
        resident.device.synchronize()?;
        Ok(resident)
    }

    /// `times` interpolations in place, one after the other, without the division by n, to bit-reversed order. Waits for
    /// their end.
    pub fn interpolate(&mut self, times: usize) -> Result<(), Error> {
        for _ in 0..times {
            self.transforms.interpolate(&self.device, &mut self.values)?;
        }
        self.device.synchronize()
    }

    /// One evaluation on the coset in place, from bit-reversed order. Waits for its end.
    pub fn evaluate_on_coset(&mut self) -> Result<(), Error> {
        self.transforms.evaluate_on_coset(&self.device, &mut self.values)?;
        self.device.synchronize()
    }

    /// The vector, in order of the device's memory.
    pub fn values(&self) -> Result<Vec<Fr>, Error> {
        let n_words = self.domain.n() * FR_WORDS;
        let words = self
            .device
            .stream
            .clone_dtoh(&self.values.slice(..n_words))
            .map_err(self.device.error("cuMemcpyDtoH"))?;
        Ok(values_of(&words, Fr::ZERO))
    }
}
