//! Points in memory for eight-wide arithmetic.

use cuzk_field::{Eight, Engine, Field, Kernel, Lanes};

use crate::curve::Curve;

/// One point: a cache line (G1) or two (G2) for each coordinate, below 1.03 p. Infinity is (0, 0), all limbs zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct PackedPoint<F: Field> {
    pub(crate) x: F::Row,
    pub(crate) y: F::Row,
}

/// Eight points, limb by limb: x below 1.03 p, y at most 2 p. Infinity is (0, 0), all limbs zero.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Block<F: Field> {
    pub(crate) x: F::Packed,
    pub(crate) y: F::Packed,
}

impl<F: Field> Block<F> {
    /// Eight points at infinity.
    pub(crate) const INFINITY: Self = Block { x: F::ZERO, y: F::ZERO };
}

/// Converts points, on one thread: two multiplications each.
pub(crate) fn pack<P: Curve>(engine: Engine, points: &[P]) -> Vec<PackedPoint<P::Eight>> {
    let mut packed = vec![PackedPoint::default(); points.len()];
    pack_block(engine, &mut packed, points);
    packed
}

/// The same to memory that is there.
pub(crate) fn pack_block<P: Curve>(engine: Engine, packed: &mut [PackedPoint<P::Eight>], points: &[P]) {
    assert_eq!(packed.len(), points.len(), "places for other points");
    engine.run(Pack { packed, points });
}

struct Pack<'a, P: Curve> {
    packed: &'a mut [PackedPoint<P::Eight>],
    points: &'a [P],
}

impl<P: Curve> Kernel for Pack<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (packed, points) in self.packed.chunks_mut(8).zip(self.points.chunks(8)) {
            let (mut x, mut y) = ([P::Field::default(); 8], [P::Field::default(); 8]);
            for (lane, point) in points.iter().enumerate() {
                (x[lane], y[lane]) = point.coordinates();
            }
            let x = <P::Eight as Field>::Eight::<L>::from_scalars(&x).to_rows();
            let y = <P::Eight as Field>::Eight::<L>::from_scalars(&y).to_rows();
            for (lane, packed) in packed.iter_mut().enumerate() {
                // 0 times anything may come out as p, and infinity must be all zero.
                let infinite = bool::from(points[lane].is_identity());
                *packed =
                    if infinite { PackedPoint::default() } else { PackedPoint { x: x[lane], y: y[lane] } };
            }
        }
    }
}

/// Converts blocks back, in order of lanes; all points of the last block that fit `points`.
pub(crate) fn unpack<P: Curve>(engine: Engine, points: &mut [P], blocks: &[Block<P::Eight>]) {
    assert!(points.len() <= 8 * blocks.len(), "fewer blocks than points");
    engine.run(Unpack { points, blocks });
}

/// Converts one point back.
pub(crate) fn unpack_one<P: Curve>(engine: Engine, point: &PackedPoint<P::Eight>) -> P {
    engine.run(UnpackOne::<P>(point))
}

struct UnpackOne<'a, P: Curve>(&'a PackedPoint<P::Eight>);

impl<P: Curve> Kernel for UnpackOne<'_, P> {
    type Output = P;

    #[inline(always)]
    fn run<L: Lanes>(self) -> P {
        let x = <P::Eight as Field>::Eight::<L>::gather([&self.0.x; 8]).to_scalars();
        let y = <P::Eight as Field>::Eight::<L>::gather([&self.0.y; 8]).to_scalars();
        P::from_coordinates(x[0], y[0])
    }
}

struct Unpack<'a, P: Curve> {
    points: &'a mut [P],
    blocks: &'a [Block<P::Eight>],
}

impl<P: Curve> Kernel for Unpack<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        for (points, block) in self.points.chunks_mut(8).zip(self.blocks) {
            let x = <P::Eight as Field>::Eight::<L>::load(&block.x).to_scalars();
            let y = <P::Eight as Field>::Eight::<L>::load(&block.y).to_scalars();
            for (lane, point) in points.iter_mut().enumerate() {
                *point = P::from_coordinates(x[lane], y[lane]);
            }
        }
    }
}

/// Encodes blocks as parameter files store points, in order of lanes: 2·`F::Bytes` each, as many as fit `bytes`.
pub(crate) fn encode<F: Field>(engine: Engine, bytes: &mut [u8], blocks: &[Block<F>]) {
    assert!(bytes.len() <= 8 * blocks.len() * 2 * size_of::<F::Bytes>(), "fewer blocks than points");
    engine.run(Encode { bytes, blocks });
}

struct Encode<'a, F: Field> {
    bytes: &'a mut [u8],
    blocks: &'a [Block<F>],
}

impl<F: Field> Kernel for Encode<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let coordinate_bytes = size_of::<F::Bytes>();
        for (bytes, block) in self.bytes.chunks_mut(16 * coordinate_bytes).zip(self.blocks) {
            let (x, y) = (F::Eight::<L>::load(&block.x), F::Eight::<L>::load(&block.y));
            let infinite = x.all_limbs_zero() & y.all_limbs_zero();
            let (x, y) = (x.to_bytes(), y.to_bytes());
            for (lane, bytes) in bytes.chunks_exact_mut(2 * coordinate_bytes).enumerate() {
                bytes[..coordinate_bytes].copy_from_slice(x[lane].as_ref());
                bytes[coordinate_bytes..].copy_from_slice(y[lane].as_ref());
                if infinite >> lane & 1 == 1 {
                    bytes[0] = INFINITY_FLAG;
                }
            }
        }
    }
}

/// The flag of a point at infinity, whose other bits are 0.
const INFINITY_FLAG: u8 = 0x40;
