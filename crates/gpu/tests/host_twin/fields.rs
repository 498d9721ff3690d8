//! Fp, Fr and Fp2: every operation's value, at the limits of the range and of the words' carries above all.

use cuzk_device_host::{Field, Fp, Fp2, Fr, LazyOperation, Operation};
use proptest::prelude::*;

use crate::{Blst, Reference, halves, joined};

const OPERATIONS: [Operation; 8] = [
    Operation::Add,
    Operation::Subtract,
    Operation::Negate,
    Operation::NegateUnlessZero,
    Operation::Double,
    Operation::Multiply,
    Operation::Square,
    Operation::Equal,
];

/// Words that carries start from, end at, or run through.
const CARRYING: [u32; 6] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];

/// From an integer below the modulus, by blst.
pub(crate) fn of_integer(words: [u64; 6]) -> Fp {
    let mut out = blst::blst_fp::default();
    // SAFETY: reads six words and writes an element.
    unsafe { blst::blst_fp_from_uint64(&mut out, words.as_ptr()) };
    Fp::of_blst(&out)
}

/// A prime field by its words.
trait Words<const N: usize>: Reference {
    fn of_words(words: [u32; N]) -> Self;
    fn words(&self) -> [u32; N];
    /// As `to_montgomery`, by blst.
    fn expected_of_integer(words: [u32; N]) -> Self;

    /// The modulus m, by blst: the element whose words are 1 has the opposite whose words are m − 1.
    fn modulus() -> [u32; N] {
        let mut unit = [0; N];
        unit[0] = 1;
        let mut words = Self::expected(Operation::Negate, &Self::of_words(unit), &Self::ZERO).words();
        // m is odd, so m − 1 has no carry to hand on.
        words[0] += 1;
        words
    }

    /// The words, less what is too much: first bits above the modulus's highest, then the modulus.
    fn reduced(mut words: [u32; N]) -> Self {
        let modulus = Self::modulus();
        words[N - 1] &= u32::MAX >> modulus[N - 1].leading_zeros();
        match subtract(words, modulus) {
            (less, false) => Self::of_words(less),
            (_, true) => Self::of_words(words),
        }
    }

    /// Limits of the range and of words.
    fn limits() -> Vec<Self> {
        let modulus = Self::modulus();
        let power = |bit: usize| -> [u32; N] {
            std::array::from_fn(|i| if i == bit / 32 { 1 << (bit % 32) } else { 0 })
        };
        let one = power(0);
        let half: [u32; N] = {
            let next = |i: usize| if i + 1 < N { modulus[i + 1] << 31 } else { 0 };
            std::array::from_fn(|i| modulus[i] >> 1 | next(i))
        };
        let mut limits =
            vec![[0; N], one, power(1), half, subtract(modulus, one).0, subtract(modulus, power(1)).0];
        limits.push(subtract(modulus, half).0);
        limits.push(Self::one().words());
        limits.push(Self::one().times(&Self::expected_of_integer(Self::one().words())).words());
        for bit in (0..N).flat_map(|word| [32 * word, 32 * word + 1, 32 * word + 31]) {
            limits.extend([power(bit), subtract(power(bit), one).0, subtract(modulus, power(bit)).0]);
        }
        for i in 0..N {
            limits.push(std::array::from_fn(|j| if i == j { u32::MAX } else { 0 }));
            limits.push(std::array::from_fn(|j| if i == j { 0 } else { u32::MAX }));
        }
        limits.push(std::array::from_fn(|i| if i % 2 == 0 { u32::MAX } else { 0 }));
        limits.push(std::array::from_fn(|i| if i % 2 == 1 { u32::MAX } else { 0 }));
        limits.push([u32::MAX; N]);
        let mut limits: Vec<Self> = limits.into_iter().map(Self::reduced).collect();
        limits.dedup();
        limits
    }
}

fn subtract<const N: usize>(a: [u32; N], b: [u32; N]) -> ([u32; N], bool) {
    let mut borrow = false;
    let difference = std::array::from_fn(|i| {
        let (less, first) = a[i].overflowing_sub(b[i]);
        let (less, second) = less.overflowing_sub(u32::from(borrow));
        borrow = first || second;
        less
    });
    (difference, borrow)
}

