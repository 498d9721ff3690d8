//! What a machine can do to a proof while it is made: no space, no memory, signals, closed pipes. Nothing is ever lost, and what is
//! there is whole.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cuzk_groth16::G1Affine;

use common::{cuzk, exit_code, files, golden, run, stderr, stdout};

/// A window PoSt of two partitions, a few seconds.
fn statement() -> String {
    golden("../window-post-2kib-v1_2/valid/statement.json").display().to_string()
}

fn prove(output: &Path) -> Command {
    let mut command = cuzk();
    command.args(["prove", &statement(), "--test-params", "--backend", "cpu", "-o"]).arg(output);
    command
}

/// Proves once, so that parameters and template are there and the time is known.
fn prepared(output: &Path) -> Duration {
    assert_eq!(exit_code(&prove(output).output().unwrap()), 0);
    let start = Instant::now();
    assert_eq!(exit_code(&prove(output).output().unwrap()), 0);
    fs::remove_file(output).unwrap();
    start.elapsed()
}

fn assert_verifies(proof: &Path) {
    let output = run(&["verify", proof.to_str().unwrap(), "--statement", &statement(), "--test-params"]);
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
}

/// Runs a shell's line with cuzk as its first argument.
fn shell(line: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", line, "sh", env!("CARGO_BIN_EXE_cuzk")]);
    shell.env_remove("FIL_PROOFS_PARAMETER_CACHE").output().unwrap()
}

/// Ends with this code and `error[kind]`, and without a panic.
fn assert_fails(output: &Output, code: i32, kind: &str) {
    let text = stderr(output);
    assert!(!text.contains("panicked"), "{text}");
    assert_eq!(exit_code(output), code, "{text}");
    assert!(text.lines().any(|line| line.starts_with(&format!("error[{kind}]: "))), "{text}");
}

/// What is left of a proof: nothing, or one that verifies.
fn assert_all_or_nothing(folder: &Path, proof: &Path) {
    match &files(folder)[..] {
        [] => {}
        [_] if proof.exists() => assert_verifies(proof),
        others => panic!("{others:?}"),
    }
}

#[test]
fn killed_in_any_phase_it_leaves_nothing_or_a_proof() {
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("proof");
    let whole = prepared(&proof);
    for twelfth in 0..=12 {
        let mut child = prove(&proof).stderr(Stdio::null()).spawn().unwrap();
        sleep(whole * twelfth / 12);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_all_or_nothing(folder.path(), &proof);
        let _ = fs::remove_file(&proof);
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Proves the window PoSt in a folder of its own, and then waits for more inputs; the lines that it says.
fn endless(folder: &Path, format: &str) -> (Child, impl Iterator<Item = String>) {
    for file in ["statement.json", "vanilla.json"] {
        fs::copy(golden("../window-post-2kib-v1_2/valid").join(file), folder.join(file)).unwrap();
    }
    let mut child = cuzk()
        .args(["prove", "--stdin-list", "--test-params", "--backend", "cpu", "--log-format", format])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = folder.join("statement.json").display().to_string();
    writeln!(child.stdin.as_mut().unwrap(), "{input}").unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    (child, lines)
}

#[test]
fn a_signal_stops_it_within_two_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let whole = prepared(&folder.path().join("proof"));
    for (name, code, format) in [("-INT", 130, "text"), ("-TERM", 143, "json")] {
        for quarter in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let (mut child, mut lines) = endless(folder.path(), format);
            // Waiting would close it, and with that the list of inputs.
            let _open = child.stdin.take();
            assert!(lines.any(|line| line.contains("plan: ")));
            // While it proves, or while it waits.
            sleep(whole * quarter / 4);
            let start = Instant::now();
            signal(&child, name);
            let status = child.wait().unwrap();
            assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
            let last = lines.last().unwrap();
            assert_eq!(status.code(), Some(code), "{last}");
            match format {
                "text" => assert!(last.contains("error[stopped]: stopped by SIGINT"), "{last}"),
                _ => {
                    let line: serde_json::Value = serde_json::from_str(&last).unwrap();
                    assert_eq!(
                        (&line["event"], &line["exit_code"]),
                        (&"error".into(), &143.into()),
                        "{last}"
                    );
                }
            }
            let proof = folder.path().join("statement.proof");
            match &files(folder.path())[..] {
                [_, _] => {}
                [_, _, _] => assert_verifies(&proof),
                others => panic!("{others:?}"),
            }
        }
    }
}

