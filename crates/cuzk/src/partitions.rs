//! Partitions by number: `--partitions`.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use cuzk_filecoin::Error;

/// Partitions by number, from 0: `0`, `0-4`, `0,3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartitionList(Vec<RangeInclusive<usize>>);

impl PartitionList {
    /// The partitions in ascending order, each once. An error if a statement of `partitions` does not have one.
    pub(crate) fn select(&self, partitions: usize) -> Result<Vec<usize>, Error> {
        if let Some(&asked) = self.0.iter().map(RangeInclusive::end).find(|end| **end >= partitions) {
            return Err(Error::NoSuchPartition { asked, partitions });
        }
        let selected: BTreeSet<usize> = self.0.iter().cloned().flatten().collect();
        Ok(selected.into_iter().collect())
    }

    /// Those that a flag lists, or all.
    pub(crate) fn select_or_all(list: Option<&Self>, partitions: usize) -> Result<Vec<usize>, Error> {
        list.map_or_else(|| Ok((0..partitions).collect()), |list| list.select(partitions))
    }
}

impl fmt::Display for PartitionList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().enumerate() {
            let (comma, first, last) = (if index > 0 { "," } else { "" }, range.start(), range.end());
            if first == last { write!(f, "{comma}{first}")? } else { write!(f, "{comma}{first}-{last}")? }
        }
        Ok(())
    }
}

impl FromStr for PartitionList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.trim()
                .parse::<usize>()
                .map_err(|_| format!("`{text}` is no number; `0`, `0-4`, `0,3` are lists"))
        };
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last { Err(format!("`{part}` ends before it begins")) } else { Ok(first..=last) }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(PartitionList)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sets_of_partitions() {
        let select = |text: &str, partitions| text.parse::<PartitionList>().unwrap().select(partitions);
        assert_eq!(select("0", 1).unwrap(), [0]);
        assert_eq!(select("3,0-1, 1", 4).unwrap(), [0, 1, 3]);
        assert!(matches!(select("0-4", 4), Err(Error::NoSuchPartition { asked: 4, partitions: 4 })));
        assert!(select("0-99999999999", 4).is_err(), "before it is counted out");
        for wrong in ["", "a", "1-", "2-1", "0,,1", "-1"] {
            assert!(wrong.parse::<PartitionList>().is_err(), "{wrong}");
        }
        assert_eq!(PartitionList::select_or_all(None, 3).unwrap(), [0, 1, 2]);
        assert_eq!(" 3, 0-1,7".parse::<PartitionList>().unwrap().to_string(), "3,0-1,7");
    }
}
