//! Laws of the eight-wide arithmetic for any [`Engine`]: tests run them on the emulation everywhere and on AVX-512 where
//! it is; `cuzk-bench check` runs them on the machine that it measures. Each panics where a law is broken.

use blst::{blst_fp, blst_fp2};

use crate::eight::{Eight, EightColumns, Field};
use crate::fp::{self, Fp8};
use crate::fr::{self, Fr8};
use crate::lanes::{Kernel, Lanes};
use crate::portable::Coordinate;
use crate::{Engine, Fp, Fp2};

/// All engines of this machine; says on stderr which is missing.
pub fn engines() -> Vec<Engine> {
    let real = Engine::avx512ifma();
    if real.is_none() {
        eprintln!("skipped: this processor has no AVX-512 IFMA; the kernels run on the emulation alone");
    }
    [Engine::emulated()].into_iter().chain(real).collect()
}

/// A small generator of test values (xorshift64*), the same on every machine.
pub struct Numbers(u64);

impl Numbers {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Numbers(seed | 1)
    }

    /// 64 bits.
    pub fn next_word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// An element of Fp.
    pub fn next_fp(&mut self) -> blst_fp {
        // Two products bring any words into [0, p) and mix them.
        let mut words = [0; 6];
        words.iter_mut().for_each(|word| *word = self.next_word());
        words[5] >>= 4;
        blst_fp { l: words }.mul(&blst_fp::one())
    }
}

/// All laws.
pub fn check(engine: Engine) {
    lanes(engine);
    fp_multiplication_limits(engine);
    fp_ranges(engine);
    field::<Fp>(engine, Numbers::next_fp);
    field::<Fp2>(engine, |numbers| blst_fp2 { fp: [numbers.next_fp(), numbers.next_fp()] });
    fr_laws(engine);
}

/// The lane operations against their definitions.
pub fn lanes(engine: Engine) {
    struct Check;
    impl Kernel for Check {
        type Output = ();

        #[inline(always)]
        fn run<L: Lanes>(self) {
            let mut numbers = Numbers::new(1);
            let mut word = |index: usize| match index % 5 {
                0 => 0,
                1 => u64::MAX,
                2 => (1 << 52) - 1,
                3 => 1 << 52,
                _ => numbers.next_word(),
            };
            for round in 0..200usize {
                let a: [u64; 8] = std::array::from_fn(|lane| word(round + lane));
                let b: [u64; 8] = std::array::from_fn(|lane| word(round / 5 + lane));
                let c: [u64; 8] = std::array::from_fn(|lane| word(round / 25 + lane));
                lane_operations::<L>(&a, &b, &c);
            }
            let rows: [[u64; 8]; 8] =
                std::array::from_fn(|row| std::array::from_fn(|lane| (8 * row + lane) as u64));
            for (column, lanes) in L::transpose(rows.map(|row| L::load(&row))).into_iter().enumerate() {
                assert_eq!(stored(lanes), std::array::from_fn(|row| rows[row][column]), "transposition");
            }
        }
    }
    engine.run(Check);
}

#[inline(always)]
fn stored<L: Lanes>(lanes: L) -> [u64; 8] {
    let mut words = [0; 8];
    lanes.store(&mut words);
    words
}