#[test]
fn a_signal_at_the_end_ends_it_once() {
    for microseconds in (0..2000).step_by(100) {
        let inputs = ["prove", "--stdin-list", "--test-params"];
        let mut child = cuzk().args(inputs).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        sleep(Duration::from_millis(100));
        let list = child.stdin.take();
        let closing = std::thread::spawn(move || {
            sleep(Duration::from_micros(microseconds));
            drop(list);
        });
        signal(&child, "-INT");
        closing.join().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output).contains("error[stopped]");
        assert_eq!(said, output.status.code() == Some(130), "{}, {}", output.status, stderr(&output));
    }
}

#[test]
fn a_signal_stops_it_also_where_nobody_reads() {
    let (full, stderr) = std::io::pipe().unwrap();
    // More than it holds, by a thread that then waits.
    let mut filler = stderr.try_clone().unwrap();
    std::thread::spawn(move || while filler.write_all(&[b'x'; 4096]).is_ok() {});
    sleep(Duration::from_millis(300));
    let mut child = cuzk().args(["inspect", "-"]).stdin(Stdio::piped()).stderr(stderr).spawn().unwrap();
    sleep(Duration::from_millis(300));
    let start = Instant::now();
    signal(&child, "-TERM");
    // It may not have listened yet, and then the system ended it.
    let status = loop {
        match child.try_wait().unwrap() {
            None if start.elapsed() < Duration::from_secs(2) => sleep(Duration::from_millis(20)),
            ended => break ended,
        }
    };
    let _ = child.kill();
    assert!(status.is_some_and(|status| !status.success()), "{status:?}");
    drop(full);
}

#[test]
fn what_reads_its_logs_gets_an_object_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let output = prove(&folder.path().join("proof")).args(["--log-format", "json"]).output().unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    let events: Vec<String> = stderr(&output)
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|line| {
            assert!(line["time"].as_str().unwrap().ends_with('Z') && line["message"].is_string(), "{line}");
            line["event"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(events.contains(&"info".to_owned()) && events.contains(&"note".to_owned()), "{events:?}");
    let output = cuzk().args(["prove", "/nonexistent", "--log-format", "json"]).output().unwrap();
    let line: serde_json::Value = serde_json::from_str(stderr(&output).trim()).unwrap();
    assert_eq!((&line["kind"], &line["exit_code"]), (&"input_unreadable".into(), &2.into()));
}

#[test]
fn a_full_disk_is_told_of() {
    // A disk of 64 KiB needs a namespace of its own, which not every machine gives.
    let mounted = |line: &str| {
        shell(&format!(
            "exec unshare --mount --map-root-user --user sh -c 'mount -t tmpfs -o size=64k none \"$1\" && shift && {line}' sh \
             \"$(mktemp -d)\" \"$1\""
        ))
    };
    if mounted("true").status.success() {
        let line = format!(
            "cd \"$0\" 2>/dev/null; here=$(awk \"\\$3 == \\\"tmpfs\\\" {{ place = \\$2 }} END {{ print place }}\" /proc/self/mounts); \
             dd if=/dev/zero of=$here/filling bs=4k count=64 2>/dev/null; \
             \"$1\" prove {} --test-params --backend cpu -o $here/proof; code=$?; ls $here >&2; exit $code",
            statement()
        );
        let output = mounted(&line);
        let text = stderr(&output);
        assert_eq!(exit_code(&output), 3, "{text}");
        assert!(text.contains("error[output]: ") && text.contains("No space left on device"), "{text}");
        assert!(text.ends_with("filling\n"), "nothing else is there: {text}");
    } else {
        eprintln!("no namespace to mount a disk in: seen with /dev/full alone");
    }
    let output =
        shell(&format!("exec \"$1\" prove {} --test-params --backend cpu -o - > /dev/full", statement()));
    assert_fails(&output, 3, "output");
}

#[test]
fn a_device_or_a_pipe_is_written_to_and_not_replaced() {
    let output = shell(&format!(
        "\"$1\" prove {} --test-params --backend cpu --quiet -o /dev/stdout | wc -c; \"$1\" prove {} --test-params --backend cpu \
         --quiet -o /dev/null && test -c /dev/null",
        statement(),
        statement()
    ));
    assert_eq!((exit_code(&output), stdout(&output).trim()), (0, "384"), "{}", stderr(&output));
}

#[test]
fn a_folder_that_takes_no_files_is_told_of_before_any_work() {
    let output = prove(Path::new("/sys/kernel/proof")).output().unwrap();
    assert_fails(&output, 3, "output");
    assert!(!stderr(&output).contains("plan: "), "{}", stderr(&output));
}

#[test]
fn a_closed_pipe_is_an_error_and_no_panic() {
    for line in [
        "variants",
        "errors",
        "doctor --json",
        "inspect STATEMENT",
        "prove STATEMENT --test-params --backend cpu -o -",
    ] {
        let line = line.replace("STATEMENT", &statement());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = cuzk().args(line.split(' ')).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_fails(&output, 3, "output");
    }
}

/// Of several inputs, the parameters of those before are there already.
#[test]
fn memory_that_is_held_for_the_same_circuit_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut inputs = vec![];
    for seed in ["1", "2"] {
        let out = folder.path().join(seed).display().to_string();
        run(&["fixture", "window-post", "--synthetic", "--seed", seed, "--sectors", "1", "--out", &out]);
        inputs.push(format!("{out}/statement.json"));
    }
    let report = |limit: &str| {
        let arguments =
            ["prove", "--test-params", "--backend", "cpu", "--quiet", "--json", "--memory", limit];
        run(&[&arguments[..], &[&inputs[0], &inputs[1]]].concat())
    };
    let planned = report("1GiB");
    assert_eq!(exit_code(&planned), 0, "{}", stderr(&planned));
    let first: serde_json::Value = serde_json::from_str(stdout(&planned).lines().next().unwrap()).unwrap();
    let needed = first["plan"]["host_bytes"].as_u64().unwrap();
    assert_eq!(exit_code(&report(&format!("{}", needed + needed / 16))), 0);
    assert_fails(&report(&format!("{}", needed / 2)), 3, "memory");
}

