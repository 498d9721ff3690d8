//! Memory in huge pages.
//!
//! A sum gathers points from all over hundreds of megabytes, and with pages of 4 KiB most of the gathers miss the
//! translation cache, too.

use std::mem::MaybeUninit;

/// `n` times `value`, in memory of which the kernel is asked for huge pages.
pub(crate) fn huge_vec<T: Copy>(value: T, n: usize) -> Vec<T> {
    let mut vec = Vec::with_capacity(n);
    ask_for_huge_pages(vec.spare_capacity_mut());
    vec.resize(n, value);
    vec
}

/// For the whole huge pages within `memory`. A kernel that has none to give changes nothing but the time that it takes.
fn ask_for_huge_pages<T>(memory: &mut [MaybeUninit<T>]) {
    #[cfg(target_os = "linux")]
    {
        const HUGE_PAGE_BYTES: usize = 2 << 20;
        let start = memory.as_mut_ptr().cast::<u8>();
        let skipped = start.align_offset(HUGE_PAGE_BYTES);
        let n_bytes = size_of_val(memory).saturating_sub(skipped) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
        if n_bytes > 0 {
            // SAFETY: the range lies within `memory`, and the advice concerns the pages behind it, not what they hold.
            unsafe { libc::madvise(start.wrapping_add(skipped).cast(), n_bytes, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_every_size() {
        for n in [0, 1, 1000, (2 << 20) / 8, (5 << 20) / 8] {
            let vec = huge_vec(7u64, n);
            assert!(vec.len() == n && vec.iter().all(|value| *value == 7));
        }
    }
}
