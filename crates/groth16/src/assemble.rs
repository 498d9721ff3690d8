//! From five multi-scalar sums and the verifying key to the proof.

use blstrs::{G1Projective, G2Projective};
use cuzk_fault::{Fault, injected};
use ff::Field;
use group::{Curve, Group};

use crate::{Blinding, Error, Fr, Proof, VerifyingKey};

/// The five sums that a backend computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MsmResults {
    /// Σ hⱼ·Hⱼ.
    pub h: G1Projective,
    /// Σ wᵢ·Lᵢ over the aux variables.
    pub l: G1Projective,
    /// Σ wᵢ·Aᵢ over inputs and aux variables.
    pub a: G1Projective,
    /// Σ wᵢ·Bᵢ in G1.
    pub b_g1: G1Projective,
    /// Σ wᵢ·Bᵢ in G2.
    pub b_g2: G2Projective,
}

/// The proof from the sums (equations in the crate's documentation). Seven scalar multiplications, under 2 ms.
///
/// A key whose δ is the point at infinity is refused: with it, anybody could prove anything.
pub fn assemble(key: &VerifyingKey, sums: &MsmResults, blinding: &Blinding) -> Result<Proof, Error> {
    let (r, s) = match injected(Fault::BlindingExchanged) {
        true => (blinding.s, blinding.r),
        false => (blinding.r, blinding.s),
    };
    let delta_g1 = G1Projective::from(key.delta_g1);
    let delta_g2 = G2Projective::from(key.delta_g2);
    if bool::from(delta_g1.is_identity() | delta_g2.is_identity()) {
        return Err(Error::DeltaAtInfinity);
    }
    let a = sums.a + key.alpha_g1 + delta_g1 * r;
    let b = sums.b_g2 + key.beta_g2 + delta_g2 * s;
    let b_g1 = sums.b_g1 + key.beta_g1 + delta_g1 * s;
    let l = if injected(Fault::SumLost) { G1Projective::identity() } else { sums.l };
    let rs = if injected(Fault::BlindingProduct) { Fr::ZERO } else { r * s };
    let c = l + sums.h + a * s + b_g1 * r - delta_g1 * rs;
    Ok(Proof { a: a.to_affine(), b: b.to_affine(), c: c.to_affine() })
}
