//! Shapes of the trees of a sector, as their arities from the leaves up.

use crate::SectorSize;

/// The trees C, R and R-last, hashed with Poseidon: 8-0-0 up to 512 MiB, 8-8-0 at 32 GiB, 8-8-2 at 64 GiB.
pub(crate) fn replica_arities(size: SectorSize) -> Vec<usize> {
    let above: &[usize] = match size {
        SectorSize::KiB2 | SectorSize::MiB8 | SectorSize::MiB512 => &[],
        SectorSize::GiB32 => &[8],
        SectorSize::GiB64 => &[8, 2],
    };
    let base_leaves = size.nodes() / above.iter().product::<usize>();
    let base = std::iter::repeat_n(8, base_leaves.ilog(8) as usize);
    base.chain(above.iter().copied()).collect()
}

/// The tree of the data, hashed with truncated SHA-256.
pub(crate) fn data_arities(size: SectorSize) -> Vec<usize> {
    vec![2; size.nodes().ilog2() as usize]
}

/// The sector size whose replica trees have this many steps in a path.
pub(crate) fn size_of_path(steps: usize) -> Option<SectorSize> {
    SectorSize::ALL.into_iter().find(|size| replica_arities(*size).len() == steps)
}

/// The sector size whose data tree has this many steps in a path.
pub(crate) fn size_of_data_path(steps: usize) -> Option<SectorSize> {
    SectorSize::ALL.into_iter().find(|size| data_arities(*size).len() == steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        assert_eq!(replica_arities(SectorSize::KiB2), [8; 2]);
        assert_eq!(replica_arities(SectorSize::MiB8), [8; 6]);
        assert_eq!(replica_arities(SectorSize::MiB512), [8; 8]);
        assert_eq!(replica_arities(SectorSize::GiB32), [8; 10]);
        assert_eq!(replica_arities(SectorSize::GiB64), [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 2]);
        for size in SectorSize::ALL {
            assert_eq!(replica_arities(size).iter().product::<usize>(), size.nodes());
            assert_eq!(data_arities(size).iter().product::<usize>(), size.nodes());
            assert_eq!(size_of_path(replica_arities(size).len()), Some(size));
            assert_eq!(size_of_data_path(data_arities(size).len()), Some(size));
        }
    }
}