impl Words<12> for Fp {
    fn of_words(words: [u32; 12]) -> Self {
        Fp(words)
    }
    fn words(&self) -> [u32; 12] {
        self.0
    }
    fn expected_of_integer(words: [u32; 12]) -> Self {
        of_integer(joined(&words))
    }
}

impl Words<8> for Fr {
    fn of_words(words: [u32; 8]) -> Self {
        Fr(words)
    }
    fn words(&self) -> [u32; 8] {
        self.0
    }
    fn expected_of_integer(words: [u32; 8]) -> Self {
        let mut out = blst::blst_fr::default();
        let words: [u64; 4] = joined(&words);
        // SAFETY: reads four words and writes an element.
        unsafe { blst::blst_fr_from_uint64(&mut out, words.as_ptr()) };
        Fr(halves(&out.l))
    }
}

/// Any element: words that carry, or random ones, or some of each.
fn any_words<const N: usize, F: Words<N> + 'static>() -> impl Strategy<Value = F> {
    let word = prop_oneof![1 => proptest::sample::select(&CARRYING[..]), 1 => any::<u32>()];
    let mixed = proptest::collection::vec(word, N);
    let random = proptest::collection::vec(any::<u32>(), N);
    let limit = proptest::sample::select(F::limits());
    let reduced = |words: Vec<u32>| F::reduced(words.try_into().expect("N words"));
    prop_oneof![mixed.prop_map(reduced), random.prop_map(reduced), limit]
}

pub(crate) fn any_fp() -> impl Strategy<Value = Fp> {
    any_words()
}

pub(crate) fn any_fr() -> impl Strategy<Value = Fr> {
    any_words()
}

pub(crate) fn any_fp2() -> impl Strategy<Value = Fp2> {
    (any_fp(), any_fp()).prop_map(|(c0, c1)| Fp2 { c0, c1 })
}

fn agrees<F: Reference>(a: &F, b: &F) {
    for operation in OPERATIONS {
        assert_eq!(F::apply(operation, a, b), F::expected(operation, a, b), "{operation:?} {a:x?} {b:x?}");
    }
}

fn agrees_in_products<F: Reference>(a: &F, b: &F, c: &F, d: &F) {
    let expected = F::expected(Operation::Subtract, &a.times(b), &c.times(d));
    assert_eq!(F::difference_of_products(a, b, c, d), expected, "{a:x?} {b:x?} {c:x?} {d:x?}");
}

fn agrees_in_inverse<F: Reference>(a: &F) {
    assert_eq!(a.inverted(), a.inverse(), "1/{a:x?}");
}

/// What holds in every ring, and how operations are related.
fn obeys_laws<F: Field>(a: &F, b: &F, c: &F) {
    use Operation::{Add, Double, Multiply, Negate, Square, Subtract};
    let f = |operation, a: &F, b: &F| F::apply(operation, a, b);
    assert_eq!(f(Add, a, b), f(Add, b, a));
    assert_eq!(f(Multiply, a, b), f(Multiply, b, a));
    assert_eq!(f(Add, &f(Add, a, b), c), f(Add, a, &f(Add, b, c)));
    assert_eq!(f(Multiply, &f(Multiply, a, b), c), f(Multiply, a, &f(Multiply, b, c)));
    assert_eq!(f(Multiply, a, &f(Add, b, c)), f(Add, &f(Multiply, a, b), &f(Multiply, a, c)));
    assert_eq!(f(Add, a, &f(Negate, a, a)), F::ZERO);
    assert_eq!(f(Subtract, a, b), f(Add, a, &f(Negate, b, b)));
    assert_eq!(f(Double, a, a), f(Add, a, a));
    assert_eq!(f(Square, a, a), f(Multiply, a, a));
    assert_eq!(F::difference_of_products(a, b, a, c), f(Multiply, a, &f(Subtract, b, c)));
}

fn limits_agree<F: Reference>(limits: &[F]) {
    let n = limits.len();
    for (i, a) in limits.iter().enumerate() {
        agrees_in_inverse(a);
        for (j, b) in limits.iter().enumerate() {
            agrees(a, b);
            agrees_in_products(a, b, a, b);
            agrees_in_products(a, b, &limits[(7 * i + j) % n], &limits[(i + 3 * j + 1) % n]);
        }
    }
}

fn montgomery_limits_agree<const N: usize, F: Words<N>>(to: fn(F) -> F, from: fn(F) -> F) {
    for integer in F::limits() {
        assert_eq!(to(integer), F::expected_of_integer(integer.words()), "{integer:x?}");
        assert_eq!(from(to(integer)), integer);
        assert_eq!(to(from(integer)), integer);
    }
}