#[test]
fn too_little_memory_is_told_of_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("proof").display().to_string();
    let porep = golden("valid/statement.json").display().to_string();
    // In KiB: enough to start, too little for a PoRep.
    let limited = shell(&format!(
        "ulimit -v 1200000; exec \"$1\" prove {porep} --test-params --backend cpu --tune isa=portable --threads 2 -o {output}"
    ));
    assert_fails(&limited, 3, "memory");
    let text = stderr(&limited);
    assert!(text.contains("about 1.") && text.contains("(by ulimit -v)"), "{text}");
    let asked =
        run(&["prove", &porep, "--test-params", "--backend", "cpu", "--memory", "1GiB", "-o", &output]);
    assert_fails(&asked, 3, "memory");
    assert!(stderr(&asked).contains("there are 1.0 GiB (by --memory)"), "{}", stderr(&asked));
    assert_eq!(files(folder.path()), Vec::<String>::new());
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let seed = "5a".repeat(32);
    let prove = |threads: &str| {
        let proof = folder.path().join(threads);
        let output = prove(&proof).args(["--threads", threads, "--insecure-seed", &seed]).output().unwrap();
        (output, proof)
    };
    let (one, first) = prove("1");
    assert_eq!(exit_code(&one), 0, "{}", stderr(&one));
    let (many, second) = prove("256");
    assert_eq!(exit_code(&many), 0, "{}", stderr(&many));
    assert_eq!(fs::read(first).unwrap(), fs::read(second).unwrap());
    let (refused, _) = prove("4096");
    assert_fails(&refused, 2, "usage");
}

