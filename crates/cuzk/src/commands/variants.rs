//! `cuzk variants`

use std::fmt::Write;

use cuzk_groth16::{Axis, Decided, Tuning};
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
                .map(|(index, value)| ValueReport {
                    name: value.name,
                    default: index == 0,
                    what: value.what,
                    measured: value.measured,
                })
                .collect(),
        }
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
