//! JSON with errors that say what and where.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};

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

/// No object of a known shape has nearly as many keys.
const MAX_KEYS: usize = 64;
/// No list of a known shape has nearly as many elements (a PoSt of a deadline has 48 partitions of 2,349 sectors). An
/// empty list takes two bytes in a file and 24 in memory.
pub(super) const MAX_ELEMENTS: usize = 1 << 17;

/// The keys of a JSON object, none of them twice. Reads the whole value, so that bad JSON, and lists that are long for
/// the sake of it, are found before anything is built.
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
            while let Some((key, Short)) = map.next_entry::<String, _>()? {
                if keys.contains(&key) {
                    return Err(serde::de::Error::custom(format_args!("key `{key}` occurs twice")));
                }
                if keys.len() == MAX_KEYS {
                    return Err(serde::de::Error::custom(format_args!("more than {MAX_KEYS} keys")));
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

/// Any value in which no list, be it the value or a value of an object in it, has more than [`MAX_ELEMENTS`]; what is
/// in the lists is not looked at.
struct Short;

impl<'de> Deserialize<'de> for Short {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShortVisitor)
    }
}

struct ShortVisitor;

impl<'de> Visitor<'de> for ShortVisitor {
    type Value = Short;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Short, A::Error> {
        let mut n = 0;
        while let Some(IgnoredAny) = list.next_element()? {
            n += 1;
            if n > MAX_ELEMENTS {
                return Err(serde::de::Error::custom(format_args!("a list of more than {MAX_ELEMENTS}")));
            }
        }
        Ok(Short)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Short, A::Error> {
        while let Some((IgnoredAny, Short)) = map.next_entry()? {}
        Ok(Short)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Short, E> {
        Ok(Short)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Short, E> {
        Ok(Short)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Short, E> {
        Ok(Short)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Short, E> {
        Ok(Short)
    }

    fn visit_str<E>(self, _: &str) -> Result<Short, E> {
        Ok(Short)
    }

    fn visit_unit<E>(self) -> Result<Short, E> {
        Ok(Short)
    }
}

/// A list of base64 strings, decoded as they come.
pub(super) struct Elements(pub(super) Vec<Vec<u8>>);

/// Fewer bytes are no vanilla proof: a sector's begins with its number and comm_r.
const MIN_ELEMENT_BYTES: usize = 40;

impl<'de> Deserialize<'de> for Elements {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ElementsVisitor)
    }
}

struct ElementsVisitor;

impl<'de> Visitor<'de> for ElementsVisitor {
    type Value = Elements;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of base64 strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Elements, A::Error> {
        let mut elements = vec![];
        while let Some(element) = list.next_element::<Cow<'de, str>>()? {
            let index = elements.len();
            let refused = |what: String| serde::de::Error::custom(format!("vanilla proof {index} {what}"));
            let bytes = STANDARD
                .decode(element.as_bytes())
                .map_err(|error| refused(format!("is not base64: {error}")))?;
            if bytes.len() < MIN_ELEMENT_BYTES {
                return Err(refused(format!("has {} bytes, less than any has", bytes.len())));
            }
            if index == MAX_ELEMENTS {
                return Err(serde::de::Error::custom(format_args!("more than {MAX_ELEMENTS} proofs")));
            }
            elements.push(bytes);
        }
        Ok(Elements(elements))
    }
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