#[test]
fn a_closed_stdin_is_an_empty_input() {
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("proof").display().to_string();
    for (input, code) in [("-", 2), ("--stdin-list", 0)] {
        let output = shell(
            &format!("exec \"$1\" prove {input} -o {proof} <&-")
                .replace("--stdin-list -o", "--stdin-list --report"),
        );
        assert_eq!(exit_code(&output), code, "{}", stderr(&output));
        assert!(
            code == 0 || stderr(&output).contains("stdin is no known input: an empty file"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn of_two_runs_with_one_output_one_wins_whole() {
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("proof");
    let mut both = [prove(&proof), prove(&proof)].map(|mut run| run.stderr(Stdio::null()).spawn().unwrap());
    for child in &mut both {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(files(folder.path()), ["proof"]);
    assert_verifies(&proof);
}

/// The folder of the test parameters, by its files' names.
fn parameter_files() -> Vec<PathBuf> {
    let listed = run(&["params", "generate", "--kind", "window-post", "--quiet"]);
    let params = PathBuf::from(stdout(&listed).lines().next().unwrap());
    vec![params.with_extension("vk"), params]
}

#[test]
fn parameters_are_read_where_nothing_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let params = folder.path().join("params");
    fs::create_dir(&params).unwrap();
    for file in parameter_files() {
        // By a link, as pools of disks have them.
        std::os::unix::fs::symlink(&file, params.join(file.file_name().unwrap())).unwrap();
    }
    let before = files(&params);
    let set_mode = |mode| {
        let mode: fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(&params, mode).unwrap();
    };
    set_mode(0o555);
    let proof = folder.path().join("proof");
    let output = cuzk()
        .args(["prove", &statement(), "--backend", "cpu", "--params", params.to_str().unwrap(), "-o"])
        .arg(&proof)
        .output()
        .unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    assert_eq!(files(&params), before);
    // Else nobody but root can remove it.
    set_mode(0o755);
}

#[test]
fn a_clock_that_jumps_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let params = folder.path().join("params");
    fs::create_dir(&params).unwrap();
    // Files of the future and of 1970, as a clock that was wrong leaves them.
    let times = [Duration::from_secs(4_102_444_800), Duration::ZERO];
    for (file, time) in parameter_files().iter().zip(times) {
        let copy = params.join(file.file_name().unwrap());
        fs::copy(file, &copy).unwrap();
        let file = fs::File::options().append(true).open(copy).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + time).unwrap();
    }
    let output = cuzk()
        .args([
            "prove",
            &statement(),
            "--backend",
            "cpu",
            "--params",
            params.to_str().unwrap(),
            "--json",
            "--quiet",
            "-o",
        ])
        .arg(folder.path().join("proof"))
        .output()
        .unwrap();
    assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["phases_ms"]["total"].as_f64().unwrap() > 0.0);
}

#[test]
fn every_point_can_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let [key, params] = [0, 1].map(|index| parameter_files()[index].clone());
    let check = |file: &Path| {
        let file = file.to_str().unwrap();
        cuzk()
            .args(["params", "check", "--deep", file])
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .output()
            .unwrap()
    };
    let good = check(&params);
    assert_eq!(exit_code(&good), 0, "{}", stderr(&good));
    // Without a note beside it only the points can tell.
    let copy = folder.path().join("copy.params");
    let bytes = fs::read(&params).unwrap();
    let key_bytes = fs::metadata(&key).unwrap().len() as usize;
    let first = key_bytes + 4 + 5 * 96;
    // Few points of the curve are in the subgroup.
    let on_curve = |x: u8| {
        let mut compressed = [0; 48];
        (compressed[0], compressed[47]) = (0x80, x);
        Option::from(G1Affine::from_compressed_unchecked(&compressed))
    };
    let points: Vec<G1Affine> = (1..50).filter_map(on_curve).collect();
    let outside = points.iter().find(|point| !bool::from(point.is_torsion_free())).unwrap().to_uncompressed();
    let mut identity = [0; 96];
    identity[0] = 0x40;
    for (point, problem) in [
        (outside, "not in the subgroup of order r"),
        (identity, "at infinity"),
        ([0; 96], "not a point of the curve"),
    ] {
        let mut bytes = bytes.clone();
        bytes[first..first + 96].copy_from_slice(&point);
        fs::write(&copy, bytes).unwrap();
        let bad = check(&copy);
        assert_fails(&bad, 3, "parameters");
        assert!(stderr(&bad).contains(&format!("point 5 of query h is {problem}")), "{}", stderr(&bad));
    }
    // A copy that was never finished.
    let file = fs::File::create(&copy).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, &bytes[..first], 0).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    let sparse = check(&copy);
    assert_fails(&sparse, 3, "parameters");
    assert!(stderr(&sparse).contains("of the file are holes"), "{}", stderr(&sparse));
    let link = folder.path().join("link.params");
    std::os::unix::fs::symlink(&copy, &link).unwrap();
    let linked = check(&link);
    assert_fails(&linked, 3, "parameters");
    assert!(stderr(&linked).contains("(a link to "), "{}", stderr(&linked));
}