#[inline(always)]
fn lane_operations<L: Lanes>(a: &[u64; 8], b: &[u64; 8], c: &[u64; 8]) {
    let (x, y, z) = (L::load(a), L::load(b), L::load(c));
    let low = |value: u64| u128::from(value % (1 << 52));
    let each = |operation: &dyn Fn(usize) -> u64| -> [u64; 8] { std::array::from_fn(operation) };
    assert_eq!(stored(L::splat(a[0])), [a[0]; 8]);
    assert_eq!(stored(x.add(y)), each(&|k| a[k].wrapping_add(b[k])));
    assert_eq!(stored(x.sub(y)), each(&|k| a[k].wrapping_sub(b[k])));
    assert_eq!(stored(x.and(y)), each(&|k| a[k] & b[k]));
    assert_eq!(stored(x.or(y)), each(&|k| a[k] | b[k]));
    assert_eq!(stored(x.xor(y)), each(&|k| a[k] ^ b[k]));
    assert_eq!(stored(x.shl::<12>()), each(&|k| a[k] << 12));
    assert_eq!(stored(x.shr::<52>()), each(&|k| a[k] >> 52));
    assert_eq!(stored(x.sar::<52>()), each(&|k| (a[k] as i64 >> 52) as u64));
    let product = |k: usize| low(b[k]) * low(c[k]);
    assert_eq!(stored(x.madd52lo(y, z)), each(&|k| a[k].wrapping_add((product(k) % (1 << 52)) as u64)));
    assert_eq!(stored(x.madd52hi(y, z)), each(&|k| a[k].wrapping_add((product(k) >> 52) as u64)));
    let mask = a[4] as u8;
    let chosen = |k: usize| if mask >> k & 1 == 1 { b[k] } else { a[k] };
    assert_eq!(stored(L::select(mask, x, y)), each(&chosen));
    let mask_of = |bit: &dyn Fn(usize) -> bool| (0..8).fold(0, |mask, k| mask | u8::from(bit(k)) << k);
    assert_eq!(x.zeros(), mask_of(&|k| a[k] == 0));
    assert_eq!(x.negatives(), mask_of(&|k| a[k] as i64 <= -1));
    assert_eq!(stored(x.permute(y)), each(&|k| a[b[k] as usize % 8]));
}

/// Σ limbs[j]·2^(52 j) mod p, in blst's form.
fn residue(limbs: &[u64; 8]) -> blst_fp {
    // 2^384 mod p is 1 in blst's form; a number below 2^64 is that many times 1.
    let two_52 = (0..52).fold(blst_fp::one(), |power, _| power.add(&power));
    let small = |limb: u64| {
        (0..64).rev().fold(blst_fp::default(), |sum, bit| {
            let doubled = sum.add(&sum);
            if limb >> bit & 1 == 1 { doubled.add(&blst_fp::one()) } else { doubled }
        })
    };
    limbs.iter().rev().fold(blst_fp::default(), |sum, limb| sum.mul(&two_52).add(&small(*limb)))
}

/// value/p of carried limbs, to about 50 bits.
fn ratio(limbs: &[u64; 8]) -> f64 {
    let value =
        |limbs: &[u64; 8]| limbs.iter().rev().fold(0.0, |sum, limb| sum * 2f64.powi(52) + *limb as f64);
    value(limbs) / value(&crate::limbs::split::<6, 8>(&crate::portable::P))
}

struct Products<'a> {
    a: &'a fp::Packed,
    b: &'a fp::Packed,
}

impl Kernel for Products<'_> {
    /// a·b and a².
    type Output = [fp::Packed; 2];

    #[inline(always)]
    fn run<L: Lanes>(self) -> [fp::Packed; 2] {
        let (a, b) = (Fp8::<L>::load(self.a), Fp8::<L>::load(self.b));
        let mut results = [Fp::ZERO; 2];
        a.mul(&b).carry().store(&mut results[0]);
        a.square().carry().store(&mut results[1]);
        results
    }
}

