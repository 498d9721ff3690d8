//! The arithmetic of `cuda/`, compiled as plain C++ for the host, so that tests need no GPU. Never shipped.
//!
//! What runs here is the text that nvcc compiles, but for the instructions with a carry (`cuda/ff/word.cuh`), whose twins
//! in C++ these are, and the kernels themselves, whose loops over threads and blocks `cuda/host/host.cpp` writes out.

/// An element of a field, as the device keeps it: little-endian words in Montgomery form, below the modulus.
pub trait Field: Copy + Eq + std::fmt::Debug {
    /// 0.
    const ZERO: Self;

    /// The result of an operation; those of one operand do not look at `b`.
    fn apply(operation: Operation, a: &Self, b: &Self) -> Self;

    /// a·b − c·d
    fn difference_of_products(a: &Self, b: &Self, c: &Self, d: &Self) -> Self;

    /// 1/a, and 0 for 0.
    fn inverted(self) -> Self;
}

/// What [`Field::apply`] does; as `Operation` of `cuda/host/host.cpp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Operation {
    /// a + b
    Add,
    /// a − b
    Subtract,
    /// −a
    Negate,
    /// −a, or a where b = 0
    NegateUnlessZero,
    /// 2a
    Double,
    /// a·b
    Multiply,
    /// a²
    Square,
    /// 1 if a = b, else 0
    Equal,
}

/// What [`Fr::lazy`] does; as `LazyOperation` of `cuda/host/host.cpp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LazyOperation {
    /// a + b, for a and b below 2m
    Add,
    /// a − b, for a and b below 2m
    Subtract,
    /// a·b, for a below 2m and b below m
    Multiply,
    /// a below m, for a below 2m
    Reduce,
}

/// An element of the base field, R = 2^384.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Fp(pub [u32; 12]);

/// An element of the scalar field, R = 2^256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Fr(pub [u32; 8]);

/// c0 + c1·u with u² = −1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Fp2 {
    /// The constant coefficient.
    pub c0: Fp,
    /// The coefficient of u.
    pub c1: Fp,
}

/// A point of a curve over `F`; infinity is (0, 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Affine<F> {
    /// x
    pub x: F,
    /// y
    pub y: F,
}

/// A point of a curve over `F`: x = X/ZZ, y = Y/ZZZ with ZZ³ = ZZZ²; infinity has ZZ = 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Xyzz<F> {
    /// X
    pub x: F,
    /// Y
    pub y: F,
    /// ZZ
    pub zz: F,
    /// ZZZ
    pub zzz: F,
}

impl<F: Field> Affine<F> {
    /// The neutral element.
    pub const INFINITY: Self = Affine { x: F::ZERO, y: F::ZERO };
}

impl<F: Field> Xyzz<F> {
    /// The neutral element, with all coordinates 0.
    pub const INFINITY: Self = Xyzz { x: F::ZERO, y: F::ZERO, zz: F::ZERO, zzz: F::ZERO };
}

/// The windows of a sum: as `Windows` of `cuda/msm/msm.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Windows {
    bits: u32,
    n: u32,
    offsets: [u32; 8],
}

impl Windows {
    /// Windows of 2 to 31 bits for 254-bit scalars.
    pub fn new(bits: u32) -> Self {
        assert!((2..=31).contains(&bits), "windows of {bits} bits");
        let n = 254 / bits + 1;
        let mut offsets = [0; 8];
        for bit in (0..n - 1).map(|window| window * bits + bits - 1) {
            offsets[bit as usize / 32] |= 1 << (bit % 32);
        }
        Windows { bits, n, offsets }
    }
}

/// A pass of a transform: as `Pass` of `cuda/ntt/ntt.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pass {
    /// The transform has 2^log2_n elements.
    pub log2_n: u32,
    /// The lowest level of the pass.
    pub first_level: u32,
    /// Its levels: 2^levels rows of a tile.
    pub levels: u32,
    /// 2^log2_columns columns of a tile.
    pub log2_columns: u32,
}

