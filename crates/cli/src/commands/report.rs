//! `plumbline report`: renders the files of a run again, writes one format to another place, or
//! compares several runs.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use measure::record::{RunRecord, compare_runs};
use report::{EXPORTERS, Exporter, write_whole};
use serde_json::json;

use super::baseline;
use super::fail_if::FailIf;
use crate::browser::print_to_pdf;
use crate::exit::Exit;
use crate::locate::{Located, RUNS_DIR, locate};
use crate::output::{print, print_bytes, print_json, tell, width};
use crate::problem::Problem;
use crate::stop::on_ctrl_c_saying;

/// Renders the report of a run again, or compares runs.
///
/// A run is named by its folder, by its run.json (or run.json.gz), by the name of its folder in
/// --runs-dir, or by `latest`. For one run, the command prints the result and writes all files
/// except the record again.
/// For several runs, it compares each with the first: faster, slower, the same within 5 %, or
/// inconclusive if the noise of the repetitions may hide a change.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The run; further runs are compared with the first
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The folder in which runs are looked up by name
    #[arg(long, value_name = "DIR", default_value = RUNS_DIR)]
    runs_dir: PathBuf,
    /// Compare with the run that is this baseline (`plumbline runs baseline NAME RUN`), in place of
    /// the first run
    #[arg(long, value_name = "NAME", conflicts_with = "format")]
    against: Option<String>,
    /// Write this format only
    #[arg(long, short, value_name = "FORMAT")]
    format: Option<Format>,
    /// The file to write, or - for standard output [default: the format's file name in the run's
    /// folder; `comparison.html` in the current folder for several runs]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the page as PDF with a headless Chromium, if one is installed
    #[arg(long, conflicts_with = "format")]
    pdf: bool,
    /// End with 5 if the ratio of a figure to that of the first run is beyond this limit, and noise
    /// does not explain it: METHOD.FIGURE < RATIO, or >
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<FailIf>,
    /// Print the record, or the comparisons, as JSON on standard output
    #[arg(long, conflicts_with_all = ["format", "pdf", "output"])]
    json: bool,
}

/// One of the exporters.
#[derive(Clone, Copy)]
struct Format(&'static Exporter);

const EXAMPLES: &str = "\
Examples:
  plumbline report latest
  plumbline report latest --format jsonl --output - | jq 'select(.record == \"figure\")'
  plumbline report runs/before runs/after --output comparison.html
  plumbline report runs/before latest --fail-if 'capacity.function < 0.95'
  plumbline report latest --against main --fail-if 'capacity.function < 0.95'
  plumbline report latest --pdf --output report.pdf";

/// Runs `plumbline report`.
///
/// # Errors
/// When a run cannot be read, or a file cannot be written.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let against = args.against.iter().map(|name| baseline::find(name, &args.runs_dir));
    let named = args.runs.iter().map(|run| locate(run, &args.runs_dir));
    let found: Vec<Located> = against.chain(named).collect::<Result<_, _>>()?;
    let records: Vec<RunRecord> = found.iter().map(Located::read).collect::<Result<_, _>>()?;
    match (records.as_slice(), found.first()) {
        ([_], _) if !args.fail_if.is_empty() => {
            let what = "--fail-if compares runs, and there is one only";
            Err(Problem::of_usage(what, "name the run to compare with in front of it"))
        }
        ([record], Some(located)) => one(args, located, record),
        _ => several(args, &records),
    }
}

