//! What the command line says and how it exits, where no proof is computed.

mod common;

use std::fs;
use std::time::{Duration, Instant};

use common::{c1, cuzk, exit_code, files, golden, run, stderr, stdout};

/// Replaces what differs between machines and runs.
fn settings(folder: &std::path::Path) -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    let literal = |text: &str| text.replace('/', r"\/").replace('.', r"\.");
    settings.add_filter(&literal(&folder.display().to_string()), "[folder]");
    settings.add_filter(&format!("{}[^ :]*golden", literal(env!("CARGO_MANIFEST_DIR"))), "[golden]");
    // What the plan says depends on the machine.
    settings.add_filter(
        r"about [\d.]+ [GM]iB needed, [\d.]+ [GM]iB there \([^)]*\)",
        "about [need] needed, [there] there",
    );
    settings.add_filter(r#""(host_bytes|bytes)": \d+"#, r#""$1": "[bytes]""#);
    settings.add_filter(r#""by": ".*""#, r#""by": "[by]""#);
    settings.set_omit_expression(true);
    settings
}

#[test]
fn help_texts() {
    let commands: &[&[&str]] = &[
        &[],
        &["prove"],
        &["verify"],
        &["join"],
        &["aggregate"],
        &["inspect"],
        &["doctor"],
        &["errors"],
        &["synth"],
        &["fixture"],
        &["fixture", "porep"],
        &["fixture", "window-post"],
        &["fixture", "snap"],
        &["params"],
        &["params", "path"],
        &["params", "list"],
        &["params", "check"],
        &["params", "generate"],
        &["variants"],
    ];
    for command in commands {
        let output = run(&[command, &["--help"][..]].concat());
        assert_eq!((exit_code(&output), stderr(&output)), (0, String::new()), "{command:?}");
        insta::assert_snapshot!(format!("help-{}", command.join("-")), stdout(&output));
    }
}

#[test]
fn version_needs_nothing() {
    let output = cuzk().arg("--version").env_clear().output().unwrap();
    assert_eq!(stdout(&output), format!("cuzk {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_build_says_what_it_is_made_of() {
    let json: serde_json::Value =
        serde_json::from_slice(&run(&["--version", "--verbose", "--json"]).stdout).unwrap();
    let build = &json["build"];
    assert!(build["rustc"].as_str().unwrap().starts_with("rustc 1."), "{json}");
    assert_eq!(build["target_cpu"], serde_json::Value::Null, "{json}");
    assert_eq!(build["lc"], "vec", "{json}");
    let features = build["target_features"].as_array().unwrap();
    assert!(features.contains(&"sse2".into()) && !features.contains(&"avx512f".into()), "{json}");
    let text = stdout(&run(&["--version", "--verbose"]));
    for line in ["revision ", "flake narHash ", "rustc ", "target-cpu       any\n", "kernels "] {
        assert!(text.contains(line), "{text}");
    }
    let output = run(&["--verbose"]);
    assert_eq!(exit_code(&output), 2, "{}", stderr(&output));
}

#[test]
fn shells_and_manuals_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&run(&["completions", shell]));
        assert!(script.contains("selftest") && script.contains("insecure-seed"), "{shell}: {script}");
    }
    assert!(stdout(&run(&["man"])).contains("cuzk\\-prove(1)"), "{}", stdout(&run(&["man"])));
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    let output = run(&["man", "--out", pages.to_str().unwrap()]);
    assert_eq!((exit_code(&output), stderr(&output)), (0, String::new()));
    for page in ["cuzk.1", "cuzk-prove.1", "cuzk-params-generate.1"] {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".SH OPTIONS") || text.contains(".SH SUBCOMMANDS"), "{page}: {text}");
    }
    let output = run(&["man", "--out", "/dev/null/man1"]);
    assert_eq!(exit_code(&output), 3, "{}", stderr(&output));
}

