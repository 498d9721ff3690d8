//! What the kernels need of a multiprocessor, as ptxas told the build (build.rs), and that the hottest ones hardly spill.

use std::collections::BTreeMap;
use std::io::Write;

const MESSAGES: &str = include_str!(concat!(env!("OUT_DIR"), "/resources.txt"));

/// Nearly all time is in these, and so many bytes may they and what they call store and load: a few words, such as an address kept
/// over a loop's body, do no harm; an element of Fr would be 64 bytes. An addition in G2 has more words than there are registers:
/// it spills some 350 bytes, a few operations in its 7,000.
const HOT: [(&str, u32); 8] = [
    ("cuzk_msm_add_groups_g1", 32),
    ("cuzk_msm_sum_parts_g1", 32),
    ("cuzk_msm_add_groups_g2", 400),
    ("cuzk_msm_sum_parts_g2", 400),
    ("cuzk_ntt_down", 32),
    ("cuzk_ntt_up", 32),
    ("cuzk_evaluate", 32),
    ("cuzk_hadamard", 32),
];

/// Of a kernel on an architecture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Resources {
    registers: u32,
    stack_bytes: u32,
    spill_bytes: u32,
    /// Of the functions that it calls.
    called_spill_bytes: u32,
}

/// By kernel and architecture, from messages such as
///
/// ```text
/// ptxas info    : Compiling entry function 'f' for 'sm_90'
/// ptxas info    : Function properties for f
///     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
/// ptxas info    : Used 54 registers, used 0 barriers
/// ```
///
/// where properties of functions that the kernel calls follow.
fn parse(messages: &str) -> BTreeMap<(&str, &str), Resources> {
    let mut table: BTreeMap<(&str, &str), Resources> = BTreeMap::new();
    let (mut kernel, mut called) = (None, false);
    for line in messages.lines() {
        let number_before = |what: &str| -> Option<u32> {
            line.split_once(what)?.0.split_whitespace().next_back()?.parse().ok()
        };
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel =
                rest.split_once("' for '").and_then(|(name, rest)| Some((name, rest.split_once('\'')?.0)));
        }
        if let Some((_, function)) = line.split_once("Function properties for ") {
            called = kernel.is_some_and(|(name, _)| name != function);
        }
        let Some(kernel) = kernel else { continue };
        let resources = table.entry(kernel).or_default();
        if let Some(registers) = number_before(" registers") {
            resources.registers = registers;
        }
        let spills =
            ["stores", "loads"].map(|what| number_before(&format!(" bytes spill {what}")).unwrap_or(0));
        if called {
            resources.called_spill_bytes += spills.iter().sum::<u32>();
        } else {
            resources.spill_bytes += spills.iter().sum::<u32>();
            resources.stack_bytes += number_before(" bytes stack frame").unwrap_or(0);
        }
    }
    table
}

#[test]
fn messages_are_understood() {
    let messages = "ptxas info    : 0 bytes gmem\n\
        ptxas info    : Compiling entry function 'f' for 'sm_90'\n\
        ptxas info    : Function properties for f\n    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n\
        ptxas info    : Used 54 registers, used 0 barriers\n\
        ptxas info    : Function properties for g\n    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n";
    let expected = Resources { registers: 54, stack_bytes: 8, spill_bytes: 16, called_spill_bytes: 12 };
    assert_eq!(parse(messages), BTreeMap::from([(("f", "sm_90"), expected)]));
}

#[test]
fn hot_kernels_hardly_spill() {
    // Past the capture of tests' output, so that a passing run shows them, too.
    let mut out = std::io::stderr();
    if MESSAGES.is_empty() {
        writeln!(out, "skipped: this build had no nvcc, so there are no kernels to look at").unwrap();
        return;
    }
    let table = parse(MESSAGES);
    let mut lines = format!(
        "{:24} {:7} {:>9} {:>7} {:>7} {:>7}\n",
        "kernel", "", "registers", "stack", "spills", "called"
    );
    for ((kernel, architecture), resources) in &table {
        let Resources { registers, stack_bytes, spill_bytes, called_spill_bytes } = resources;
        lines += &format!("{kernel:24} {architecture:7} {registers:>9}");
        lines += &format!(" {stack_bytes:>5} B {spill_bytes:>5} B {called_spill_bytes:>5} B\n");
    }
    out.write_all(lines.as_bytes()).unwrap();
    for (hot, most) in HOT {
        let mut of_kernel = table.iter().filter(|((kernel, _), _)| *kernel == hot).peekable();
        assert!(of_kernel.peek().is_some(), "ptxas says nothing of {hot}");
        for ((_, architecture), resources) in of_kernel {
            let spills = resources.spill_bytes + resources.called_spill_bytes;
            assert!(spills <= most, "{hot} spills on {architecture}: {resources:?}");
        }
    }
}
