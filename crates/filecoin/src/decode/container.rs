//! From a path to the bytes of an input: files, stdin, gzip and zstd, never more than a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::Error;

/// Reads a file, or stdin for `-`, and decompresses it if it begins with the magic bytes of gzip or zstd. At most
/// `limit` bytes are read, and at most `limit` come out.
pub(super) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let bytes = if path == Path::new("-") {
        read_limited(io::stdin().lock(), path, limit)?
    } else {
        let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        if size > limit {
            return Err(Error::TooLarge { path: path.to_owned(), limit });
        }
        read_limited(file, path, limit)?
    };
    decompress(bytes, path, limit)
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

fn decompress(bytes: Vec<u8>, path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    if bytes.starts_with(GZIP) {
        read_limited(flate2::read::MultiGzDecoder::new(&bytes[..]), path, limit)
    } else if bytes.starts_with(ZSTD) {
        let decoder = ruzstd::decoding::StreamingDecoder::new(&bytes[..]);
        let decoder = decoder.map_err(|error| Error::Malformed {
            place: path.display().to_string(),
            message: format!("not zstd after all: {error}"),
        })?;
        read_limited(decoder, path, limit)
    } else {
        Ok(bytes)
    }
}

fn read_limited(source: impl Read, path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![];
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(Error::TooLarge { path: path.to_owned(), limit });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn both_compressions_are_undone() {
        let text = b"{\"some\": \"json\"}".repeat(1000);
        let zstd = ruzstd::encoding::compress_to_vec(&text[..], ruzstd::encoding::CompressionLevel::Fastest);
        for compressed in
            [gzip(&text), zstd, text.clone(), gzip(&text[..7]).into_iter().chain(gzip(&text[7..])).collect()]
        {
            assert_eq!(decompress(compressed, Path::new("x"), 1 << 20).unwrap(), text);
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit_and_damage_is_an_error() {
        let bomb = gzip(&vec![0; 10 << 20]);
        assert!(bomb.len() < 20_000);
        assert!(matches!(decompress(bomb.clone(), Path::new("x"), 1 << 20), Err(Error::TooLarge { .. })));
        assert!(matches!(
            decompress(bomb[..1000].to_vec(), Path::new("x"), 1 << 30),
            Err(Error::Unreadable { .. })
        ));
        assert!(decompress(ZSTD.to_vec(), Path::new("x"), 1 << 20).is_err());
        assert!(decompress(GZIP.to_vec(), Path::new("x"), 1 << 20).is_err());
    }
}
