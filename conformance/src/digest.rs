//! Byte strings of fixed length as lower-case hexadecimal digits, and SHA-256 of files.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

/// `N` bytes, in JSON `2N` hexadecimal digits. Upper case is refused so that equal values are equal text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hex<const N: usize>(pub [u8; N]);

/// A SHA-256 digest.
pub type Sha256 = Hex<32>;

/// Text that is not `N` bytes in lower-case hexadecimal digits.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {digits} lower-case hexadecimal digits")]
pub struct NotHex {
    text: String,
    digits: usize,
}

impl<const N: usize> TryFrom<String> for Hex<N> {
    type Error = NotHex;

    fn try_from(text: String) -> Result<Self, NotHex> {
        let mut bytes = [0; N];
        let lower_case = !text.bytes().any(|digit| digit.is_ascii_uppercase());
        match hex::decode_to_slice(&text, &mut bytes) {
            Ok(()) if lower_case => Ok(Self(bytes)),
            _ => Err(NotHex { text, digits: 2 * N }),
        }
    }
}

impl<const N: usize> From<Hex<N>> for String {
    fn from(bytes: Hex<N>) -> Self {
        hex::encode(bytes.0)
    }
}

impl<const N: usize> std::fmt::Display for Hex<N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl<const N: usize> JsonSchema for Hex<N> {
    fn schema_name() -> Cow<'static, str> {
        format!("Hex{N}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": format!("{N} bytes as lower-case hexadecimal digits"),
            "type": "string",
            "pattern": format!("^[0-9a-f]{{{}}}$", 2 * N),
        })
    }
}

/// SHA-256 of bytes.
pub fn sha256(bytes: &[u8]) -> Sha256 {
    Hex(sha2::Sha256::digest(bytes).into())
}

/// SHA-256 of a file, read as a stream: an input may be larger than what one wants to hold.
pub fn sha256_file(path: &Path) -> io::Result<Sha256> {
    let mut hasher = sha2::Sha256::new();
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(Hex(hasher.finalize().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lower_case_of_the_right_length_is_read() {
        assert_eq!(Hex::<2>::try_from("00ff".to_owned()), Ok(Hex([0, 255])));
        for wrong in ["00FF", "00f", "00ff00", "00fg", ""] {
            assert!(Hex::<2>::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
