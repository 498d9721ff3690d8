//! From the bytes of a file to an [`Input`].
//!
//! Shapes, told apart by their top-level keys, in any order:
//!
//! * the C1 output as lotus-bench and curio write it: `SectorNum`, `Phase1Out` (base64 of the inner JSON), `SectorSize`;
//! * the inner JSON alone: upstream's `SealCommitPhase1Output`;
//! * a `statement.json` ([`StatementFile`]), which names one of the others and carries the rest.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use filecoin_proofs_api::seal::SealCommitPhase1Output;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};

use crate::layout::ChallengeLayout;
use crate::statement::STATEMENT_FILE_VERSION;
use crate::{Error, SectorSize, StatementFile};

/// Inputs larger than this are refused before they are read: five times a C1 output of a 32 GiB sector.
pub const MAX_INPUT_BYTES: u64 = 256 << 20;

/// A decoded file.
#[derive(Debug)]
pub struct Input {
    /// The outer shape's sector number.
    pub sector: Option<u64>,
    /// What the statement file said beside the input.
    pub statement_file: Option<StatementFile>,
    pub(crate) phase1: SealCommitPhase1Output,
    pub(crate) layouts: Vec<Vec<ChallengeLayout>>,
}

#[derive(Deserialize)]
struct Outer {
    #[serde(rename = "SectorNum")]
    sector: u64,
    #[serde(rename = "Phase1Out")]
    phase1: String,
    #[serde(rename = "SectorSize")]
    sector_size: u64,
}

const OUTER_KEYS: [&str; 3] = ["SectorNum", "Phase1Out", "SectorSize"];
const INNER_KEYS: [&str; 7] =
    ["registered_proof", "vanilla_proofs", "comm_r", "comm_d", "replica_id", "seed", "ticket"];

impl Input {
    /// Reads and decodes a file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let bytes = read_limited(path)?;
        let place = path.display().to_string();
        let keys = top_level_keys(&bytes, &place)?;
        if keys.contains("cuzk_statement") {
            let statement: StatementFile = parse(&bytes, &place)?;
            if statement.cuzk_statement != STATEMENT_FILE_VERSION {
                let found = statement.cuzk_statement;
                let message = format!(
                    "version {found} of a statement file; this program reads {STATEMENT_FILE_VERSION}"
                );
                return Err(Error::Malformed { place, message });
            }
            let input = path.parent().unwrap_or(Path::new("")).join(&statement.input);
            let bytes = read_limited(&input)?;
            let input = Self::decode(&bytes, &input.display().to_string())?;
            return Ok(Input { statement_file: Some(statement), ..input });
        }
        Self::decode_keyed(&bytes, &place, &keys)
    }

    /// Decodes a C1 output, outer or inner; `place` names it in messages.
    pub fn decode(bytes: &[u8], place: &str) -> Result<Self, Error> {
        let keys = top_level_keys(bytes, place)?;
        Self::decode_keyed(bytes, place, &keys)
    }

    fn decode_keyed(bytes: &[u8], place: &str, keys: &BTreeSet<String>) -> Result<Self, Error> {
        if OUTER_KEYS.iter().any(|key| keys.contains(*key)) {
            require(&OUTER_KEYS, keys, place, "a C1 output")?;
            let outer: Outer = parse(bytes, place)?;
            let place = format!("Phase1Out in {place}");
            let inner = STANDARD.decode(outer.phase1).map_err(|error| Error::Malformed {
                place: place.clone(),
                message: format!("not base64: {error}"),
            })?;
            let keys = top_level_keys(&inner, &place)?;
            let input = Self::decode_inner(&inner, &place, &keys)?;
            input.check_sector_size(outer.sector_size)?;
            Ok(Input { sector: Some(outer.sector), ..input })
        } else if INNER_KEYS.iter().any(|key| keys.contains(*key)) {
            Self::decode_inner(bytes, place, keys)
        } else {
            let found = if keys.is_empty() { "none".to_owned() } else { quoted(keys) };
            Err(Error::UnknownShape { place: place.to_owned(), found })
        }
    }

    fn decode_inner(bytes: &[u8], place: &str, keys: &BTreeSet<String>) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Layouts {
            vanilla_proofs: std::collections::BTreeMap<String, Vec<Vec<ChallengeLayout>>>,
        }
        require(&INNER_KEYS, keys, place, "the inner JSON of a C1 output")?;
        let phase1 = parse(bytes, place)?;
        let layouts: Layouts = parse(bytes, place)?;
        let layouts = layouts.vanilla_proofs.into_values().next().unwrap_or_default();
        Ok(Input { sector: None, statement_file: None, phase1, layouts })
    }

    fn check_sector_size(&self, outer: u64) -> Result<(), Error> {
        let inner = self.sector_size()?;
        if inner.bytes() != outer {
            let registered_proof = format!("{:?}", self.phase1.registered_proof);
            return Err(Error::SectorSizes { outer, registered_proof, inner });
        }
        Ok(())
    }

    pub(crate) fn sector_size(&self) -> Result<SectorSize, Error> {
        let registered_proof = self.phase1.registered_proof;
        SectorSize::from_bytes(registered_proof.sector_size().0)
            .ok_or_else(|| Error::Unsupported { registered_proof: format!("{registered_proof:?}") })
    }
}

/// Reads a file of at most [`MAX_INPUT_BYTES`] bytes, even when it grows meanwhile.
fn read_limited(path: &Path) -> Result<Vec<u8>, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    let too_large = |bytes| Error::TooLarge { path: path.to_owned(), bytes, limit: MAX_INPUT_BYTES };
    if bytes > MAX_INPUT_BYTES {
        return Err(too_large(bytes));
    }
    let mut content = Vec::with_capacity(bytes as usize);
    file.take(MAX_INPUT_BYTES + 1).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > MAX_INPUT_BYTES {
        return Err(too_large(content.len() as u64));
    }
    Ok(content)
}

/// The keys of a JSON object. Reads the whole value, so that bad JSON is found before anything is built.
fn top_level_keys(bytes: &[u8], place: &str) -> Result<BTreeSet<String>, Error> {
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
                if !keys.insert(key.clone()) {
                    return Err(serde::de::Error::custom(format_args!("key `{key}` occurs twice")));
                }
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

fn parse<T: DeserializeOwned>(bytes: &[u8], place: &str) -> Result<T, Error> {
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

fn require(
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

fn quoted<S: fmt::Display>(keys: impl IntoIterator<Item = S>) -> String {
    keys.into_iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}
