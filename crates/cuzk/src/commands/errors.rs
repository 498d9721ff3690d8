//! `cuzk errors`

use anyhow::anyhow;

use crate::arguments::ErrorsArguments;
use crate::catalogue::{ELSEWHERE, KINDS, Kind, page};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &ErrorsArguments) -> Result<(), Failure> {
    let Some(name) = &arguments.kind else {
        return if arguments.json {
            output::print_json(&serde_json::json!({
                "schema": "cuzk-errors", "version": 1, "kinds": KINDS, "elsewhere": ELSEWHERE,
            }))
        } else {
            output::print(&page())
        };
    };
    let found = KINDS.iter().find(|kind| kind.kind == name);
    let unknown = || Failure::refused("usage", anyhow!("no error `{name}`; `cuzk errors` lists them"));
    let found = found.ok_or_else(unknown)?;
    if arguments.json {
        return output::print_json(found);
    }
    let Kind { kind, exit_code, when, mend } = found;
    output::print(&format!("{kind}, exit code {exit_code}\n{when}\n{mend}\n"))
}