#[test]
fn variants() {
    insta::assert_snapshot!("variants", stdout(&run(&["variants"])));
    let mut json: serde_json::Value = serde_json::from_slice(&run(&["variants", "--json"]).stdout).unwrap();
    // What this machine has differs from others.
    let values = json["axes"].as_array_mut().unwrap().iter_mut();
    let values: Vec<_> = values.flat_map(|axis| axis["values"].as_array_mut().unwrap()).collect();
    let mut here = vec![];
    for value in values {
        let value = value.as_object_mut().unwrap();
        let (comes_to, missing) = (value.remove("comes_to"), value.remove("missing"));
        here.extend(comes_to.map(|other| format!("{} is {other}", value["name"])));
        here.extend(missing.map(|_| format!("no {}", value["name"])));
    }
    let expected = [vec![r#""auto" is "avx512ifma""#], vec![r#""auto" is "portable""#, r#"no "avx512ifma""#]];
    assert!(expected.iter().any(|expected| here == *expected), "{here:?}");
    insta::assert_json_snapshot!("variants-json", json);
}

#[test]
fn inspect() {
    let empty = tempfile::tempdir().unwrap();
    let folder = empty.path().display().to_string();
    settings(empty.path()).bind(|| {
        for (name, input) in
            [("outer", c1()), ("statement", golden("valid/statement.json").display().to_string())]
        {
            let output = run(&["inspect", &input, "--params", &folder]);
            assert_eq!((exit_code(&output), stderr(&output)), (0, String::new()));
            insta::assert_snapshot!(format!("inspect-{name}"), stdout(&output));
        }
        let output = run(&["inspect", &c1(), "--miner", "1001", "--params", &folder, "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(json["checks"].as_str().unwrap().starts_with("wrong miner or sector"));
        insta::assert_json_snapshot!("inspect-json", json);
    });
}

#[test]
fn parameters() {
    let empty = tempfile::tempdir().unwrap();
    let folder = empty.path().display().to_string();
    settings(empty.path()).bind(|| {
        let path =
            cuzk().args(["params", "path", "--params", &folder]).env("XDG_CACHE_HOME", &folder).output();
        insta::assert_snapshot!("params-path", stdout(&path.unwrap()));
        let list = run(&["params", "list", "--params", &folder, "--sector-size", "2KiB"]);
        insta::assert_snapshot!("params-list", stdout(&list));
    });
    let from_environment =
        cuzk().args(["params", "path"]).env("FIL_PROOFS_PARAMETER_CACHE", "/somewhere").output().unwrap();
    assert!(stdout(&from_environment).starts_with("official  /somewhere (set by FIL_PROOFS_PARAMETER_CACHE"));
}

#[test]
fn a_file_of_the_manifest_with_another_digest_is_bad_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let (params, cache) = (folder.path().join("params"), folder.path().join("cache"));
    fs::create_dir(&params).unwrap();
    let name = "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-\
                032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f.vk";
    fs::write(params.join(name), b"not a key").unwrap();
    let run = |arguments: &[&str]| {
        let params = params.display().to_string();
        let with_folder = [arguments, &["--params", &params]].concat();
        cuzk().args(with_folder).env("XDG_CACHE_HOME", &cache).output().unwrap()
    };
    let state = |output: &std::process::Output| {
        stdout(output).lines().find(|line| line.ends_with(name)).unwrap()[..9].trim().to_owned()
    };
    let list = ["params", "list", "--sector-size", "2KiB"];
    assert_eq!(state(&run(&list)), "unchecked");
    let checked = run(&["params", "check"]);
    assert_eq!(exit_code(&checked), 3);
    let message = stderr(&checked);
    assert!(message.contains("wanted dc1ade9929ade1708238f155343044ac"), "{message}");
    assert_eq!(state(&run(&list)), "BAD");
}

/// Every refusal: its exit code, and its message as a snapshot.
#[test]
fn refusals() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("empty.json"), b"").unwrap();
    fs::write(path("list.json"), b"[1]").unwrap();
    fs::write(path("other.json"), br#"{"name": 1}"#).unwrap();
    fs::write(path("base64.json"), br#"{"SectorNum": 1, "Phase1Out": "!", "SectorSize": 2048}"#).unwrap();
    fs::write(path("types.json"), br#"{"SectorNum": "1", "Phase1Out": "", "SectorSize": 2048}"#).unwrap();
    fs::write(path("twice.json"), br#"{"SectorNum": 1, "SectorNum": 2}"#).unwrap();
    let outer: serde_json::Value = serde_json::from_slice(&fs::read(c1()).unwrap()).unwrap();
    let mut other_size = outer.clone();
    other_size["SectorSize"] = 8_388_608.into();
    fs::write(path("size.json"), other_size.to_string()).unwrap();
    let statement = r#"{"cuzk_statement": 9, "kind": "porep", "registered_proof": "", "miner": 1, "sector": 1,
        "input": "c1.json", "made_by": ""}"#;
    fs::write(path("future.json"), statement).unwrap();
    let c1 = c1();
    let output = path("out.proof");
    let folder_name = folder.path().display().to_string();
    let elsewhere = path("nowhere/out.proof");
    let bad_proof = golden("proof_truncated/proof.bin").display().to_string();
    let prove = |input: &str| vec!["prove".to_owned(), input.to_owned(), "-o".to_owned(), output.clone()];
    let with = |input: &str, more: &[&str]| {
        prove(input).into_iter().chain(more.iter().map(|word| (*word).to_owned())).collect::<Vec<_>>()
    };
    let cases: Vec<(&str, i32, Vec<String>)> = vec![
        ("no-command", 2, vec![]),
        ("unknown-flag", 2, with(&c1, &["--fast"])),
        ("no-input", 2, prove(&path("missing.json"))),
        ("a-folder", 2, prove(&folder_name)),
        ("empty", 2, prove(&path("empty.json"))),
        ("not-an-object", 2, prove(&path("list.json"))),
        ("unknown-shape", 2, prove(&path("other.json"))),
        ("not-base64", 2, prove(&path("base64.json"))),
        ("wrong-type", 2, prove(&path("types.json"))),
        ("key-twice", 2, prove(&path("twice.json"))),
        ("sector-sizes-differ", 2, prove(&path("size.json"))),
        ("statement-of-the-future", 2, prove(&path("future.json"))),
        ("truncated", 2, prove(&golden("c1_truncated/c1.json").display().to_string())),
        ("not-json", 2, prove(&golden("c1_not_json/c1.json").display().to_string())),
        ("missing-key", 2, prove(&golden("c1_missing_key/c1.json").display().to_string())),
        ("no-miner", 2, prove(&c1)),
        ("wrong-miner", 2, with(&c1, &["--miner", "1001"])),
        ("wrong-sector", 2, with(&c1, &["--miner", "1000", "--sector", "2"])),
        ("no-parameters", 3, with(&c1, &["--miner", "1000", "--params", &folder_name])),
        ("unknown-axis", 2, with(&c1, &["--miner", "1000", "--tune", "speed=high"])),
        ("unknown-value", 2, with(&c1, &["--miner", "1000", "--tune", "ntt=eight"])),
        ("short-seed", 2, with(&c1, &["--miner", "1000", "--insecure-seed", "00"])),
        ("no-output-folder", 3, vec!["prove".into(), c1.clone(), "-o".into(), elsewhere]),
        ("output-is-a-folder", 3, vec!["prove".into(), c1.clone(), "-o".into(), folder_name.clone()]),
        ("both-want-stdout", 2, vec!["prove".into(), c1.clone(), "-o".into(), "-".into(), "--json".into()]),
        (
            "big-fixture",
            2,
            ["fixture", "porep", "--sector-size", "32GiB", "--out", "x"].map(str::to_owned).to_vec(),
        ),
        (
            "production-test-params",
            2,
            ["params", "generate", "--sector-size", "32GiB"].map(str::to_owned).to_vec(),
        ),
        (
            "verify-without-key",
            3,
            ["verify", &bad_proof, "--statement", &c1, "--miner", "1000", "--params", &folder_name]
                .map(str::to_owned)
                .to_vec(),
        ),
    ];
    settings(folder.path()).bind(|| {
        for (name, code, arguments) in cases {
            let refused = cuzk().args(&arguments).output().unwrap();
            assert_eq!(stdout(&refused), "", "{name}");
            insta::assert_snapshot!(format!("refused-{name}"), stderr(&refused));
            assert_eq!(exit_code(&refused), code, "{name}: {}", stderr(&refused));
        }
    });
    assert!(!files(folder.path()).iter().any(|file| file.contains("proof")), "{:?}", files(folder.path()));
}

#[test]
fn a_wrong_miner_is_refused_within_a_second_and_both_replica_ids_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("never.proof").display().to_string();
    let start = Instant::now();
    let output = run(&["prove", &c1(), "--miner", "1001", "-o", &proof]);
    let elapsed = start.elapsed();
    assert_eq!(exit_code(&output), 2);
    let message = stderr(&output);
    let statement: serde_json::Value =
        serde_json::from_slice(&run(&["inspect", &c1(), "--json"]).stdout).unwrap();
    let found = statement["public"]["replica_id"].as_str().unwrap();
    let ids =
        message.split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() == 64).collect::<Vec<_>>();
    assert!(ids.len() == 2 && ids[0] == found && ids[1] != found, "{message}");
    assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
}

#[test]
fn a_truncated_parameter_file_is_named_with_both_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let name = "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-\
                032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f.params";
    fs::write(folder.path().join(name), [0; 700]).unwrap();
    let params = folder.path().display().to_string();
    let output_file = folder.path().join("out.proof").display().to_string();
    let output = run(&["prove", &c1(), "--miner", "1000", "--params", &params, "-o", &output_file]);
    let message = stderr(&output);
    assert_eq!(exit_code(&output), 3);
    assert!(
        message.contains(name) && message.contains("868 bytes expected") && message.contains("700 found"),
        "{message}"
    );
    assert_eq!(files(folder.path()), [name]);
}

/// The other kinds and the production sizes, as far as nothing is proved: made without sealing, looked at.
#[test]
fn inspect_of_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    settings(folder.path()).bind(|| {
        for kind in ["porep", "winning-post", "window-post", "snap"] {
            for size in ["32GiB", "64GiB"] {
                let out = folder.path().join(kind).display().to_string();
                let mut fixture = vec!["fixture", kind, "--synthetic", "--sector-size", size, "--out", &out];
                if kind == "window-post" {
                    fixture.extend(["--sectors", "3"]); // a partition of 2,349 takes seconds
                }
                let made = run(&fixture);
                assert_eq!(exit_code(&made), 0, "{}", stderr(&made));
                let statement = format!("{out}/statement.json");
                let output = run(&["inspect", &statement, "--params", &path]);
                assert_eq!((exit_code(&output), stderr(&output)), (0, String::new()));
                insta::assert_snapshot!(format!("inspect-{kind}-{size}"), stdout(&output));
            }
        }
        // Without its statement file, what the input does not carry is named.
        let vanilla = folder.path().join("snap/vanilla.json").display().to_string();
        insta::assert_snapshot!("inspect-unknown", stdout(&run(&["inspect", &vanilla, "--params", &path])));
        let refused = run(&["prove", &vanilla, "-o", &format!("{path}/never.proof")]);
        assert_eq!(exit_code(&refused), 2);
        insta::assert_snapshot!("refused-no-commitments", stderr(&refused));
    });
}

