//! From the bytes of a file to an [`Input`].
//!
//! Shapes, told apart by their content:
//!
//! * a JSON object: the C1 output as lotus-bench and curio write it (`SectorNum`, `Phase1Out`, `SectorSize`), the inner
//!   JSON of it (upstream's `SealCommitPhase1Output`), a snark-market request (`SectorID`, `PoRep`, `Snap`), or a
//!   `statement.json` ([`StatementFile`]), which names one of the others and carries the rest; keys in any order;
//! * a JSON array of base64 strings: vanilla proofs of a PoSt (one a sector) or a replica update (one a partition), each
//!   in bincode;
//! * bincode of `filecoin_proofs`' own C1 output.
//!
//! Any of them may be compressed with gzip or zstd. What is none of them is refused, never taken for raw bytes.

mod c1;
mod container;
mod json;

use std::collections::BTreeSet;
use std::path::Path;

use bincode::Options;
use cuzk_fault::{Fault, injected};
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub(crate) use c1::C1;
use json::{Elements, parse, quoted, require, top_level_keys};

use crate::post::Sectors;
use crate::snap::Partitions;
use crate::statement::STATEMENT_FILE_VERSION;
use crate::{Error, Kind, StatementFile};

/// Inputs larger than this are refused, before and after decompression, unless the limit is set: five times a C1 output
/// of a 32 GiB sector.
pub const MAX_INPUT_BYTES: u64 = 256 << 20;

/// Why something is not the bincode of a type.
pub(crate) type BincodeError = bincode::Error;

/// A decoded file.
#[derive(Debug)]
pub struct Input {
    /// What the file is, in words.
    pub shape: &'static str,
    /// The miner's actor id, where the file carries it.
    pub miner: Option<u64>,
    /// The sector number, where the file carries it.
    pub sector: Option<u64>,
    /// What the statement file said beside the input.
    pub statement_file: Option<StatementFile>,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    C1(Box<C1>),
    Post(Sectors),
    Snap { partitions: Partitions, commitments: Option<UpdateCommitments>, proof_type: Option<u64> },
}

/// The commitments of a replica update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UpdateCommitments {
    pub(crate) comm_r_old: [u8; 32],
    pub(crate) comm_r_new: [u8; 32],
    pub(crate) comm_d_new: [u8; 32],
}

const KNOWN: &str = "a C1 output (JSON with `Phase1Out`), its inner JSON (`vanilla_proofs`), a snark-market request \
                     (`SectorID`), a statement.json (`cuzk_statement`), an array of base64 vanilla proofs of a PoSt or \
                     a replica update, and bincode of a C1 output; each also in gzip or zstd";

const MARKET_KEYS: [&str; 3] = ["SectorID", "PoRep", "Snap"];
const STATEMENT_KEY: &str = "cuzk_statement";

impl Input {
    /// Reads and decodes a file, or stdin for `-`. At most `limit` bytes are read, and come out of decompression.
    /// `kind` chooses where more than one reading is possible, and is otherwise compared with what was found.
    pub fn open(path: &Path, kind: Option<Kind>, limit: u64) -> Result<Self, Error> {
        let bytes = container::read(path, limit)?;
        let place = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
        let Some(statement) = statement_file(&bytes, &place)? else {
            return Self::decode(&bytes, &place, kind);
        };
        let inner = path.parent().unwrap_or(Path::new("")).join(&statement.input);
        let bytes = container::read(&inner, limit)?;
        let place = inner.display().to_string();
        if statement_file(&bytes, &place)?.is_some() {
            let message = "a statement file names another statement file".to_owned();
            return Err(Error::Malformed { place, message });
        }
        let input = Self::decode(&bytes, &place, kind.or(Some(statement.kind)))?;
        Ok(Input { statement_file: Some(statement), ..input })
    }

    /// Decodes the bytes of anything but a statement file; `place` names them in messages.
    pub fn decode(bytes: &[u8], place: &str, kind: Option<Kind>) -> Result<Self, Error> {
        let input = match first_byte(bytes) {
            Some(b'{') => decode_object(bytes, place)?,
            Some(b'[') => decode_array(bytes, place, kind)?,
            _ => decode_other(bytes, place)?,
        };
        let found = input.content.kinds();
        match kind {
            Some(asked) if !found.contains(&asked) => Err(Error::OtherKind {
                place: place.to_owned(),
                found: input.shape.to_owned(),
                asked: asked.to_string(),
            }),
            _ => Ok(input),
        }
    }
}

