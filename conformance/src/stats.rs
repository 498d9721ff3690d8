//! Times of two ways that were measured in pairs: how they differ, and whether that can be chance.
//!
//! All is done with dᵢ = ln(newᵢ/oldᵢ), which is as far from 0 for a half as for the double.
//!
//! - The *interval* of the ratio is the percentile interval of a paired bootstrap of the median (Efron and Tibshirani, "An
//!   Introduction to the Bootstrap", 1993, chapter 13): pairs are drawn again with replacement.
//! - The *chance* that a difference is none is twice the lesser of two, one-sided and exact: of Wilcoxon's signed-rank test, which sees
//!   more where noise is even and needs no distribution but one that is symmetric about its median; and of the sign test, which needs
//!   not even that, and sees more where a part of the runs is disturbed: of ten gates on a machine where a phase took 2.5 times as long in
//!   a tenth to a fifth of the runs of either side, it found 15 % in six, the signed ranks alone in three (30 pairs, 2026-11-30).
//! - Of the many chances of one comparison, one for each phase and direction, Holm's procedure rejects so many that to reject any
//!   that is true is at most as likely as asked for ("A simple sequentially rejective multiple test procedure", 1979).
//! - A difference is *shown* where its chance is rejected and the median of the ratios is beyond the margin: one that is there but
//!   too small to matter is none.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use serde::Serialize;

/// Times in milliseconds, above 0; those at the same place were measured one after the other.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Of the way that is compared with.
    pub old: Vec<f64>,
    /// Of the other.
    pub new: Vec<f64>,
}

/// What pairs tell.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Median, ms.
    pub old_ms: f64,
    /// Median, ms.
    pub new_ms: f64,
    /// The median of new/old.
    pub ratio: f64,
    /// It lies in there with 95 %.
    pub interval: [f64; 2],
    /// The chance of such times if new were no slower.
    pub p_slower: f64,
    /// That if new were no faster.
    pub p_faster: f64,
    /// Pairs farther from the median than five deviations.
    pub outliers: usize,
    /// The deviation of dᵢ, from their median absolute deviation: 0.1 means that ratios differ by 10 %.
    pub deviation: f64,
}

/// What is shown, at a margin and an error rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// New takes less time, beyond the margin.
    Faster,
    /// New takes more time, beyond the margin.
    Slower,
    /// Neither.
    NoDifferenceShown,
}

/// The deviation of normally distributed values is so many times their median absolute deviation.
const NORMAL: f64 = 1.4826;
const OUTLIER_DEVIATIONS: f64 = 5.0;
/// With a greater deviation a comparison is called noisy.
pub const NOISY: f64 = 0.1;
const RESAMPLES: usize = 2000;

impl Comparison {
    /// Of at least one pair, and as many times on both sides.
    pub fn of(pairs: &Pairs) -> Self {
        assert_eq!(pairs.old.len(), pairs.new.len(), "pairs");
        let logs: Vec<f64> = pairs.old.iter().zip(&pairs.new).map(|(old, new)| (new / old).ln()).collect();
        let middle = median(&logs);
        let distances: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
        let deviation = NORMAL * median(&distances);
        let far = |distance: &&f64| deviation > 0.0 && **distance > OUTLIER_DEVIATIONS * deviation;
        let opposite: Vec<f64> = logs.iter().map(|log| -log).collect();
        Comparison {
            old_ms: median(&pairs.old),
            new_ms: median(&pairs.new),
            ratio: middle.exp(),
            interval: bootstrap_interval(&logs).map(f64::exp),
            p_slower: chance(&logs),
            p_faster: chance(&opposite),
            outliers: distances.iter().filter(far).count(),
            deviation,
        }
    }
}

/// The middle one, or the mean of the two in the middle; not a number for none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// 95 % of the medians of values drawn again lie in there. The same values give the same interval.
fn bootstrap_interval(values: &[f64]) -> [f64; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let n = values.len();
    let mut draw = || values[(rng.next_u64() % n as u64) as usize];
    let mut medians: Vec<f64> =
        (0..RESAMPLES).map(|_| median(&(0..n).map(|_| draw()).collect::<Vec<_>>())).collect();
    medians.sort_by(f64::total_cmp);
    [0.025, 0.975].map(|part| medians[(part * (RESAMPLES - 1) as f64).round() as usize])
}

/// The chance of such values if positive ones were no more likely: of two tests the one that sees more, paid for by the factor.
fn chance(values: &[f64]) -> f64 {
    (2.0 * signed_rank(values).min(sign(values))).min(1.0)
}

/// The chance that as many values are positive, or more, if every value could as well have the other sign. Values that are 0 are left out.
pub fn sign(values: &[f64]) -> f64 {
    let n = values.iter().filter(|value| **value != 0.0).count() as u32;
    let negative = values.iter().filter(|value| **value < 0.0).count() as u32;
    // ln C(n, k)/2ⁿ, from k = 0 on: the parts themselves are too small for a number where there are more than a thousand pairs.
    let mut part = f64::from(n) * 0.5f64.ln();
    let mut sum = part.exp();
    for k in 0..negative {
        part += (f64::from(n - k) / f64::from(k + 1)).ln();
        sum += part.exp();
    }
    sum.min(1.0)
}

