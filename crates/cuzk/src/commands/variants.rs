//! `cuzk variants`

use std::fmt::Write;

use cuzk_cpu::Arithmetic;
use cuzk_groth16::{Axis, Decided, Isa, Tuning};
use serde::Serialize;

use crate::arguments::VariantsArguments;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Variants {
    schema: &'static str,
    version: u32,
    axes: Vec<AxisReport>,
}

#[derive(Serialize)]
struct AxisReport {
    name: &'static str,
    decided: &'static str,
    backends: &'static [&'static str],
    values: Vec<ValueReport>,
}

#[derive(Serialize)]
struct ValueReport {
    name: &'static str,
    default: bool,
    what: &'static str,
    measured: &'static str,
    /// The value of the same axis that this one is on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    comes_to: Option<&'static str>,
    /// Why this machine cannot have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

pub(crate) fn run(arguments: &VariantsArguments) -> Result<(), Failure> {
    let variants = Variants {
        schema: "cuzk-variants",
        version: 1,
        axes: Tuning::AXES.iter().map(AxisReport::of).collect(),
    };
    if arguments.json {
        return output::print_json(&variants);
    }
    output::print(&variants.table())
}

impl AxisReport {
    fn of(axis: &Axis) -> Self {
        AxisReport {
            name: axis.name,
            decided: match axis.decided {
                Decided::AtBuild => "build",
                Decided::AtRun => "run",
            },
            backends: axis.backends,
            values: (axis.values.iter().enumerate())
                .map(|(index, value)| {
                    let (comes_to, missing) = here(axis.name, value.name);
                    let (what, measured) = (value.what, value.measured);
                    ValueReport { name: value.name, default: index == 0, what, measured, comes_to, missing }
                })
                .collect(),
        }
    }
}

/// What a value comes to on this machine, where that is another one, and why the machine cannot have it.
fn here(axis: &str, value: &str) -> (Option<&'static str>, Option<String>) {
    match (axis, value) {
        ("isa", "auto") => (Arithmetic::of(Isa::Auto).ok().map(Arithmetic::name), None),
        ("isa", "avx512ifma") => (None, Arithmetic::of(Isa::Avx512Ifma).err().map(|error| error.to_string())),
        _ => (None, None),
    }
}

impl Variants {
    fn table(&self) -> String {
        let mut table = String::new();
        for axis in &self.axes {
            let backends = axis.backends.join(", ");
            writeln!(table, "{} (decided at {}; {backends})", axis.name, axis.decided)
                .expect("writing to a string");
            for value in &axis.values {
                let name =
                    if value.default { format!("{} (default)", value.name) } else { value.name.to_owned() };
                writeln!(table, "  {name:<16} {}", value.what).expect("writing to a string");
                writeln!(table, "  {:<16} measured: {}", "", value.measured).expect("writing to a string");
            }
        }
        table
    }
}