/// Which way a pass goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Interpolation, from the highest level on.
    Down,
    /// Evaluation, from the lowest level on.
    Up,
}

/// Where a section's variables are in w: as `Placement` of `cuda/r1cs/r1cs.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Placement {
    /// The section's own aux variables.
    pub first_aux: u64,
    /// The section's own inputs.
    pub first_input: u64,
    /// The header's aux variables.
    pub header_aux: u64,
}

/// Half an element in the memory of a tile.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Half([u32; 4]);

const _: () = {
    assert!(size_of::<Fp>() == 48 && size_of::<Fr>() == 32 && size_of::<Fp2>() == 96);
    assert!(size_of::<Affine<Fp>>() == 96 && size_of::<Xyzz<Fp>>() == 192 && size_of::<Xyzz<Fp2>>() == 384);
    assert!(size_of::<Windows>() == 40 && size_of::<Pass>() == 16 && size_of::<Placement>() == 24);
};

macro_rules! field {
    ($field:ty, $zero:expr, $apply:ident, $difference:ident, $inverse:ident) => {
        unsafe extern "C" {
            fn $apply(out: *mut $field, operation: u32, a: *const $field, b: *const $field);
            fn $difference(
                out: *mut $field,
                a: *const $field,
                b: *const $field,
                c: *const $field,
                d: *const $field,
            );
            fn $inverse(value: *mut $field);
        }

        impl Field for $field {
            const ZERO: Self = $zero;

            fn apply(operation: Operation, a: &Self, b: &Self) -> Self {
                let mut out = Self::ZERO;
                // SAFETY: reads one element of each operand and writes one, all of which are there and aligned.
                unsafe { $apply(&mut out, operation as u32, a, b) };
                out
            }

            fn difference_of_products(a: &Self, b: &Self, c: &Self, d: &Self) -> Self {
                let mut out = Self::ZERO;
                // SAFETY: as above.
                unsafe { $difference(&mut out, a, b, c, d) };
                out
            }

            fn inverted(mut self) -> Self {
                // SAFETY: reads and writes one element.
                unsafe { $inverse(&mut self) };
                self
            }
        }
    };
}
field!(Fp, Fp([0; 12]), cuzk_host_fp, cuzk_host_fp_difference_of_products, cuzk_host_fp_inverse);
field!(Fr, Fr([0; 8]), cuzk_host_fr, cuzk_host_fr_difference_of_products, cuzk_host_fr_inverse);
field!(
    Fp2,
    Fp2 { c0: Fp::ZERO, c1: Fp::ZERO },
    cuzk_host_fp2,
    cuzk_host_fp2_difference_of_products,
    cuzk_host_fp2_inverse
);

macro_rules! montgomery {
    ($field:ty, $to:ident, $from:ident) => {
        unsafe extern "C" {
            fn $to(value: *mut $field);
            fn $from(value: *mut $field);
        }

        impl $field {
            /// From the integer itself, below the modulus.
            pub fn to_montgomery(mut self) -> Self {
                // SAFETY: reads and writes one element.
                unsafe { $to(&mut self) };
                self
            }

            /// To the integer itself.
            pub fn from_montgomery(mut self) -> Self {
                // SAFETY: reads and writes one element.
                unsafe { $from(&mut self) };
                self
            }
        }
    };
}
unsafe extern "C" {
    fn cuzk_host_fr_lazy(out: *mut Fr, operation: u32, a: *const Fr, b: *const Fr);
}

impl Fr {
    /// An operation of transforms, whose results are below 2m but where they are reduced.
    pub fn lazy(operation: LazyOperation, a: &Self, b: &Self) -> Self {
        let mut out = Self::ZERO;
        // SAFETY: reads one element of each operand and writes one, all of which are there and aligned.
        unsafe { cuzk_host_fr_lazy(&mut out, operation as u32, a, b) };
        out
    }
}

