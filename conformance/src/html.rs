//! A run as one page of HTML: no script, no other file, no address outside of it.
//!
//! The page shows which case passed in which row, where the time of the valid cases goes in each row, and the digests that all
//! of them have to give. It follows the reader's light or dark, wraps on a phone, and prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::case::{Case, Expected};
use crate::run::{Count, Outcome, Status};

/// What a page is about.
pub struct Page<'a> {
    /// The machine, in a line.
    pub machine: &'a str,
    /// The day, as 2026-11-30.
    pub date: &'a str,
    /// All binaries together.
    pub count: Count,
    /// What each binary came to.
    pub binaries: Vec<Binary<'a>>,
    /// The cases that ran.
    pub cases: Vec<Case>,
}

/// One binary.
pub struct Binary<'a> {
    /// Its path and what it says of its version.
    pub name: String,
    /// Its SHA-256.
    pub sha256: String,
    /// All outcomes.
    pub outcomes: &'a [Outcome],
}

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--ok:#2a7d46;--bad:#b3261e;--skip:#7a6a00}
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:auto;padding:1rem}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}h3{font-size:1rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem}
th,td{border:1px solid var(--line);padding:.25rem .5rem;text-align:left;vertical-align:top}
td{white-space:nowrap}
.ok{color:var(--ok)}.failed{color:var(--bad);font-weight:bold}.skipped{color:var(--skip)}
code{font-size:.85rem;overflow-wrap:anywhere}
svg{display:block;width:100%;height:1.5rem}
.swatch{display:inline-block;width:.8em;height:.8em;margin-right:.3em}
.legend span{margin-right:1em;white-space:nowrap}
@media (prefers-color-scheme:dark){:root{--ok:#7fd69a;--bad:#ff8a80;--skip:#e2cf63}}
@media print{.wide{overflow:visible}h2{break-after:avoid}tr{break-inside:avoid}}
";

/// Colours that are told apart in light and dark, and in grey by their order in a bar.
const COLOURS: [&str; 10] = [
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999999", "#ee8866", "#44bb99",
    "#bb7733",
];

/// Text between tags or quotes.
fn escaped(text: &str) -> String {
    text.chars()
        .map(|char| match char {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            other => other.to_string(),
        })
        .collect()
}

macro_rules! put {
    ($page:expr, $($words:tt)*) => { write!($page, $($words)*).expect("writing to a string") };
}

impl Page<'_> {
    /// The page.
    pub fn html(&self) -> String {
        let title = format!("Conformance, {}", self.date);
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>{}. {}</p>\n",
            self.count,
            escaped(self.machine)
        );
        for binary in &self.binaries {
            put!(page, "<h2>{}</h2>\n<p><code>SHA-256 {}</code></p>\n", escaped(&binary.name), binary.sha256);
            binary.remarks(&mut page);
            binary.matrix(&mut page);
            binary.bars(&mut page);
        }
        self.digests(&mut page);
        page + "</body>\n</html>\n"
    }

    /// What every row has to give.
    fn digests(&self, page: &mut String) {
        put!(page, "<h2>Expected values</h2>\n<p>By upstream; SHA-256, the first 16 digits.</p>\n");
        for case in &self.cases {
            let Expected::Proof(expected) = &case.expected else { continue };
            put!(page, "<h3>{}</h3>\n", escaped(&case.id));
            put!(page, "<div class=\"wide\"><table><thead><tr><th>partition</th>");
            let steps: Vec<&str> = expected
                .digests
                .first()
                .map_or_else(Vec::new, |first| first.steps().into_iter().map(|(step, _)| step).collect());
            steps.iter().for_each(|step| put!(page, "<th>{step}</th>"));
            put!(page, "</tr></thead><tbody>\n");
            for digests in &expected.digests {
                put!(page, "<tr><td>{}</td>", digests.partition);
                for (_, digest) in digests.steps() {
                    put!(page, "<td><code>{}</code></td>", &digest.to_string()[..16]);
                }
                put!(page, "</tr>\n");
            }
            let proof = &expected.proof.sha256.to_string()[..16];
            put!(page, "</tbody></table></div>\n<p>The proof: <code>{proof}</code></p>\n");
        }
    }
}

