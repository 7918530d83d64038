//! `plumbline check`: the functional check alone.

use lab::run::{Host, Naming, folder_name};
use measure::Subject;
use measure::record::{Cell, RunRecord};

use crate::exit::{EXIT_CODES, Exit};
use crate::host::host;
use crate::output::{print, print_json};
use crate::problem::Problem;
use crate::progress::Progress;
use crate::scenario::Wanted;
use crate::stop::on_ctrl_c;

/// Compares a device with the oracle, without measuring.
///
/// The oracle is a slow, simple model of the function. The sample covers each verdict and each drop
/// reason. Each output frame must equal the oracle's, byte for byte. Of a route reflector each
/// route that a peer is told is compared, attribute by attribute.
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
    /// Print the record as JSON on standard output
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline check scenarios/mobile-gateway.yaml
  plumbline check --function cgnat --set function.core=2
  plumbline check scenario.yaml --json | jq '.cells[].check.coverage'
";

/// Runs `plumbline check`.
///
/// # Errors
/// When the scenario is invalid.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let scenario = args.wanted.read()?;
    let naming = Naming { id: folder_name(&scenario), ..Naming::default() };
    let host = Host { naming, ..host(on_ctrl_c()) };
    let mut progress = if args.quiet { Progress::hidden() } else { Progress::shown() };
    let record = lab::run::check(&scenario, &host, &mut progress);
    drop(progress);
    if args.json {
        print_json(&record)?;
    } else {
        print(&words(&record))?;
    }
    Ok(record.status.into())
}

fn words(record: &RunRecord) -> String {
    record.cells.iter().map(cell_words).collect()
}

fn cell_words(cell: &Cell) -> String {
    let mut text = String::new();
    match (&cell.check, cell.trouble()) {
        (Some(check), _) => {
            text += &format!("{}: {}\n", cell.label(), report::terminal::check_words(check));
            if check.passed {
                let covered: Vec<String> = check
                    .coverage
                    .iter()
                    .map(|one| format!("{} {}", one.name, one.frames))
                    .collect();
                let by = match check.of {
                    Subject::Frames => "frames by verdict",
                    Subject::Routes => "events",
                };
                text += &format!("  {by}: {}\n", covered.join(", "));
            }
            for mismatch in &check.mismatches {
                text += &format!(
                    "  {}\n    expected {}\n    got      {}\n",
                    check.named(mismatch),
                    mismatch.expected,
                    mismatch.got
                );
            }
        }
        (None, Some(error)) => text += &format!("{}: {error}\n", cell.label()),
        (None, None) => {}
    }
    text
}