impl Content {
    /// The kinds that the content can belong to.
    fn kinds(&self) -> &'static [Kind] {
        match self {
            Content::C1(_) => &[Kind::Porep],
            Content::Post(_) => &[Kind::WinningPost, Kind::WindowPost],
            Content::Snap { .. } => &[Kind::Snap],
        }
    }
}

fn first_byte(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

fn statement_file(bytes: &[u8], place: &str) -> Result<Option<StatementFile>, Error> {
    if first_byte(bytes) != Some(b'{') || !top_level_keys(bytes, place)?.contains(STATEMENT_KEY) {
        return Ok(None);
    }
    let statement: StatementFile = parse(bytes, place)?;
    if statement.cuzk_statement != STATEMENT_FILE_VERSION {
        let found = statement.cuzk_statement;
        let message =
            format!("version {found} of a statement file; this program reads {STATEMENT_FILE_VERSION}");
        return Err(Error::Malformed { place: place.to_owned(), message });
    }
    Ok(Some(statement))
}

fn decode_object(bytes: &[u8], place: &str) -> Result<Input, Error> {
    let keys = top_level_keys(bytes, place)?;
    let has = |shape: &[&str]| shape.iter().any(|key| keys.contains(*key));
    let shapes = [
        (has(&c1::OUTER_KEYS), "a C1 output"),
        (has(&c1::INNER_KEYS), "the inner JSON of a C1 output"),
        (has(&MARKET_KEYS), "a snark-market request"),
    ];
    let found: Vec<&str> = shapes.iter().filter(|(found, _)| *found).map(|(_, shape)| *shape).collect();
    match found[..] {
        ["a C1 output"] => {
            let (sector, c1) = c1::outer(bytes, place, &keys)?;
            Ok(Input { sector: Some(sector), ..Input::new("a C1 output", Content::C1(Box::new(c1))) })
        }
        ["the inner JSON of a C1 output"] => {
            let c1 = c1::inner(bytes, place, &keys)?;
            Ok(Input::new("the inner JSON of a C1 output", Content::C1(Box::new(c1))))
        }
        ["a snark-market request"] => decode_market(bytes, place, &keys),
        [] => {
            let found =
                if keys.is_empty() { "no keys".to_owned() } else { format!("keys {}", quoted(&keys)) };
            Err(unknown(place, format!("a JSON object with {found}")))
        }
        _ => {
            let message = format!("keys of more than one shape: {}", found.join(" and "));
            Err(Error::Malformed { place: place.to_owned(), message })
        }
    }
}

/// curio's request to a snark market, the only shape that carries the miner with the C1.
fn decode_market(bytes: &[u8], place: &str, keys: &BTreeSet<String>) -> Result<Input, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct SectorId {
        miner: u64,
        number: u64,
    }
    #[derive(Deserialize)]
    struct Market<'a> {
        #[serde(rename = "SectorID")]
        sector: SectorId,
        #[serde(rename = "PoRep", borrow)]
        porep: Option<&'a serde_json::value::RawValue>,
        #[serde(rename = "Snap")]
        snap: Option<MarketSnap>,
    }
    #[derive(Deserialize)]
    struct MarketSnap {
        #[serde(rename = "ProofType")]
        proof_type: u64,
        old_r: [u8; 32],
        new_r: [u8; 32],
        new_d: [u8; 32],
        #[serde(rename = "Proofs")]
        proofs: Elements,
    }
    require(&["SectorID"], keys, place, "a snark-market request")?;
    let malformed = |message: String| Error::Malformed { place: place.to_owned(), message };
    let market: Market<'_> = serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))?;
    let content = match (market.porep, market.snap) {
        (Some(porep), None) => {
            let (bytes, place) = (porep.get().as_bytes(), format!("PoRep in {place}"));
            Content::C1(Box::new(c1::inner(bytes, &place, &top_level_keys(bytes, &place)?)?))
        }
        (None, Some(snap)) => {
            let partitions = Partitions::from_bincode(&snap.proofs.0);
            Content::Snap {
                partitions: partitions.map_err(|error| malformed(format!("Proofs: {error}")))?,
                commitments: Some(UpdateCommitments {
                    comm_r_old: snap.old_r,
                    comm_r_new: snap.new_r,
                    comm_d_new: snap.new_d,
                }),
                proof_type: Some(snap.proof_type),
            }
        }
        (Some(_), Some(_)) => return Err(malformed("both PoRep and Snap are given".to_owned())),
        (None, None) => return Err(malformed("neither PoRep nor Snap is given".to_owned())),
    };
    let SectorId { miner, number } = market.sector;
    Ok(Input { miner: Some(miner), sector: Some(number), ..Input::new("a snark-market request", content) })
}