/// Every pattern of lowest and highest limbs (0 or 2^52 − 1) in both operands of the multiplier: 2^16 products, which
/// reach every carry at its limits; and squares of all of them. Values are up to 2^35 p, beyond what products of such
/// values may be for a bounded result, so only residues are compared; the bound is that of [`fp_ranges`].
pub fn fp_multiplication_limits(engine: Engine) {
    const MASK: u64 = (1 << 52) - 1;
    let pattern = |bits: usize| -> [u64; 8] {
        // The highest limb stays below 2^34 p/2^364, as the result must stay below 2^416.
        std::array::from_fn(|j| {
            if bits >> j & 1 == 0 {
                0
            } else if j == 7 {
                MASK >> 3
            } else {
                MASK
            }
        })
    };
    let residues: Vec<blst_fp> = (0..256).map(|bits| residue(&pattern(bits))).collect();
    let two_416 = (0..416).fold(blst_fp::one(), |power, _| power.add(&power));
    let lanes = |first: usize, step: usize| {
        let rows: [[u64; 8]; 8] = std::array::from_fn(|lane| pattern(first + step * lane));
        fp::Packed(std::array::from_fn(|j| std::array::from_fn(|lane| rows[lane][j])))
    };
    for left in 0..256 {
        let a = lanes(left, 0);
        for right in (0..256).step_by(8) {
            let b = lanes(right, 1);
            let [product, square] = engine.run(Products { a: &a, b: &b });
            for lane in 0..8 {
                let limbs = |packed: &fp::Packed| -> [u64; 8] { std::array::from_fn(|j| packed.0[j][lane]) };
                let expected = residues[left].mul(&residues[right + lane]);
                assert!(limbs(&product).iter().all(|limb| *limb <= MASK), "not carried: {left} {right}");
                assert!(residue(&limbs(&product)).mul(&two_416) == expected, "product {left} {right} {lane}");
                if right == 0 && lane == 0 {
                    assert!(
                        residue(&limbs(&square)).mul(&two_416) == residues[left].square(),
                        "square {left}"
                    );
                }
            }
        }
    }
}

/// The ranges of the table in [`crate::fp`], at and near their limits.
pub fn fp_ranges(engine: Engine) {
    struct Check;
    impl Kernel for Check {
        type Output = ();

        #[inline(always)]
        fn run<L: Lanes>(self) {
            let p: [u64; 8] = crate::limbs::split(&crate::portable::P);
            let splat =
                |limbs: &[u64; 8]| Fp8::<L>::load(&fp::Packed(std::array::from_fn(|j| [limbs[j]; 8])));
            let limbs = |value: Fp8<L>| value.to_rows()[3].0;
            let mut numbers = Numbers::new(2);
            for k in 0..7u64 {
                for offset in 0..40 {
                    // k·p + a small or random part of p.
                    let part = match offset {
                        0 => 0,
                        1 => 1,
                        2 => 1 << 51,
                        _ => numbers.next_word() >> 12,
                    };
                    let mut value = crate::limbs::times(&p, k);
                    value[6] += part;
                    value[7] += value[6] >> 52;
                    value[6] %= 1 << 52;
                    if offset % 2 == 1 {
                        value[7] += (numbers.next_word() % 90_000) * u64::from(offset > 3);
                    }
                    let eight = splat(&value);
                    let expected = residue(&value);
                    if ratio(&value) > 0.001 {
                        let reduced = limbs(eight.columns().reduce());
                        assert!(
                            residue(&reduced) == expected && ratio(&reduced) < 1.001,
                            "reduction of {value:?}"
                        );
                    }
                    if ratio(&value) < 6.9 {
                        let zeros = if expected.is_zero() { 0xff } else { 0 };
                        assert_eq!(eight.zeros(), zeros, "{value:?}");
                    }
                }
            }
            // A·B = 2^30: the result stays below 1.03.
            let large = splat(&crate::limbs::times(&p, 1 << 15));
            assert!(ratio(&limbs(large.mul(&large).carry())) < 1.03);
            assert!(ratio(&limbs(large.square().carry())) < 1.03);
            assert!(large.mul(&large).carry().zeros() == 0xff);
            let zero = Fp8::<L>::zero();
            assert!(zero.zeros() == 0xff && zero.all_limbs_zero() == 0xff && Fp8::<L>::one().zeros() == 0);
            assert!(large.all_limbs_zero() == 0);
        }
    }
    engine.run(Check);
}

