//! Witness and evaluation on the device. See `cuda/r1cs/r1cs.cuh`.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig};
use cuzk_groth16::Error;
use cuzk_r1cs::{PackedWitness, Place, Section, Side, Template};

use crate::device::{Device, grid, launch};
use crate::layout::{FR_WORDS, Placement, words_of};
use crate::upload::Uploader;

/// Threads of a block, as in `cuda/r1cs/r1cs.cu`.
const BLOCK: u32 = 256;

/// `Shapes` of `cuda/r1cs/r1cs.cuh`, with device addresses.
#[derive(Clone, Copy)]
#[repr(C)]
struct Shapes {
    terms: u64,
    ends: u64,
    coefficients: u64,
}

// SAFETY: three addresses in C's layout.
unsafe impl DeviceRepr for Shapes {}

/// A template on the device.
pub(crate) struct DeviceTemplate {
    template: Arc<Template>,
    terms: CudaSlice<u64>,
    ends: CudaSlice<u32>,
    coefficients: CudaSlice<u64>,
    header: DeviceSection,
    block: DeviceSection,
    imports: CudaSlice<u32>,
    /// Which aux variables are bits, and how many scalars are before each word of them.
    is_bit: CudaSlice<u64>,
    ranks: CudaSlice<u32>,
    bits: CudaSlice<u64>,
    scalars: CudaSlice<u64>,
}

/// The rows of a section: shape and base of each.
struct DeviceSection {
    rows: CudaSlice<u32>,
    n_rows: u32,
}

impl DeviceTemplate {
    pub(crate) fn new(device: &Device, template: &Arc<Template>) -> Result<Self, Error> {
        let (mut terms, mut ends) = (vec![], vec![]);
        for shape in 0..template.n_shapes() as u32 {
            for side in [Side::A, Side::B] {
                let encoded = template
                    .shape(shape, side)
                    .iter()
                    .map(|term| u64::from(encode(term.place())) << 32 | term.coefficient() as u64);
                terms.extend(encoded);
                ends.push(terms.len() as u32);
            }
        }
        let n_tables = if template.instances() == 0 { 0 } else { template.instances() };
        let imports: Vec<u32> = match n_tables {
            0 => vec![],
            n if import_stride(template) == 0 => template.imports(n - 1).to_vec(),
            n => (0..n).flat_map(|instance| template.imports(instance).iter().copied()).collect(),
        };
        let is_bit = template.bits();
        let ranks: Vec<u32> = (is_bit.words().iter())
            .scan(0, |before, word| {
                let rank = *before;
                *before += word.count_zeros();
                Some(rank)
            })
            .collect();
        Ok(DeviceTemplate {
            terms: device.upload(&terms)?,
            ends: device.upload(&ends)?,
            coefficients: device.upload(words_of(template.coefficients()))?,
            header: DeviceSection::new(device, template.header())?,
            block: DeviceSection::new(device, template.block())?,
            imports: device.upload(&imports)?,
            is_bit: device.upload(is_bit.words())?,
            ranks: device.upload(&ranks)?,
            bits: device.allocate(is_bit.words().len())?,
            scalars: device.allocate(template.n_scalars() * FR_WORDS)?,
            template: template.clone(),
        })
    }

    /// Bytes that [`DeviceTemplate::new`] asks for.
    pub(crate) fn bytes(template: &Template) -> usize {
        let sides = [Side::A, Side::B];
        let terms: usize = (0..template.n_shapes() as u32)
            .flat_map(|shape| sides.map(|side| template.shape(shape, side).len()))
            .sum();
        let rows = template.header().n_rows() + template.block().n_rows();
        let n_words = template.bits().words().len();
        let imports = match (template.instances(), import_stride(template)) {
            (0, _) => 0,
            (_, 0) => template.imports(0).len(),
            (n, stride) => n * stride as usize,
        };
        let halves = 2 * template.n_shapes() + 2 * rows + imports + n_words;
        let words = terms + (template.coefficients().len() + template.n_scalars()) * FR_WORDS + 2 * n_words;
        8 * words + 4 * halves
    }

    pub(crate) fn is_of(&self, template: &Arc<Template>) -> bool {
        Arc::ptr_eq(&self.template, template)
    }

    /// The packed witness: all of it that crosses the bus.
    pub(crate) fn upload(
        &mut self,
        device: &Device,
        uploader: &mut Uploader,
        w: &mut CudaSlice<u64>,
        witness: &PackedWitness,
    ) -> Result<(), Error> {
        witness.check_shape(&self.template).expect("witness of another circuit");
        uploader.copy(device, &mut w.slice_mut(..), words_of(&witness.inputs))?;
        uploader.copy(device, &mut self.bits.slice_mut(..), witness.bits.words())?;
        uploader.copy(device, &mut self.scalars.slice_mut(..), words_of(&witness.scalars))
    }