#[test]
fn the_modulus_is_that_of_the_field() {
    assert_eq!((Fp::modulus()[0], Fp::modulus()[11]), (0xffff_aaab, 0x1a01_11ea));
    assert_eq!((Fr::modulus()[0], Fr::modulus()[7]), (0x0000_0001, 0x73ed_a753));
}

#[test]
fn limits_of_fp() {
    limits_agree(&Fp::limits());
    montgomery_limits_agree(Fp::to_montgomery, Fp::from_montgomery);
}

#[test]
fn limits_of_fr() {
    limits_agree(&Fr::limits());
    montgomery_limits_agree(Fr::to_montgomery, Fr::from_montgomery);
}

/// a + m where `twice`, else a.
fn raised(a: &Fr, twice: bool) -> Fr {
    if !twice {
        return *a;
    }
    let mut carry = 0;
    Fr(std::array::from_fn(|i| {
        let sum = u64::from(a.0[i]) + u64::from(Fr::modulus()[i]) + carry;
        carry = sum >> 32;
        sum as u32
    }))
}

/// Operations on values below 2m, of either form that a and b have.
fn agrees_lazily(a: &Fr, b: &Fr) {
    for (a_twice, b_twice) in [(false, false), (false, true), (true, false), (true, true)] {
        let (lazy_a, lazy_b) = (raised(a, a_twice), raised(b, b_twice));
        assert_eq!(Fr::lazy(LazyOperation::Reduce, &lazy_a, &lazy_a), *a);
        let pairs = [
            (LazyOperation::Add, Operation::Add, lazy_b),
            (LazyOperation::Subtract, Operation::Subtract, lazy_b),
            (LazyOperation::Multiply, Operation::Multiply, *b),
        ];
        for (lazy, operation, b_operand) in pairs {
            let out = Fr::lazy(lazy, &lazy_a, &b_operand);
            let expected = Fr::expected(operation, a, b);
            assert!(
                out == expected || out == raised(&expected, true),
                "{lazy:?} {lazy_a:x?} {b_operand:x?}: {out:x?}"
            );
        }
    }
}

#[test]
fn limits_of_lazy_operations() {
    let limits = Fr::limits();
    limits.iter().for_each(|a| limits.iter().for_each(|b| agrees_lazily(a, b)));
}

#[test]
fn limits_of_fp2() {
    let limits = Fp::limits();
    // The first are those of the range; of the others every eighth, so that each kind comes up.
    let some: Vec<Fp> = limits[..9].iter().chain(limits[9..].iter().step_by(8)).copied().collect();
    let pairs: Vec<Fp2> = some.iter().flat_map(|c0| some.iter().map(|c1| Fp2 { c0: *c0, c1: *c1 })).collect();
    limits_agree(&pairs.iter().step_by(3).copied().collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn values_in_fp(a in any_fp(), b in any_fp(), c in any_fp(), d in any_fp()) {
        agrees(&a, &b);
        agrees_in_inverse(&a);
        agrees_in_products(&a, &b, &c, &d);
        obeys_laws(&a, &b, &c);
        prop_assert_eq!(a.to_montgomery().from_montgomery(), a);
        prop_assert_eq!(a.to_montgomery(), Fp::expected_of_integer(a.0));
    }

    #[test]
    fn values_in_fr(a in any_fr(), b in any_fr(), c in any_fr(), d in any_fr()) {
        agrees(&a, &b);
        agrees_in_inverse(&a);
        agrees_in_products(&a, &b, &c, &d);
        obeys_laws(&a, &b, &c);
        prop_assert_eq!(a.to_montgomery().from_montgomery(), a);
        prop_assert_eq!(a.to_montgomery(), Fr::expected_of_integer(a.0));
    }

    #[test]
    fn lazy_values(a in any_fr(), b in any_fr()) {
        agrees_lazily(&a, &b);
    }

    #[test]
    fn values_in_fp2(a in any_fp2(), b in any_fp2(), c in any_fp2(), d in any_fp2()) {
        agrees(&a, &b);
        agrees_in_inverse(&a);
        agrees_in_products(&a, &b, &c, &d);
        obeys_laws(&a, &b, &c);
    }
}