fn decode_array(bytes: &[u8], place: &str, kind: Option<Kind>) -> Result<Input, Error> {
    let Elements(elements) = parse(bytes, place)?;
    if elements.is_empty() {
        return Err(unknown(place, "an empty array".to_owned()));
    }
    let wanted = |kinds: &[Kind]| kind.is_none_or(|kind| kinds.contains(&kind));
    let post = Sectors::from_bincode(&elements);
    let snap = Partitions::from_bincode(&elements);
    match (post, snap) {
        (Ok(sectors), Err(_)) => Ok(Input::new("vanilla proofs of a PoSt", Content::Post(sectors))),
        (Err(_), Ok(partitions)) => Ok(Input::update(partitions)),
        (Ok(sectors), Ok(partitions)) => {
            match (wanted(&[Kind::WinningPost, Kind::WindowPost]), wanted(&[Kind::Snap])) {
                (true, false) => Ok(Input::new("vanilla proofs of a PoSt", Content::Post(sectors))),
                (false, true) => Ok(Input::update(partitions)),
                _ => {
                    let readings = "vanilla proofs of a PoSt or of a replica update".to_owned();
                    Err(Error::Ambiguous { place: place.to_owned(), readings })
                }
            }
        }
        (Err(post), Err(snap)) => Err(unknown(
            place,
            format!(
                "an array of {} base64 strings, which are not vanilla proofs of a PoSt ({post}) nor of a replica update \
                 ({snap})",
                elements.len()
            ),
        )),
    }
}

impl Input {
    fn new(shape: &'static str, content: Content) -> Self {
        Input { shape, miner: None, sector: None, statement_file: None, content }
    }

    fn update(partitions: Partitions) -> Self {
        let content = Content::Snap { partitions, commitments: None, proof_type: None };
        Input::new("vanilla proofs of a replica update", content)
    }
}

fn decode_other(bytes: &[u8], place: &str) -> Result<Input, Error> {
    if bytes.is_empty() {
        return Err(unknown(place, "an empty file".to_owned()));
    }
    for (mark, encoding) in [
        (&b"\xef\xbb\xbf"[..], "UTF-8 with a byte order mark"),
        (b"\xff\xfe", "UTF-16"),
        (b"\xfe\xff", "UTF-16"),
    ] {
        if bytes.starts_with(mark) {
            let message = format!("text in {encoding}; save it as UTF-8 without one");
            return Err(Error::NotJson { place: place.to_owned(), message });
        }
    }
    match c1::bincode(bytes, place)? {
        Ok(c1) => Ok(Input::new("bincode of a C1 output", Content::C1(Box::new(c1)))),
        // Text that is neither an object nor an array gets the parser's words.
        Err(_) if bytes.iter().take(64).all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => {
            Err(parse::<serde::de::IgnoredAny>(bytes, place)
                .err()
                .unwrap_or_else(|| unknown(place, "JSON, but neither an object nor an array".to_owned())))
        }
        Err(error) => Err(unknown(place, format!("bytes that are not bincode of a C1 output ({error})"))),
    }
}

fn unknown(place: &str, found: String) -> Error {
    Error::UnknownShape { place: place.to_owned(), found, known: KNOWN }
}

/// Decodes bincode as upstream writes it (little-endian, fixed-size integers, u64 lengths), to the last byte. A length
/// that promises more than there is fails before anything of that size is allocated.
pub(crate) fn from_bincode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BincodeError> {
    let options = bincode::DefaultOptions::new().with_fixint_encoding().with_limit(bytes.len() as u64);
    if injected(Fault::TrailingBytes) {
        return options.allow_trailing_bytes().deserialize(bytes);
    }
    options.deserialize(bytes)
}

/// Decodes each element of a list.
pub(crate) fn from_bincode_list<T: DeserializeOwned>(elements: &[Vec<u8>]) -> Result<Vec<T>, BincodeError> {
    elements.iter().map(|element| from_bincode(element)).collect()
}