montgomery!(Fp, cuzk_host_fp_to_montgomery, cuzk_host_fp_from_montgomery);
montgomery!(Fr, cuzk_host_fr_to_montgomery, cuzk_host_fr_from_montgomery);

/// In a reference to a base: as in `cuda/ec/groups.cuh`.
pub const NEGATE: u32 = 1 << 31;
/// Instead of a reference: as in `cuda/ec/groups.cuh`.
pub const NO_POINT: u32 = u32::MAX;

/// The group law over a field, and a sum by buckets.
pub trait Curve: Field {
    /// A point with ZZ = 1, or infinity.
    fn of(point: &Affine<Self>) -> Xyzz<Self>;
    /// sum += b
    fn add_affine(sum: &mut Xyzz<Self>, b: &Affine<Self>);
    /// sum += b
    fn add(sum: &mut Xyzz<Self>, b: &Xyzz<Self>);
    /// point = 2·point
    fn double(point: &mut Xyzz<Self>);
    /// A point as parameter files store it.
    fn encode(point: &Affine<Self>) -> Vec<u8>;
    /// Σ scalarᵢ·baseᵢ
    fn msm(bases: &[Affine<Self>], scalars: &[Fr], windows: &Windows) -> Xyzz<Self>;
    /// The sum of each 2^levels neighbouring references by `n_threads` threads: a base's number, with [`NEGATE`] for its opposite,
    /// or [`NO_POINT`].
    fn add_groups(
        bases: &[Affine<Self>],
        references: &[u32],
        levels: u32,
        n_threads: usize,
    ) -> Vec<Affine<Self>>;
}

