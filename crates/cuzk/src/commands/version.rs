//! `cuzk --version`

use crate::arguments::VersionArguments;
use crate::failure::Failure;
use crate::output;
use crate::report::Tool;

pub(crate) fn run(arguments: &VersionArguments) -> Result<(), Failure> {
    let tool = Tool::here();
    if arguments.json {
        return output::print_json(&tool);
    }
    let build = if arguments.verbose { tool.build.to_string() } else { String::new() };
    output::print(&format!("{} {}\n{build}", tool.name, tool.version))
}
