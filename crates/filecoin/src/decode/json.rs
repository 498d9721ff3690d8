//! JSON with errors that say what and where.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};

use crate::Error;

/// Parses a JSON value to its last byte.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8], place: &str) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| {
        let place = place.to_owned();
        match error.classify() {
            // An empty file is not the beginning of anything.
            serde_json::error::Category::Eof if !bytes.is_empty() => {
                Error::Truncated { place, line: error.line(), column: error.column() }
            }
            serde_json::error::Category::Data => Error::Malformed { place, message: error.to_string() },
            _ => Error::NotJson { place, message: error.to_string() },
        }
    })
}

/// The keys of a JSON object, none of them twice. Reads the whole value, so that bad JSON is found before anything is
/// built.
pub(super) fn top_level_keys(bytes: &[u8], place: &str) -> Result<BTreeSet<String>, Error> {
    struct Keys(BTreeSet<String>);
    struct KeysVisitor;
    impl<'de> Visitor<'de> for KeysVisitor {
        type Value = Keys;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a JSON object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
            let mut keys = BTreeSet::new();
            while let Some((key, IgnoredAny)) = map.next_entry::<String, _>()? {
                if keys.contains(&key) {
                    return Err(serde::de::Error::custom(format_args!("key `{key}` occurs twice")));
                }
                keys.insert(key);
            }
            Ok(Keys(keys))
        }
    }
    impl<'de> Deserialize<'de> for Keys {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_map(KeysVisitor)
        }
    }
    parse::<Keys>(bytes, place).map(|keys| keys.0)
}

/// Refuses an object without one of the keys of its shape.
pub(super) fn require(
    needed: &[&'static str],
    keys: &BTreeSet<String>,
    place: &str,
    shape: &'static str,
) -> Result<(), Error> {
    match needed.iter().find(|key| !keys.contains(**key)) {
        Some(key) => Err(Error::MissingKey { place: place.to_owned(), key, shape, keys: quoted(needed) }),
        None => Ok(()),
    }
}

/// `a`, `b`, `c`.
pub(super) fn quoted<S: fmt::Display>(keys: impl IntoIterator<Item = S>) -> String {
    keys.into_iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}