macro_rules! curve {
    ($field:ty, $of:ident, $add_affine:ident, $add:ident, $double:ident, $encode:ident, $msm:ident, $groups:ident) => {
        unsafe extern "C" {
            fn $of(out: *mut Xyzz<$field>, point: *const Affine<$field>);
            fn $add_affine(sum: *mut Xyzz<$field>, b: *const Affine<$field>);
            fn $add(sum: *mut Xyzz<$field>, b: *const Xyzz<$field>);
            fn $double(point: *mut Xyzz<$field>);
            fn $encode(out: *mut u32, point: *const Affine<$field>);
            fn $msm(
                out: *mut Xyzz<$field>,
                buckets: *mut Xyzz<$field>,
                bases: *const Affine<$field>,
                scalars: *const Fr,
                n: u32,
                windows: *const Windows,
            );
            fn $groups(
                out: *mut Affine<$field>,
                sums: *mut Affine<$field>,
                products: *mut $field,
                bases: *const Affine<$field>,
                references: *const u32,
                n_groups: u32,
                levels: u32,
                n_threads: u32,
            );
        }

        impl Curve for $field {
            fn of(point: &Affine<Self>) -> Xyzz<Self> {
                let mut out = Xyzz::INFINITY;
                // SAFETY: reads one point and writes one.
                unsafe { $of(&mut out, point) };
                out
            }

            fn add_affine(sum: &mut Xyzz<Self>, b: &Affine<Self>) {
                // SAFETY: reads one point and writes another, which are apart.
                unsafe { $add_affine(sum, b) }
            }

            fn add(sum: &mut Xyzz<Self>, b: &Xyzz<Self>) {
                // SAFETY: reads one point and writes another, which are apart.
                unsafe { $add(sum, b) }
            }

            fn double(point: &mut Xyzz<Self>) {
                // SAFETY: reads and writes one point.
                unsafe { $double(point) }
            }

            fn encode(point: &Affine<Self>) -> Vec<u8> {
                let mut words = vec![0u32; size_of::<Affine<Self>>() / 4];
                // SAFETY: reads one point and writes as many words as it has.
                unsafe { $encode(words.as_mut_ptr(), point) };
                words.iter().flat_map(|word| word.to_ne_bytes()).collect()
            }

            fn msm(bases: &[Affine<Self>], scalars: &[Fr], windows: &Windows) -> Xyzz<Self> {
                assert_eq!(bases.len(), scalars.len());
                let n = u32::try_from(bases.len()).expect("fewer than 2^32 terms");
                let mut buckets = vec![Xyzz::INFINITY; 1 << (windows.bits - 1)];
                let mut out = Xyzz::INFINITY;
                // SAFETY: reads n bases and n scalars. Bucket |digit| − 1 is used, and there is one for every digit of
                // `Windows`, which is at most 2^(bits − 1) in absolute value, as the tests of digits show.
                unsafe {
                    $msm(&mut out, buckets.as_mut_ptr(), bases.as_ptr(), scalars.as_ptr(), n, windows);
                }
                out
            }

            fn add_groups(
                bases: &[Affine<Self>],
                references: &[u32],
                levels: u32,
                n_threads: usize,
            ) -> Vec<Affine<Self>> {
                assert!((1..=16).contains(&levels) && references.len() % (1 << levels) == 0 && n_threads > 0);
                let there = |&reference: &u32| {
                    reference == NO_POINT || ((reference & !NEGATE) as usize) < bases.len()
                };
                assert!(references.iter().all(there), "a reference beyond the bases");
                let n_groups = references.len() >> levels;
                let n_places = (n_groups.div_ceil(n_threads) * n_threads) << (levels - 1);
                let mut out = vec![Affine::INFINITY; n_groups];
                let (mut sums, mut products) = (vec![Affine::INFINITY; n_places], vec![Self::ZERO; n_places]);
                // SAFETY: references are of bases; each thread has 2^(levels − 1) places for each of its groups, and each group a
                // sum.
                unsafe {
                    $groups(
                        out.as_mut_ptr(),
                        sums.as_mut_ptr(),
                        products.as_mut_ptr(),
                        bases.as_ptr(),
                        references.as_ptr(),
                        u32::try_from(n_groups).expect("fewer than 2^32"),
                        levels,
                        u32::try_from(n_threads).expect("fewer than 2^32"),
                    );
                }
                out
            }
        }
    };
}
curve!(
    Fp,
    cuzk_host_g1_of,
    cuzk_host_g1_add_affine,
    cuzk_host_g1_add,
    cuzk_host_g1_double,
    cuzk_host_g1_encode,
    cuzk_host_g1_msm,
    cuzk_host_g1_add_groups
);
curve!(
    Fp2,
    cuzk_host_g2_of,
    cuzk_host_g2_add_affine,
    cuzk_host_g2_add,
    cuzk_host_g2_double,
    cuzk_host_g2_encode,
    cuzk_host_g2_msm,
    cuzk_host_g2_add_groups
);

unsafe extern "C" {
    fn cuzk_host_digits(out: *mut i32, scalar: *const Fr, windows: *const Windows);
    fn cuzk_host_references(out: *mut u32, scalar: *const Fr, windows: *const Windows);
    fn cuzk_host_ntt_down(
        values: *mut Fr,
        tile: *mut Half,
        table: *const Fr,
        pass: *const Pass,
        n_threads: u32,
    );
    fn cuzk_host_ntt_up(
        values: *mut Fr,
        tile: *mut Half,
        table: *const Fr,
        pass: *const Pass,
        n_threads: u32,
    );
    fn cuzk_host_power(out: *mut Fr, base: *const Fr, exponent: u64);
    #[allow(clippy::too_many_arguments)]
    fn cuzk_host_factor(
        out: *mut Fr,
        w: *const Fr,
        imports: *const u32,
        placement: *const Placement,
        terms: *const u64,
        ends: *const u32,
        coefficients: *const Fr,
        list: u32,
        base: u32,
    );
}

/// The digits of a scalar, lowest window first.
pub fn digits(scalar: &Fr, windows: &Windows) -> Vec<i32> {
    let mut digits = vec![0; windows.n as usize];
    // SAFETY: writes a digit for each of n windows.
    unsafe { cuzk_host_digits(digits.as_mut_ptr(), scalar, windows) };
    digits
}