/// A non-interactive PoRep of production size cannot be made without sealing; its counts show without a vanilla proof.
#[test]
fn inspect_of_non_interactive_poreps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    settings(folder.path()).bind(|| {
        for size in ["32GiB", "64GiB"] {
            let file = folder.path().join(format!("{size}.json"));
            let value = serde_json::to_string(&[1; 32]).unwrap();
            let keys = ["comm_r", "comm_d", "replica_id", "seed", "ticket"];
            let rest = keys.map(|key| format!(",\"{key}\":{value}")).concat();
            let inner = format!(
                "{{\"registered_proof\":\"StackedDrg{size}V1_2_Feat_NonInteractivePoRep\",\
                 \"vanilla_proofs\":{{\"StackedDrg{size}V1\":[]}}{rest}}}"
            );
            fs::write(&file, inner).unwrap();
            let file = file.display().to_string();
            let output = run(&["inspect", &file, "--params", &path]);
            assert_eq!((exit_code(&output), stderr(&output)), (0, String::new()));
            insta::assert_snapshot!(format!("inspect-porep-ni-{size}"), stdout(&output));
        }
    });
}

/// Each input is told of by itself, and the worst exit code is the program's.
#[test]
fn a_bad_input_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let missing = format!("{path}/missing.json");
    let output =
        run(&["prove", &missing, &c1(), "--miner", "1001", "--format", "json", "--params", &path, "--quiet"]);
    assert_eq!(exit_code(&output), 2);
    let lines: Vec<serde_json::Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["error"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["input_unreadable", "wrong_identity"]);
    assert_eq!(stderr(&output).matches("error[").count(), 2);
    assert_eq!(files(folder.path()), Vec::<String>::new());
}

