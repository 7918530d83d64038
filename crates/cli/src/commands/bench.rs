//! `plumbline bench`: check, measure, report.

use std::path::PathBuf;

use lab::folder::RunFolder;
use lab::run::{folder_name, measure, needed_bytes};
use measure::record::RunRecord;
use report::{EXPORTERS, write_whole};

use super::{host, scenario};
use crate::exit::{EXIT_CODES, Exit};
use crate::output::{print, print_json, tell, width};
use crate::problem::Problem;
use crate::progress::Progress;
use crate::stop::on_ctrl_c;

/// Checks a device against the oracle, measures it, and writes a report.
///
/// Every combination of the scenario's lists is one cell. A cell whose functional check fails is not
/// measured. The files of a run go to a new folder: `run.json` (everything, raw), `trials.csv` (a
/// row a trial) and `report.html` (open it in a browser). Ctrl-C ends the run cleanly and keeps what
/// was finished.
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct Args {
    /// The scenario file, YAML or JSON; files of TIPSY work too
    scenario: PathBuf,
    /// Where to make the folder of this run
    #[arg(long, short, value_name = "DIR", default_value = "runs")]
    output_dir: PathBuf,
    /// Print the whole record as JSON on standard output instead of a table
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline bench scenarios/mobile-gateway.yaml
  plumbline bench scenarios/mobile-gateway.yaml --output-dir /tmp/runs
  plumbline bench scenario.yaml --json | jq '.cells[].outcomes[].answer'
";

/// Does it.
///
/// # Errors
/// A bad scenario, or a folder or disk that cannot be written.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let scenario = scenario(&args.scenario)?;
    let stop = on_ctrl_c();
    let folder =
        RunFolder::create(&args.output_dir, &folder_name(&scenario), needed_bytes(&scenario))?;
    let mut progress = if args.quiet { Progress::hidden() } else { Progress::shown() };
    let path = folder.path();
    // After every cell only the record: the other files can be made from it at the end.
    let mut keep = |record: &RunRecord| -> Result<(), Problem> {
        for exporter in EXPORTERS.iter().filter(|exporter| exporter.name == "json") {
            write_whole(&path.join(exporter.file), &(exporter.render)(record)?)?;
        }
        Ok(())
    };
    progress.step("looking at the machine");
    let record = measure(&scenario, &host(stop), &mut progress, &mut keep)?;
    drop(progress);
    let files = report::export_all(&record, path)?;
    if args.json {
        print_json(&record)?;
    } else {
        print(&report::terminal::render(&record, width()))?;
    }
    let files: Vec<String> =
        files.iter().rev().map(|file| format!("  {}\n", file.display())).collect();
    tell(&format!("written:\n{}", files.concat()));
    Ok(record.status.into())
}