impl Binary<'_> {
    fn rows(&self) -> Vec<&str> {
        let mut rows: Vec<&str> = vec![];
        for row in self.outcomes.iter().filter_map(|outcome| outcome.row.as_deref()) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows
    }

    /// Everything that failed or was skipped, in words.
    fn remarks(&self, page: &mut String) {
        let class = |outcome: &Outcome| match outcome.status {
            Status::Ok => None,
            Status::Failed { .. } => Some("failed"),
            Status::Skipped { .. } => Some("skipped"),
        };
        let remarks: Vec<_> =
            self.outcomes.iter().filter_map(|outcome| Some((class(outcome)?, outcome))).collect();
        if !remarks.is_empty() {
            put!(page, "<ul>\n");
            for (class, outcome) in remarks {
                put!(page, "<li class=\"{class}\">{}</li>\n", escaped(&outcome.to_string()));
            }
            put!(page, "</ul>\n");
        }
    }

    /// Cases by rows. A case that does not depend on the row has one cell.
    fn matrix(&self, page: &mut String) {
        let rows = self.rows();
        put!(page, "<div class=\"wide\"><table><thead><tr><th>case</th>");
        if rows.is_empty() {
            put!(page, "<th>outcome</th>");
        }
        rows.iter().for_each(|row| put!(page, "<th>{}</th>", escaped(row)));
        put!(page, "</tr></thead><tbody>\n");
        let mut by_case: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
        self.outcomes.iter().for_each(|outcome| by_case.entry(&outcome.case).or_default().push(outcome));
        for (case, outcomes) in by_case {
            put!(page, "<tr><th>{}</th>", escaped(case));
            match outcomes[..] {
                [outcome] if outcome.row.is_none() => {
                    put!(page, "<td colspan=\"{}\">{}</td>", rows.len().max(1), cell(outcome));
                }
                _ => rows.iter().for_each(|row| {
                    let of_row = outcomes.iter().find(|outcome| outcome.row.as_deref() == Some(row));
                    put!(page, "<td>{}</td>", of_row.map_or_else(|| "–".to_owned(), |outcome| cell(outcome)));
                }),
            }
            put!(page, "</tr>\n");
        }
        put!(page, "</tbody></table></div>\n");
    }

    /// For each case with phases a bar a row, all bars of a case on one scale.
    fn bars(&self, page: &mut String) {
        let with_phases: Vec<(&Outcome, BTreeMap<&str, f64>)> = self
            .outcomes
            .iter()
            .filter_map(|outcome| Some((outcome, parts(&outcome.cost.as_ref()?.phases_ms))))
            .filter(|(_, parts)| !parts.is_empty())
            .collect();
        let names: BTreeSet<&str> = with_phases.iter().flat_map(|(_, parts)| parts.keys().copied()).collect();
        if names.is_empty() {
            return;
        }
        let colour = |name: &str| {
            let index = names.iter().position(|other| *other == name).unwrap_or(0);
            COLOURS[index % COLOURS.len()]
        };
        put!(page, "<h3>Where the time goes</h3>\n<p class=\"legend\">");
        for name in &names {
            let swatch = format!("<span class=\"swatch\" style=\"background:{}\"></span>", colour(name));
            put!(page, "<span>{swatch}{}</span> ", escaped(name));
        }
        put!(page, "</p>\n");
        let cases: BTreeSet<&str> = with_phases.iter().map(|(outcome, _)| outcome.case.as_str()).collect();
        for case in cases {
            let bars: Vec<_> = with_phases.iter().filter(|(outcome, _)| outcome.case == case).collect();
            let longest = bars.iter().map(|(_, parts)| parts.values().sum::<f64>()).fold(0.0, f64::max);
            put!(page, "<h3>{}</h3>\n<table><tbody>\n", escaped(case));
            for (outcome, parts) in bars {
                let total: f64 = parts.values().sum();
                let row = outcome.row.as_deref().unwrap_or("");
                put!(
                    page,
                    "<tr><th>{}</th><td>{:.2} s</td><td style=\"width:60%\">",
                    escaped(row),
                    total / 1e3
                );
                put!(page, "<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\">");
                put!(page, "<title>{}</title>", escaped(&in_words(parts)));
                let mut start = 0.0;
                for (name, time) in parts {
                    let width = 1000.0 * time / longest;
                    let fill = colour(name);
                    put!(
                        page,
                        "<rect x=\"{start:.1}\" y=\"0\" width=\"{width:.1}\" height=\"10\" fill=\"{fill}\"/>"
                    );
                    start += width;
                }
                put!(page, "</svg></td></tr>\n");
            }
            put!(page, "</tbody></table>\n");
        }
    }
}

/// Phases that are not sums of others or of the whole.
fn parts(phases: &BTreeMap<String, f64>) -> BTreeMap<&str, f64> {
    const SUMS: [&str; 2] = ["total", "device_total"];
    let part = |(name, time): (&String, &f64)| !SUMS.contains(&name.as_str()) && *time > 0.0;
    phases.iter().filter(|phase| part(*phase)).map(|(name, time)| (name.as_str(), *time)).collect()
}

fn in_words(parts: &BTreeMap<&str, f64>) -> String {
    parts.iter().map(|(name, time)| format!("{name} {time:.0} ms")).collect::<Vec<_>>().join(", ")
}

fn cell(outcome: &Outcome) -> String {
    match &outcome.status {
        Status::Ok => format!("<span class=\"ok\">ok</span> {:.1} s", outcome.wall_ms as f64 / 1e3),
        Status::Failed { .. } => "<span class=\"failed\">FAILED</span>".to_owned(),
        Status::Skipped { .. } => "<span class=\"skipped\">skipped</span>".to_owned(),
    }
}
