//! SHA-256 as bellpepper's gadget allocates it: labels and the tree over the data.
//!
//! One compression, in order (`b` bits; the lowest bit of a word first):
//!
//! | step | bits | b |
//! |---|---|---|
//! | word 16..63 of the schedule | σ0: rotr 7 ^ rotr 18 (32), ^ shr 3 (29); σ1: rotr 17 ^ rotr 19 (32), ^ shr 10 (22); the sum of four words | 149 |
//! | round | e (35), its rotations 6 ^ 11 (32), ^ 25 (32); ch (32); a (35), 2 ^ 13 (32), ^ 22 (32); maj and b∧c, bit by bit in turn (64) | 294 |
//! | round 0 | the same without e and a, which are the chaining value | 224 |
//! | end | chaining value + a, …, h: 35 for a and e, else 33 | 268 |
//!
//! Sums are written before they are reduced. An exclusive or with a constant operand allocates nothing and is the other operand; so
//! constant bits of the message save bits in σ0 and σ1 ([`Shape`]), and a constant chaining value ([`INITIAL`]) saves those of rounds 0
//! to 2. There, what is behind a `Boolean::Not` is written before it is negated.

use cuzk_r1cs::Writer;

/// What the first block is chained to: a constant of the circuit.
pub(super) const INITIAL: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

#[rustfmt::skip]
const ROUND: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// Which bits of a block's sixteen words are constants of the circuit, and whether the chaining value is.
pub(super) struct Shape {
    constant: [u32; 16],
    initial: bool,
}

const ALL: u32 = u32::MAX;
/// Bit 255 of an element of Fr, always 0: bit 7 of its eighth big-endian word.
const TOP: u32 = 0x80;

impl Shape {
    /// Replica id, layer (constant), node, zeros.
    pub(super) const LABEL_FIRST: Shape =
        Shape { constant: [0, 0, 0, 0, 0, 0, 0, TOP, ALL, 0, 0, ALL, ALL, ALL, ALL, ALL], initial: true };
    /// Two elements.
    pub(super) const TWO: Shape =
        Shape { constant: [0, 0, 0, 0, 0, 0, 0, TOP, 0, 0, 0, 0, 0, 0, 0, TOP], initial: false };
    /// An element and padding.
    pub(super) const LABEL_LAST: Shape = Shape {
        constant: [0, 0, 0, 0, 0, 0, 0, TOP, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL],
        initial: false,
    };
    /// Two elements, as the first block.
    pub(super) const TREE_FIRST: Shape = Shape { constant: Self::TWO.constant, initial: true };
    /// Nothing but padding.
    pub(super) const PADDING: Shape = Shape { constant: [ALL; 16], initial: false };
}

/// A compression: writes its bits and chains `state`.
#[inline(always)]
pub(super) fn compress(state: &mut [u32; 8], message: &[u32; 16], shape: &Shape, out: &mut Writer<'_>) {
    let mut schedule = [0; 64];
    schedule[..16].copy_from_slice(message);
    let constant = shape.constant.iter().all(|word| *word == ALL);
    for i in 16..64 {
        let (before_15, before_2) = (schedule[i - 15], schedule[i - 2]);
        let mask = |word: usize| if word < 16 { shape.constant[word] } else { 0 };
        let (s0, s1) = if constant {
            (mixed(before_15, [7, 18], 3), mixed(before_2, [17, 19], 10))
        } else {
            (
                write_mixed(before_15, mask(i - 15), [7, 18], 3, out),
                write_mixed(before_2, mask(i - 2), [17, 19], 10, out),
            )
        };
        let sum = sum([schedule[i - 16], s0, schedule[i - 7], s1]);
        if !constant {
            out.bits(sum, 34);
        }
        schedule[i] = sum as u32;
    }
    let mut rounds = Rounds::new(state);
    let last_with_constants = if shape.initial { 2 } else { 0 };
    rounds.first(schedule[0], shape.initial, out);
    for (i, word) in schedule.into_iter().enumerate().skip(1) {
        match i <= last_with_constants {
            true => rounds.chained_to_constants(i, word, out),
            false => rounds.round(i, word, out),
        }
    }
    rounds.end(state, out);
}

fn sum<const N: usize>(words: [u32; N]) -> u64 {
    words.iter().map(|word| u64::from(*word)).sum()
}

/// σ of the schedule: two rotations and a shift.
fn mixed(word: u32, [first, second]: [u32; 2], shift: u32) -> u32 {
    word.rotate_right(first) ^ word.rotate_right(second) ^ word >> shift
}

/// The same with its bits, but for those with a constant operand. Constant bits of a word that has others are 0.
#[inline(always)]
fn write_mixed(word: u32, constant: u32, rotations: [u32; 2], shift: u32, out: &mut Writer<'_>) -> u32 {
    let value = mixed(word, rotations, shift);
    if constant == ALL {
        return value;
    }
    let rotated = word.rotate_right(rotations[0]) ^ word.rotate_right(rotations[1]);
    if constant == 0 {
        out.bits(u64::from(rotated) | u64::from(value & ALL >> shift) << 32, 64 - shift);
        return value;
    }
    let [first, second] = rotations.map(|by| constant.rotate_right(by));
    write_selected(rotated, !(first | second), out);
    write_selected(value, !(first & second) & !(constant >> shift) & ALL >> shift, out);
    value
}