fn one(args: &Args, located: &Located, record: &RunRecord) -> Result<Exit, Problem> {
    let page = || EXPORTERS.iter().find(|exporter| exporter.name == "html");
    match (args.format, page()) {
        _ if args.json => print_json(record)?,
        (Some(Format(exporter)), _) => {
            let target = args.output.clone().unwrap_or_else(|| located.folder.join(exporter.file));
            if exporter.name == "json" && same_file(&target, &located.file) {
                let remedy = "name another file with --output, or - for standard output";
                return Err(Problem::of_usage("a record cannot overwrite itself", remedy)
                    .at("file", target.display()));
            }
            put(&target, &(exporter.render)(record)?)?;
        }
        (None, Some(page)) if args.pdf => {
            let target = args.output.clone().unwrap_or_else(|| located.folder.join("report.pdf"));
            put(&target, &print_to_pdf(&(page.render)(record)?, &stop())?)?;
        }
        (None, Some(page)) if args.output.is_some() => {
            let target = args.output.clone().unwrap_or_default();
            put(&target, &(page.render)(record)?)?;
        }
        _ => {
            print(&report::terminal::render(record, width()))?;
            // All other files are made from the record; the record itself stays as measured.
            for exporter in EXPORTERS.iter().filter(|exporter| exporter.name != "json") {
                put(&located.folder.join(exporter.file), &(exporter.render)(record)?)?;
            }
        }
    }
    Ok(Exit::Passed)
}

fn several(args: &Args, records: &[RunRecord]) -> Result<Exit, Problem> {
    if let Some(Format(exporter)) = args.format.filter(|format| format.0.name != "html") {
        let what = format!("the format {} takes one run only", exporter.name);
        return Err(Problem::of_usage(what, "name one run, or use --json for the comparison"));
    }
    let [first, others @ ..] = records else { return Ok(Exit::Passed) };
    let comparisons: Vec<_> = others.iter().flat_map(|other| compare_runs(other, first)).collect();
    let failed: Vec<Vec<String>> =
        args.fail_if.iter().map(|one| one.judge(&comparisons)).collect::<Result<_, _>>()?;
    let exit = match failed.iter().all(Vec::is_empty) {
        true => Exit::Passed,
        false => Exit::ThresholdMissed,
    };
    if args.json {
        let runs: Vec<_> = records.iter().map(about).collect();
        print_json(&json!({"runs": runs, "comparisons": comparisons, "failed": failed.concat()}))?;
        return Ok(exit);
    }
    let default = if args.pdf { "comparison.pdf" } else { "comparison.html" };
    let target = args.output.clone().unwrap_or_else(|| PathBuf::from(default));
    if target.as_os_str() != "-" {
        print(&report::compared::render(records, width()))?;
    }
    let page = report::comparison_page(records);
    let content = if args.pdf { print_to_pdf(&page, &stop())? } else { page };
    put(&target, &content)?;
    for line in failed.concat() {
        tell(&format!("failed: {line}\n"));
    }
    Ok(exit)
}

/// The facts of a run in the JSON of a comparison. Comparisons name the run by its start time.
fn about(record: &RunRecord) -> serde_json::Value {
    json!({
        "id": record.name(),
        "started": record.started,
        "scenario": record.scenario.name,
        "status": record.status,
        "tool": record.tool,
        "cpu_model": record.host.cpu_model,
    })
}

fn stop() -> Arc<AtomicBool> {
    on_ctrl_c_saying("\nstopping\n")
}

/// Writes a file completely or not at all. A device or pipe is written to and never replaced.
pub(super) fn put(path: &Path, content: &[u8]) -> Result<(), Problem> {
    if path.as_os_str() == "-" {
        return print_bytes(content);
    }
    let found = fs::metadata(path);
    if found.as_ref().is_ok_and(fs::Metadata::is_dir) {
        let problem = Problem::of_usage("this is a directory", "name a file in it");
        return Err(problem.at("file", path.display()));
    }
    if found.is_ok_and(|found| !found.is_file()) {
        let mut file = OpenOptions::new()
            .write(true)
            .open(path)
            .map_err(|error| Problem::of_writing(path, &error))?;
        file.write_all(content).map_err(|error| Problem::of_writing(path, &error))?;
    } else {
        write_whole(path, content)?;
    }
    tell(&format!("written: {}\n", path.display()));
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Format] {
        const COUNT: usize = EXPORTERS.len();
        const FORMATS: [Format; COUNT] = {
            let mut formats = [Format(&EXPORTERS[0]); COUNT];
            let mut index = 0;
            while index < COUNT {
                formats[index] = Format(&EXPORTERS[index]);
                index += 1;
            }
            formats
        };
        &FORMATS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name).help(self.0.summary))
    }
}