/// What would lose something, or read without end.
#[test]
fn inputs_and_outputs_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let made = run(&["fixture", "winning-post", "--out", &out]);
    assert_eq!(exit_code(&made), 0, "{}", stderr(&made));
    let refused = |arguments: &[&str], expected: &str| {
        let output = run(&[&["prove", "--params", &out], arguments].concat());
        assert_eq!(exit_code(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    };
    let named_as_a_proof = format!("{out}/statement.proof");
    fs::copy(format!("{out}/statement.json"), &named_as_a_proof).unwrap();
    refused(&[&named_as_a_proof], "would replace its input");
    refused(&["-", "--stdin-list"], "none can be `-`");
    refused(&["/nonexistent/input.json"], "error[input_unreadable]");
    let vanilla = format!("{out}/vanilla.json");
    refused(&[&vanilla, "--comm-d-new", "/dev/zero"], "error[usage]");
    refused(&[&format!("{out}/statement.json"), "--kind", "window-post"], "error[input_other_kind]");
}

#[test]
fn a_fixture_is_the_same_for_the_same_seed() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, seed: &str| {
        let out = folder.path().join(name).display().to_string();
        let output = run(&["fixture", "porep", "--miner", "1000", "--seed", seed, "--out", &out]);
        assert_eq!(exit_code(&output), 0, "{}", stderr(&output));
        fs::read(folder.path().join(name).join("c1.json")).unwrap()
    };
    let first = make("first", "1");
    assert!(first == make("again", "1") && first != make("other", "2"));
    assert!(first == fs::read(c1()).unwrap(), "the golden input is the fixture of seed 1");
    assert_eq!(files(&folder.path().join("first")), ["c1.json", "statement.json"]);
}

#[test]
fn logs_in_json_are_asked_for_anywhere_and_usage_obeys() {
    for arguments in [
        &["--log-format", "json", "prove", "/nonexistent"][..],
        &["prove", "/nonexistent", "--log-format", "json"],
        &["prove", "--no-such-flag", "--log-format=json"],
    ] {
        let output = run(arguments);
        assert_eq!(exit_code(&output), 2);
        let line: serde_json::Value = serde_json::from_str(stderr(&output).trim()).expect("an object");
        assert_eq!(line["exit_code"], 2, "{line}");
    }
}