/// The bits of `word` where `mask` has them.
fn write_selected(word: u32, mask: u32, out: &mut Writer<'_>) {
    let (mut bits, mut n) = (0, 0);
    for bit in (0..32).filter(|bit| mask >> bit & 1 == 1) {
        bits |= u64::from(word >> bit & 1) << n;
        n += 1;
    }
    out.bits(bits, n);
}

/// The eight words between rounds. a and e of the round to come are not reduced yet.
struct Rounds {
    words: [u32; 8],
    a: u64,
    e: u64,
}

impl Rounds {
    fn new(state: &[u32; 8]) -> Self {
        Rounds { words: *state, a: 0, e: 0 }
    }

    /// Round 0: a and e are the chaining value, and where that is constant nothing is allocated.
    #[inline(always)]
    fn first(&mut self, word: u32, constant: bool, out: &mut Writer<'_>) {
        let Mixed { e_parts, ch, a_parts, maj, b_and_c } = self.mixed();
        if !constant {
            write_two(e_parts, out);
            out.bits(u64::from(ch), 32);
            write_two(a_parts, out);
            out.bits(spread(maj) | spread(b_and_c) << 1, 64);
        }
        self.chain(0, word, ch, maj, e_parts[1], a_parts[1]);
    }

    /// Rounds 1 and 2 after a constant chaining value: f and g, b and c are constants, or one of each.
    #[inline(always)]
    fn chained_to_constants(&mut self, i: usize, word: u32, out: &mut Writer<'_>) {
        self.reduce();
        let [_, b, c, _, e, f, g, _] = self.words;
        let a = self.words[0];
        let Mixed { e_parts, ch, a_parts, maj, .. } = self.mixed();
        out.bits(self.e, 35);
        write_two(e_parts, out);
        if i == 2 {
            // ch(e, f, g) with a constant g: what is allocated is e ∧ (f ⊕ g), by bits of g plain or behind a `Not`.
            out.bits(u64::from(e & (f ^ g)), 32);
        }
        out.bits(self.a, 35);
        write_two(a_parts, out);
        if i == 2 {
            // The same of maj(a, b, c) with a constant c.
            out.bits(u64::from((a ^ c) & (b ^ c)), 32);
        }
        self.chain(i, word, ch, maj, e_parts[1], a_parts[1]);
    }

    #[inline(always)]
    fn round(&mut self, i: usize, word: u32, out: &mut Writer<'_>) {
        self.reduce();
        let Mixed { e_parts, ch, a_parts, maj, b_and_c } = self.mixed();
        out.bits(self.e, 35);
        write_two(e_parts, out);
        out.bits(u64::from(ch), 32);
        out.bits(self.a, 35);
        write_two(a_parts, out);
        out.bits(spread(maj) | spread(b_and_c) << 1, 64);
        self.chain(i, word, ch, maj, e_parts[1], a_parts[1]);
    }

    #[inline(always)]
    fn reduce(&mut self) {
        self.words[0] = self.a as u32;
        self.words[4] = self.e as u32;
    }

    #[inline(always)]
    fn mixed(&self) -> Mixed {
        let [a, b, c, _, e, f, g, _] = self.words;
        let parts = |word: u32, [first, second, third]: [u32; 3]| {
            let two = word.rotate_right(first) ^ word.rotate_right(second);
            [two, two ^ word.rotate_right(third)]
        };
        let b_and_c = b & c;
        Mixed {
            e_parts: parts(e, [6, 11, 25]),
            ch: (e & f) ^ (!e & g),
            a_parts: parts(a, [2, 13, 22]),
            maj: (a & (b ^ c)) ^ b_and_c,
            b_and_c,
        }
    }

    #[inline(always)]
    fn chain(&mut self, i: usize, word: u32, ch: u32, maj: u32, s1: u32, s0: u32) {
        let [a, b, c, d, e, f, g, h] = self.words;
        let first = sum([h, s1, ch, ROUND[i], word]);
        self.e = first + u64::from(d);
        self.a = first + sum([s0, maj]);
        self.words = [0, a, b, c, 0, e, f, g];
    }

    #[inline(always)]
    fn end(&self, state: &mut [u32; 8], out: &mut Writer<'_>) {
        let [_, b, c, d, _, f, g, h] = self.words;
        let [b, c, d, f, g, h] = [b, c, d, f, g, h].map(u64::from);
        for (index, (state, word)) in state.iter_mut().zip([self.a, b, c, d, self.e, f, g, h]).enumerate() {
            let sum = word + u64::from(*state);
            out.bits(sum, if index % 4 == 0 { 35 } else { 33 });
            *state = sum as u32;
        }
    }
}

/// What a round computes of the words before it.
struct Mixed {
    /// Two rotations of e, and all three.
    e_parts: [u32; 2],
    ch: u32,
    /// The same of a.
    a_parts: [u32; 2],
    maj: u32,
    b_and_c: u32,
}

#[inline(always)]
fn write_two([first, second]: [u32; 2], out: &mut Writer<'_>) {
    out.bits(u64::from(first) | u64::from(second) << 32, 64);
}

/// The bits of a word at even places.
#[inline(always)]
fn spread(word: u32) -> u64 {
    let mut bits = u64::from(word);
    bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff;
    bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff;
    bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    bits = (bits | bits << 2) & 0x3333_3333_3333_3333;
    (bits | bits << 1) & 0x5555_5555_5555_5555
}