/// Eight-wide arithmetic against one element at a time.
pub fn field<F: Field>(engine: Engine, next: impl Fn(&mut Numbers) -> F::Scalar) {
    struct Check<F: Field> {
        a: [F::Scalar; 8],
        b: [F::Scalar; 8],
        c: [F::Scalar; 8],
    }
    impl<F: Field> Kernel for Check<F> {
        type Output = ();

        #[inline(always)]
        fn run<L: Lanes>(self) {
            let Check { a, b, c } = self;
            let [x, y, z] = [a, b, c].map(|scalars| F::Eight::<L>::from_scalars(&scalars));
            let each =
                |operation: &dyn Fn(usize) -> F::Scalar| -> [F::Scalar; 8] { std::array::from_fn(operation) };
            let same = |eight: F::Eight<L>, expected: [F::Scalar; 8]| eight.to_scalars() == expected;
            assert!(same(x, a) && same(F::Eight::<L>::one(), [F::Scalar::one(); 8]), "conversion");
            assert!(same(x.mul(&y).carry(), each(&|k| a[k].mul(&b[k]))), "product");
            assert!(same(x.mul(&y).reduce_product(), each(&|k| a[k].mul(&b[k]))), "reduced product");
            assert!(same(x.square().carry(), each(&|k| a[k].square())), "square");
            assert!(same(x.columns().add(&y.columns()).carry(), each(&|k| a[k].add(&b[k]))), "sum");
            assert!(
                same(x.columns().sub::<2>(&y.columns()).carry(), each(&|k| a[k].sub(&b[k]))),
                "difference"
            );
            // x(y + z) = xy + xz, with lazily added columns.
            let left = x.mul(&y.columns().add(&z.columns()).carry()).carry();
            let right = x.mul(&y).add(&x.mul(&z)).carry();
            assert!(left.to_scalars() == right.to_scalars(), "distributivity");
            let chosen = F::Eight::<L>::select(0b1010_0110, &x, &y);
            assert!(
                same(chosen, each(&|k| if 0b1010_0110 >> k & 1 == 1 { b[k] } else { a[k] })),
                "selection"
            );
            let zeros = (0..8).fold(0, |mask, k| mask | u8::from(a[k] == b[k]) << k);
            assert_eq!(x.columns().sub::<2>(&y.columns()).carry().zeros(), zeros, "zeros");
            let rows = x.to_rows();
            assert!(same(F::Eight::<L>::gather(rows.each_ref()), a), "rows");
            let mut packed = F::ZERO;
            assert_eq!(F::Eight::<L>::load(&packed).all_limbs_zero(), 0xff);
            x.store(&mut packed);
            assert!(same(F::Eight::<L>::load(&packed), a), "memory");
        }
    }

    /// [`EightColumns::reduce`] wants a value of 0.001 p at least.
    trait ReduceProduct<L: Lanes>: EightColumns<L> {
        fn reduce_product(self) -> Self::Carried;
    }

    impl<L: Lanes, C: EightColumns<L>> ReduceProduct<L> for C
    where
        C::Carried: Eight<L, Columns = C>,
    {
        #[inline(always)]
        fn reduce_product(self) -> Self::Carried {
            self.sub::<2>(&C::Carried::zero().columns()).reduce()
        }
    }

    let mut numbers = Numbers::new(3);
    let (zero, one) = (F::Scalar::default(), F::Scalar::one());
    for round in 0..60usize {
        let mut element = |index: usize| match index % 6 {
            0 => zero,
            1 => one,
            2 => one.negate(),
            _ => next(&mut numbers),
        };
        let a: [F::Scalar; 8] = std::array::from_fn(|lane| element(round + lane));
        let mut b: [F::Scalar; 8] = std::array::from_fn(|lane| element(round / 6 + lane));
        let c: [F::Scalar; 8] = std::array::from_fn(|lane| element(round / 3 + lane));
        b[round % 8] = a[round % 8];
        engine.run(Check::<F> { a, b, c });
    }
}