/// The chance that the ranks of the positive values sum up to as much as they do, or more, if every value could as well have the
/// other sign: of the 2ⁿ choices of signs, the part that does. Values that are 0 are left out; equal ones share their ranks.
pub fn signed_rank(values: &[f64]) -> f64 {
    let mut values: Vec<f64> = values.iter().copied().filter(|value| *value != 0.0).collect();
    values.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    // Doubled, so that shared ranks are whole.
    let mut ranks = vec![0; values.len()];
    let mut start = 0;
    while start < values.len() {
        let same = |value: &&f64| value.abs() == values[start].abs();
        let end = start + values[start..].iter().take_while(same).count();
        ranks[start..end].fill(start + end + 1);
        start = end;
    }
    let positive: usize =
        ranks.iter().zip(&values).filter(|(_, value)| **value > 0.0).map(|(rank, _)| rank).sum();
    // The part of the choices with each sum.
    let mut parts = vec![0.0; ranks.iter().sum::<usize>() + 1];
    parts[0] = 1.0;
    for rank in ranks {
        for sum in (0..parts.len()).rev() {
            let with = if sum >= rank { parts[sum - rank] } else { 0.0 };
            parts[sum] = (parts[sum] + with) / 2.0;
        }
    }
    parts[positive..].iter().sum::<f64>().min(1.0)
}

/// Which of the hypotheses with these chances are rejected, so that to reject any that is true is at most as likely as
/// `error_rate`.
pub fn holm(chances: &[f64], error_rate: f64) -> Vec<bool> {
    let mut by_chance: Vec<usize> = (0..chances.len()).collect();
    by_chance.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let mut rejected = vec![false; chances.len()];
    for (rank, index) in by_chance.into_iter().enumerate() {
        if chances[index] > error_rate / (chances.len() - rank) as f64 {
            break;
        }
        rejected[index] = true;
    }
    rejected
}

/// What comparisons that are made together show.
pub fn verdicts(comparisons: &[&Comparison], margin: f64, error_rate: f64) -> Vec<Verdict> {
    let chances = comparisons.iter().flat_map(|comparison| [comparison.p_slower, comparison.p_faster]);
    let rejected = holm(&chances.collect::<Vec<_>>(), error_rate);
    let verdict = |(comparison, both): (&&Comparison, &[bool])| match both {
        [true, _] if comparison.ratio > 1.0 + margin => Verdict::Slower,
        [_, true] if comparison.ratio < 1.0 / (1.0 + margin) => Verdict::Faster,
        _ => Verdict::NoDifferenceShown,
    };
    comparisons.iter().zip(rejected.chunks(2)).map(verdict).collect()
}

