//! What any input may cost, as the kernel measured it: whether it is large, hostile or both.
//!
//! The kernel counts what this process has in memory while it forks as the child's, so nothing large is held here.

mod common;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{cuzk, golden, run};
use flate2::Compression;
use flate2::write::GzEncoder;
use wait4::Wait4;

const MIB: u64 = 1 << 20;
/// What `--max-input` allows by default: the decompressed size that counts for a bomb.
const MAX_INPUT: u64 = 256 * MIB;

struct Cost {
    exit_code: i32,
    peak_rss: u64,
    elapsed: Duration,
}

fn inspect(input: &Path) -> Cost {
    let start = Instant::now();
    let child = cuzk()
        .arg("inspect")
        .arg(input)
        .args(["--miner", "1000", "--sector", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let ended = child.wait4().expect("a child");
    Cost {
        exit_code: ended.status.code().expect("no signal"),
        peak_rss: ended.rusage.maxrss,
        elapsed: start.elapsed(),
    }
}

/// 4 × the decompressed size + 64 MiB.
fn assert_cheap(input: &Path, decompressed: u64) -> i32 {
    let Cost { exit_code, peak_rss, elapsed } = inspect(input);
    let allowed = 4 * decompressed + 64 * MIB;
    let input = input.display();
    assert!(peak_rss <= allowed, "{input}: {} MiB of {} MiB", peak_rss / MIB, allowed / MIB);
    // A second on a machine of its own. Tests share theirs, so only what hangs is told from what does not.
    assert!(elapsed < Duration::from_secs(20), "{input}: {elapsed:?}");
    exit_code
}

#[test]
fn a_32_gib_c1_output_is_cheap_to_read_also_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    run(&["fixture", "porep", "--synthetic", "--sector-size", "32GiB", "--out", &out]);
    let c1 = folder.path().join("c1.json");
    let open = || fs::File::open(&c1).expect("the fixture");
    let size = open().metadata().unwrap().len();
    assert!(size > 50 * 1_000_000, "as large as a real one: {size} bytes");
    assert_eq!(assert_cheap(&c1, size), 0);

    let compressed = folder.path().join("c1.json.gz");
    let mut encoder = GzEncoder::new(fs::File::create(&compressed).unwrap(), Compression::fast());
    io::copy(&mut open(), &mut encoder).and_then(|_| encoder.finish()).unwrap();
    assert_eq!(assert_cheap(&compressed, size), 0);

    let half = folder.path().join("half.json");
    io::copy(&mut open().take(size / 2), &mut fs::File::create(&half).unwrap()).unwrap();
    assert_eq!(assert_cheap(&half, size / 2), 2);
}

#[test]
fn no_golden_input_costs_more_than_its_size_allows() {
    let mut inputs = 0;
    for case in fs::read_dir(golden(".")).unwrap() {
        for file in ["c1.json", "vanilla.json"] {
            let input: PathBuf = case.as_ref().unwrap().path().join(file);
            let Ok(bytes) = fs::read(&input) else { continue };
            let bomb = bytes.starts_with(&[0x1f, 0x8b]);
            assert_cheap(&input, if bomb { MAX_INPUT } else { bytes.len() as u64 });
            inputs += 1;
        }
    }
    assert!(inputs >= 15, "{inputs}");
}

/// 32 MiB of `item` between `open` and `close`; the size.
fn write_repeated(path: &Path, open: &str, item: &str, close: &str) -> io::Result<u64> {
    let mut file = io::BufWriter::new(fs::File::create(path)?);
    file.write_all(open.as_bytes())?;
    (0..(32 * MIB as usize) / item.len()).try_for_each(|_| file.write_all(item.as_bytes()))?;
    file.write_all(close.as_bytes())?;
    Ok(file.into_inner()?.metadata()?.len())
}

/// What makes the inner JSON of a C1 output of a list of partitions.
const C1_REST: &str = "]},\"registered_proof\":\"StackedDrg2KiBV1_1\",\"comm_r\":[],\"comm_d\":[],\
                       \"replica_id\":[],\"seed\":[],\"ticket\":[]}";

#[test]
fn nesting_and_repetition_cost_no_more_than_their_size() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = [
        ("nested", "", "[", ""),
        ("objects", "", "{\"a\":", ""),
        ("empty proofs", "[\"\"", ",\"\"", "]"),
        ("empty lists", "{\"registered_proof\":\"x\",\"vanilla_proofs\":[[]", ",[]", "]}"),
        ("escapes", "{\"SectorNum\":1,\"SectorSize\":2048,\"Phase1Out\":\"", "\\u0041", "\"}"),
        ("digits", "{\"SectorNum\":", "9", "}"),
        ("strings", "[\"", "AAAA", "\"]"),
        ("partitions", "{\"vanilla_proofs\":{\"StackedDrg2KiBV1\":[[]", ",[]", C1_REST),
        ("bincode partitions", "\0\0\x40\0\0\0\0\0", "\0\0\0\0\0\0\0\0", ""),
    ];
    for (name, open, item, close) in hostile {
        let input = folder.path().join(name);
        let size = write_repeated(&input, open, item, close).unwrap();
        assert_eq!(assert_cheap(&input, size), 2, "{name}");
    }
}