/// The entries of a table of multiples whose sum is the scalar's, as `cuda/msm/fixed_base.cuh` has it.
pub fn references(scalar: &Fr, windows: &Windows) -> Vec<u32> {
    let mut references = vec![0; windows.n as usize];
    // SAFETY: writes a reference for each of n windows.
    unsafe { cuzk_host_references(references.as_mut_ptr(), scalar, windows) };
    references
}

/// A pass of a transform, by blocks of `n_threads` threads.
pub fn ntt_pass(values: &mut [Fr], direction: Direction, table: &[Fr], pass: &Pass, n_threads: u32) {
    assert_eq!((values.len(), table.len()), (1 << pass.log2_n, 1 << pass.log2_n));
    assert!(pass.log2_n < 32 && pass.levels >= 1 && n_threads >= 1, "{pass:?}");
    assert!(pass.first_level + pass.levels <= pass.log2_n, "{pass:?}");
    let other_levels = pass.log2_n - pass.levels;
    let columns = if pass.first_level == 0 { other_levels } else { pass.first_level };
    assert!(pass.log2_columns <= columns, "{pass:?}");
    let mut tile = vec![Half([0; 4]); 2 << (pass.levels + pass.log2_columns)];
    let run = match direction {
        Direction::Down => cuzk_host_ntt_down,
        Direction::Up => cuzk_host_ntt_up,
    };
    // SAFETY: the tiles of a pass with such bounds have each of the 2^log2_n elements once, and their twiddles are below
    // 2^(first_level + levels), so within a table of as many; `tile` has two halves for each element of one.
    unsafe { run(values.as_mut_ptr(), tile.as_mut_ptr(), table.as_ptr(), pass, n_threads) }
}

/// base^exponent.
pub fn power(base: &Fr, exponent: u64) -> Fr {
    let mut out = Fr::ZERO;
    // SAFETY: reads one element and writes one.
    unsafe { cuzk_host_power(&mut out, base, exponent) };
    out
}

/// Rows' shapes: all lists of terms, where each ends, and the coefficients they use. A term has its coefficient's index in
/// the lower half; in the upper the variable's place, a tag of two bits and an index.
#[derive(Clone, Debug)]
pub struct Shapes {
    /// The terms.
    pub terms: Vec<u64>,
    /// Where lists end.
    pub ends: Vec<u32>,
    /// The coefficients.
    pub coefficients: Vec<Fr>,
}

/// One side of a row: the sum of the terms of list `list`, with `base` the row's greatest variable.
pub fn factor(
    w: &[Fr],
    imports: &[u32],
    placement: &Placement,
    shapes: &Shapes,
    list: usize,
    base: u32,
) -> Fr {
    let start = if list == 0 { 0 } else { shapes.ends[list - 1] as usize };
    for term in &shapes.terms[start..shapes.ends[list] as usize] {
        let index = (term >> 32) as u32 & ((1 << 30) - 1);
        let variable = match term >> 62 {
            0 => placement.first_aux + u64::from(base.checked_sub(index).expect("a variable of the section")),
            1 => placement.header_aux + u64::from(imports[index as usize]),
            2 => u64::from(index),
            _ => placement.first_input + u64::from(index),
        };
        assert!(variable < w.len() as u64, "a variable beyond w");
        assert!((*term as u32 as usize) < shapes.coefficients.len(), "a coefficient beyond the table");
    }
    let mut out = Fr::ZERO;
    // SAFETY: reads the ends of this list and of the one before, the terms between them, and of each the import, variable
    // and coefficient, which were found to be there.
    unsafe {
        cuzk_host_factor(
            &mut out,
            w.as_ptr(),
            imports.as_ptr(),
            placement,
            shapes.terms.as_ptr(),
            shapes.ends.as_ptr(),
            shapes.coefficients.as_ptr(),
            u32::try_from(list).expect("the list's end is in a table"),
            base,
        );
    }
    out
}