/// The fewest pairs with which one of so many comparisons can show anything: all of them agree with a chance of 2⁻ⁿ in either test.
pub fn least_pairs(n_comparisons: usize, error_rate: f64) -> usize {
    let chance = error_rate / (2 * n_comparisons.max(1)) as f64;
    (1.0 - chance.log2()).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From tables of the test's critical values, one-sided: with n values, the greatest rank sum of the *other* sign that is still
    /// significant.
    #[test]
    fn signed_ranks_are_those_of_the_tables() {
        // All of five positive: 1/32.
        assert_eq!(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]), 1.0 / 32.0);
        // n = 10, level 0.05: a sum of 10 is significant, 11 is not; level 0.01: 5 and 6.
        let with_negative = |n: usize, negative: &[usize]| {
            let value = |rank: usize| if negative.contains(&rank) { -(rank as f64) } else { rank as f64 };
            signed_rank(&(1..=n).map(value).collect::<Vec<_>>())
        };
        assert!(with_negative(10, &[10]) <= 0.05 && with_negative(10, &[1, 10]) > 0.05);
        assert!(with_negative(10, &[5]) <= 0.01 && with_negative(10, &[6]) > 0.01);
        // n = 15, level 0.05: 30 and 31.
        assert!(with_negative(15, &[15, 14, 1]) <= 0.05 && with_negative(15, &[15, 14, 2]) > 0.05);
        // None and all negative.
        assert_eq!((signed_rank(&[]), signed_rank(&[-1.0, -2.0])), (1.0, 1.0));
        // Ties and zeros: of two equal ones, both signs the same way is a quarter.
        assert_eq!(signed_rank(&[1.0, 1.0, 0.0]), 0.25);
    }

    /// Binomial coefficients: 1, 1 + 10, 1 + 10 + 45 of 1024.
    #[test]
    fn signs_are_counted() {
        let with_negative = |n: usize, negative: usize| {
            sign(&(0..n).map(|i| if i < negative { -1.0 } else { 1.0 }).collect::<Vec<_>>())
        };
        for (negative, ways) in [(0, 1.0), (1, 11.0), (2, 56.0), (10, 1024.0)] {
            assert!((with_negative(10, negative) - ways / 1024.0).abs() < 1e-12, "{negative}");
        }
        assert_eq!((sign(&[]), sign(&[0.0, 1.0])), (1.0, 0.5));
        // As many pairs as can be asked for, whose least parts are too small for a number: half of them show nothing.
        for n in [1000, 2000, 10_000] {
            let half = with_negative(n, n / 2);
            assert!(half > 0.5 && half < 0.52, "{n}: {half}");
            assert!(with_negative(n, n / 4) < 1e-9);
        }
    }

    /// A part of the runs of either side takes 2.5 times as long: 15 % are found all the same.
    #[test]
    fn disturbed_runs_do_not_hide_a_difference() {
        let mut old = vec![100.0; 30];
        let mut new = vec![115.0; 30];
        old[..3].fill(250.0);
        new[3..7].fill(280.0);
        let comparison = Comparison::of(&Pairs { old, new });
        assert!(
            signed_rank(&[-0.78; 3].into_iter().chain([0.89; 4]).chain([0.14; 23]).collect::<Vec<_>>())
                > 1e-4
        );
        assert!(comparison.p_slower < 1e-5, "{comparison:?}");
        assert_eq!(verdicts(&[&comparison; 13], 0.05, 0.01), [Verdict::Slower; 13]);
    }

    /// The example of Holm's procedure: 0.01 ≤ 0.05/4, 0.013 ≤ 0.05/3, 0.03 > 0.05/2.
    #[test]
    fn holm_stops_at_the_first_that_stands() {
        assert_eq!(holm(&[0.03, 0.01, 0.04, 0.013], 0.05), [false, true, false, true]);
        assert_eq!(holm(&[], 0.05), [false; 0]);
    }

    #[test]
    fn ratios_and_intervals() {
        let pairs = Pairs { old: vec![100.0; 12], new: (0..12).map(|i| 119.0 + f64::from(i % 3)).collect() };
        let comparison = Comparison::of(&pairs);
        assert!((comparison.ratio - 1.2).abs() < 0.005, "{comparison:?}");
        assert!(comparison.interval[0] >= 1.19 && comparison.interval[1] <= 1.21, "{comparison:?}");
        assert_eq!((comparison.p_slower, comparison.outliers), (2.0 / 4096.0, 0));
        assert_eq!(verdicts(&[&comparison], 0.05, 0.01), [Verdict::Slower]);
        let swapped = Pairs { old: pairs.new, new: pairs.old };
        let comparison = Comparison::of(&swapped);
        assert_eq!(verdicts(&[&comparison], 0.05, 0.01), [Verdict::Faster]);
        // Within the margin, nothing is shown.
        let within = Pairs { old: vec![100.0; 12], new: vec![104.0; 12] };
        assert_eq!(verdicts(&[&Comparison::of(&within)], 0.05, 0.01), [Verdict::NoDifferenceShown]);
    }

    /// Noise of 5 %, and of fifty runs one that a neighbour disturbed: to call a binary slower or faster than itself is rarer than asked
    /// for, and 15 % are found.
    #[test]
    fn noise_is_no_difference_and_a_difference_is_found() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let (mut wrong, mut found) = (0, 0);
        const RUNS: usize = 100;
        for _ in 0..RUNS {
            let mut time = |slowdown: f64| {
                let noise: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                let disturbed = if uniform() < 0.02 { 2.0 } else { 1.0 };
                100.0 * slowdown * disturbed * (0.05 * noise).exp()
            };
            let mut phases = |slowdown: f64| -> Vec<Comparison> {
                let mut pairs = |_| Pairs {
                    old: (0..30).map(|_| time(1.0)).collect(),
                    new: (0..30).map(|_| time(slowdown)).collect(),
                };
                (0..8).map(|phase| Comparison::of(&pairs(phase))).collect()
            };
            let same = phases(1.0);
            let shown = verdicts(&same.iter().collect::<Vec<_>>(), 0.05, 0.01);
            wrong += usize::from(shown.iter().any(|verdict| *verdict != Verdict::NoDifferenceShown));
            let mut one_slower = same;
            one_slower[3] = phases(1.15).remove(0);
            let shown = verdicts(&one_slower.iter().collect::<Vec<_>>(), 0.05, 0.01);
            found += usize::from(shown[3] == Verdict::Slower);
        }
        // The margin makes errors rarer still than 1 %.
        assert!(wrong <= 1, "{wrong} of {RUNS}");
        assert!(found >= RUNS * 95 / 100, "{found} of {RUNS}, {wrong} wrong");
    }

    #[test]
    fn so_many_pairs_are_needed() {
        assert_eq!(least_pairs(1, 0.01), 9);
        assert_eq!(least_pairs(10, 0.01), 12);
    }
}
