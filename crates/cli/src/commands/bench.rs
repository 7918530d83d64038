//! `plumbline bench`: check, measure, report.

use std::path::PathBuf;

use lab::folder::RunFolder;
use lab::live::Telling;
use lab::run::cache::Cache;
use lab::run::{Host, Lost, Naming, Reuse, folder_name, measure, needed_bytes};
use measure::record::{RunRecord, Status};
use report::archive::check_tag;
use report::{EXPORTERS, write_whole};

use crate::exit::{EXIT_CODES, Exit};
use crate::host::host;
use crate::output::{print, print_json, tell, width};
use crate::problem::Problem;
use crate::progress::Progress;
use crate::scenario::{Wanted, no_cell};
use crate::stop::on_ctrl_c;

/// Checks a device against the oracle, measures it, and writes a report.
///
/// Each combination of the values in the scenario's lists is one cell. A cell whose functional
/// check fails is not measured. The files of a run go to a new folder: `report.html` (open it in a
/// browser), `run.json` (the complete raw record), `figures.csv` and `trials.csv` for spreadsheets,
/// `run.jsonl` for pipelines and `junit.xml` for CI systems. Ctrl-C ends the run cleanly and keeps
/// the finished measurements. The same command then measures only what is missing. Measurements
/// that the same build has made on this machine before are reused as well.
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
    /// Measure only this cell, by its id in the table or record of a run; may be repeated
    #[arg(long, value_name = "ID")]
    cell: Vec<String>,
    /// The folder in which the folder of this run is created
    #[arg(long, short, value_name = "DIR", default_value = "runs")]
    output_dir: PathBuf,
    /// Measure everything again, even if an earlier run in the same folder measured it
    #[arg(long)]
    fresh: bool,
    /// Smoke test: run each part once, in seconds, at low rates. It shows that the scenario works,
    /// not how fast the device is
    #[arg(long, alias = "small")]
    smoke: bool,
    /// Tag the run, so that `plumbline runs` can find it; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
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
  plumbline bench --function l3-router --method throughput --set device=linux
  plumbline bench scenario.yaml --set 'traffic.pkt-size=[64, 1518]'
  plumbline bench scenario.yaml --json | jq '.cells[].outcomes[].answer'
";

/// Runs `plumbline bench`.
///
/// # Errors
/// When the scenario is invalid, or the folder or disk cannot be written.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    for tag in &args.tag {
        let usage = |what| Problem::of_usage(format!("`{tag}`: {what}"), "give it another name");
        check_tag(tag).map_err(usage)?;
    }
    let mut scenario = args.wanted.read()?;
    if args.smoke {
        scenario = scenario.smoke_test().map_err(|error| {
            Problem::of_usage(
                format!("no smoke test can be made of it: {error}"),
                "report this bug",
            )
        })?;
    }
    if !args.cell.is_empty()
        && let Err(unknown) = scenario.keep_cells(&args.cell)
    {
        return Err(no_cell(&scenario, unknown));
    }
    let stop = on_ctrl_c();
    let needed = needed_bytes(&scenario);
    let cache = Cache::open(&args.output_dir, needed)?;
    let folder = RunFolder::create(&args.output_dir, &folder_name(&scenario), needed)?;
    let reuse = if args.fresh { Reuse::Fresh(cache) } else { Reuse::Missing(cache) };
    let mut progress = if args.quiet { Progress::hidden() } else { Progress::shown() };
    let path = folder.path();
    // While it runs only the record: the other files can be made from it at the end.
    let mut keep = |record: &RunRecord| -> Result<(), Problem> {
        for exporter in EXPORTERS.iter().filter(|exporter| exporter.name == "json") {
            write_whole(&path.join(exporter.file), &(exporter.render)(record)?)?;
        }
        Ok(())
    };
    progress.step("looking at the machine");
    let mut telling = Telling::new(&mut progress, path, &scenario.name);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let host = Host { naming: Naming { id: name, tags: args.tag.clone() }, ..host(stop) };
    let measured = measure(&scenario, &host, &reuse, &mut telling, &mut keep);
    drop(telling);
    drop(progress);
    let (record, written) = match measured {
        Ok(record) => (record, Ok(())),
        Err(Lost { record, error }) => (*record, Err(error)),
    };
    // The terminal comes first: a full disk must not keep the figures from the user.
    if args.json {
        print_json(&record)?;
    } else {
        print(&report::terminal::render(&record, width()))?;
    }
    written.map_err(|problem| problem.with_remedy(REMEDY))?;
    let files = report::export_all(&record, path)
        .map_err(|error| Problem::from(error).with_remedy(REMEDY))?;
    let files: Vec<String> =
        files.iter().rev().map(|file| format!("  {}\n", file.display())).collect();
    tell(&format!("written:\n{}", files.concat()));
    if record.status == Status::Interrupted {
        tell("finished measurements are kept; the same command measures what is missing\n");
    }
    Ok(record.status.into())
}

const REMEDY: &str = "free some space, or choose another folder with --output-dir; files written before \
                      are intact, and finished measurements are not repeated";