/// Fr against blstrs.
pub fn fr_laws(engine: Engine) {
    use blstrs::Scalar;
    use ff::Field as _;

    struct Check {
        pairs: [fr::Pair; 8],
        factors: [fr::Pair; 8],
        constants: [[u64; 5]; 12],
    }
    struct Results {
        products: [fr::Pair; 8],
        sums: [fr::Pair; 8],
        differences: [fr::Pair; 8],
        back: [fr::Pair; 8],
        large: [fr::Pair; 8],
        scaled: [fr::Pair; 8],
        dots: [fr::Pair; 8],
    }
    impl Kernel for Check {
        type Output = Results;

        #[inline(always)]
        fn run<L: Lanes>(self) -> Results {
            let values = Fr8::<L>::load_pairs(self.pairs.each_ref());
            let factors = Fr8::<L>::load_pairs(self.factors.each_ref());
            let out = |columns: [fr::Columns<L>; 2]| {
                Fr8::store_pairs(columns.map(|columns| columns.reduce().canonical()))
            };
            #[allow(clippy::type_complexity, reason = "a closure over both operations of one test")]
            let both = |operation: &dyn Fn(&Fr8<L>, &Fr8<L>) -> fr::Columns<L>| {
                out([operation(&values[0], &factors[0]), operation(&values[1], &factors[1])])
            };
            let thirty_two = |value: &Fr8<L>| {
                let doubled = |columns: fr::Columns<L>| columns.add(&columns);
                doubled(doubled(doubled(doubled(doubled(value.columns())))))
            };
            let thirty_three_at_most =
                |value: &Fr8<L>| thirty_two(value).sub::<1>(&Fr8::<L>::splat(&[0; 5]).columns()).carry();
            Results {
                products: both(&|value, factor| value.mul(&factor.factor())),
                sums: both(&|a, b| a.columns().add(&b.columns())),
                differences: both(&|a, b| a.columns().sub::<2>(&b.columns())),
                back: Fr8::store_pairs(values),
                // Operands of 33 r: the widest that the table allows beside a factor.
                large: both(&|a, b| thirty_three_at_most(a).mul(&b.factor())),
                scaled: both(&|a, b| a.mul(&b.factor()).times_16()),
                // Twelve of them, the most that there may be.
                dots: both(&|a, _| fr::dot(&[thirty_three_at_most(a); 12], &self.constants)),
            }
        }
    }

    let mut numbers = Numbers::new(4);
    for round in 0..100usize {
        let mut scalar = |index: usize| match index % 7 {
            0 => Scalar::ZERO,
            1 => Scalar::ONE,
            2 => -Scalar::ONE,
            _ => (0..4).fold(Scalar::ONE, |sum, _| {
                sum * Scalar::from(numbers.next_word()) + Scalar::from(numbers.next_word())
            }),
        };
        let a: [Scalar; 16] = std::array::from_fn(|index| scalar(round + index));
        let b: [Scalar; 16] = std::array::from_fn(|index| scalar(round / 7 + index));
        let pairs = |scalars: &[Scalar; 16]| -> [fr::Pair; 8] {
            std::array::from_fn(|pair| {
                let (first, second) = (fr::words(&scalars[2 * pair]), fr::words(&scalars[2 * pair + 1]));
                std::array::from_fn(|word| if word < 4 { first[word] } else { second[word - 4] })
            })
        };
        let results = engine.run(Check {
            pairs: pairs(&a),
            factors: pairs(&b),
            constants: std::array::from_fn(|index| fr::factor_limbs(&b[index])),
        });
        let each = |operation: &dyn Fn(usize) -> Scalar| pairs(&std::array::from_fn(operation));
        assert_eq!(results.products, each(&|i| a[i] * b[i]));
        assert_eq!(results.sums, each(&|i| a[i] + b[i]));
        assert_eq!(results.differences, each(&|i| a[i] - b[i]));
        assert_eq!(results.back, pairs(&a));
        assert_eq!(results.large, each(&|i| Scalar::from(32) * a[i] * b[i]));
        assert_eq!(results.scaled, each(&|i| Scalar::from(16) * a[i] * b[i]));
        let sum: Scalar = b[..12].iter().sum();
        assert_eq!(results.dots, each(&|i| Scalar::from(32) * a[i] * sum));
        assert_eq!(fr::limbs(&a[0])[0], fr::words(&a[0])[0] & ((1 << 52) - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_keeps_the_laws() {
        engines().into_iter().for_each(check);
    }
}