    /// w = (inputs, aux) from the inputs in it and what was uploaded; then a and b into the first two of three vectors of n
    /// elements, up to the last row.
    pub(crate) fn evaluate(
        &self,
        device: &Device,
        w: &mut CudaSlice<u64>,
        abc: &mut CudaSlice<u64>,
        n: usize,
    ) -> Result<(), Error> {
        let template = &self.template;
        let (n_inputs, n_aux) = (template.n_inputs(), template.n_aux());
        {
            let mut aux = w.slice_mut(n_inputs * FR_WORDS..(n_inputs + n_aux) * FR_WORDS);
            let n_aux = n_aux as u64;
            // One bit of each bitmap and one element a variable; as many scalars as there are variables without a bit.
            launch!(
                device,
                "cuzk_unpack",
                grid(n_aux as usize, BLOCK),
                &mut aux,
                &self.is_bit,
                &self.ranks,
                &self.bits,
                &self.scalars,
                &n_aux
            )?;
        }
        let header_aux = n_inputs as u64;
        let header = Placement { first_aux: header_aux, first_input: 0, header_aux };
        self.section(device, w, abc, &self.header, header, 1, 0, n)?;
        let block = Placement {
            first_aux: header_aux + template.header().n_aux() as u64,
            first_input: template.header().n_inputs() as u64,
            header_aux,
        };
        let first_row = template.header().n_rows();
        self.section(device, w, abc, &self.block, block, template.instances(), first_row, n)?;
        // The rows of the inputs: input·0 = 0.
        let first = template.n_rows() - n_inputs;
        let (mut a, mut b) = abc.split_at_mut(n * FR_WORDS);
        let rows = first * FR_WORDS..template.n_rows() * FR_WORDS;
        let mut a = a.slice_mut(rows.clone());
        device
            .stream
            .memcpy_dtod(&w.slice(..n_inputs * FR_WORDS), &mut a)
            .map_err(device.error("cuMemcpyDtoD"))?;
        let mut b = b.slice_mut(rows);
        device.stream.memset_zeros(&mut b).map_err(device.error("cuMemset"))
    }

    #[allow(clippy::too_many_arguments)]
    fn section(
        &self,
        device: &Device,
        w: &CudaSlice<u64>,
        abc: &mut CudaSlice<u64>,
        section: &DeviceSection,
        placement: Placement,
        instances: usize,
        first_row: usize,
        n: usize,
    ) -> Result<(), Error> {
        if instances == 0 || section.n_rows == 0 {
            return Ok(());
        }
        let (mut a, mut b) = abc.split_at_mut(n * FR_WORDS);
        let mut a = a.slice_mut(first_row * FR_WORDS..);
        let mut b = b.slice_mut(first_row * FR_WORDS..n * FR_WORDS);
        let shapes = Shapes {
            terms: device.address(&self.terms),
            ends: device.address(&self.ends),
            coefficients: device.address(&self.coefficients),
        };
        let block = self.template.block();
        let (instance_aux, instance_inputs) = (block.n_aux() as u32, block.n_inputs() as u32);
        let instance_imports = import_stride(&self.template);
        let config = LaunchConfig {
            grid_dim: (section.n_rows.div_ceil(BLOCK), instances as u32, 1),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        // A template's rows refer to its own variables only, whose number w was made for, as was that of the rows: the session
        // compares both when it loads a template.
        launch!(
            device,
            "cuzk_evaluate",
            config,
            &mut a,
            &mut b,
            w,
            &section.rows,
            &self.imports,
            &shapes,
            &placement,
            &section.n_rows,
            &instance_aux,
            &instance_inputs,
            &instance_imports
        )
    }
}

impl DeviceSection {
    fn new(device: &Device, section: &Section) -> Result<Self, Error> {
        let mut rows = Vec::with_capacity(2 * section.n_rows());
        for run in section.runs() {
            for base in run.base..run.base + u32::from(run.count) {
                rows.extend([run.shape, base]);
            }
        }
        Ok(DeviceSection { rows: device.upload(&rows)?, n_rows: section.n_rows() as u32 })
    }
}

/// How far the import tables of instances are apart: 0 where all have the same.
fn import_stride(template: &Template) -> u32 {
    match template.instances() {
        0 | 1 => 0,
        n if template.imports(0).as_ptr() == template.imports(n - 1).as_ptr() => 0,
        _ => template.imports(0).len() as u32,
    }
}

/// As `variable` of `cuda/r1cs/r1cs.cuh` reads it: a tag in two bits, an index in thirty.
fn encode(place: Place) -> u32 {
    match place {
        Place::Own(back) => back,
        Place::Import(slot) => 1 << 30 | slot,
        Place::HeaderInput(input) => 2 << 30 | input,
        Place::BlockInput(input) => 3 << 30 | input,
    }
}
