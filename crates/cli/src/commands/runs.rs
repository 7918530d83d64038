//! `plumbline runs`: the runs that are kept: listing, tagging, packing, pruning.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use jiff::{SignedDuration, Timestamp};
use lab::alive::{State, state};
use lab::run::cache;
use report::archive::{self, Listing, Removed, Run, TAGS_MAX, check_tag, record_file, set_tags};
use serde_json::{Value, json};

use super::baseline::{Naming, name};
use super::trend::{Asked, trend};
use crate::exit::Exit;
use crate::locate::{Located, RUNS_DIR, locate, of_reading};
use crate::output::{print, print_json, tell, width, wrap};
use crate::problem::Problem;

/// Lists the stored runs, newest first; tags, packs and deletes them.
///
/// A tagged run is never pruned. Tags are stored in a file beside run.json, so that the record
/// stays as measured.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The action; without one the runs are listed
    #[command(subcommand)]
    action: Option<Action>,
    /// The folder that holds the runs
    #[arg(long, value_name = "DIR", default_value = RUNS_DIR, global = true)]
    runs_dir: PathBuf,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// Adds tags to a run
    Tag(Tagging),
    /// Removes tags from a run
    Untag(Tagging),
    /// Gives a run the name of a baseline, for `plumbline report RUN --against NAME`
    ///
    /// One run has the name at a time. It has the tag `baseline.NAME`, so it is never pruned.
    Baseline(Naming),
    /// Shows the headline figures of a scenario over its runs, and where their level changes
    ///
    /// Each figure is a line in the order of time, of one host. A step is a change of level that
    /// noise does not explain: Pettitt's test on ranks, decided by permutations. It takes eight
    /// runs at least. The table goes to the terminal, and a page with charts into a file.
    Trend(Asked),
    /// Copies the compressed record of runs elsewhere, to be kept for good
    ///
    /// Each run gets a folder there with `run.json.gz` alone, whose content is that of run.json,
    /// byte for byte. Every command reads it, and `plumbline report` makes all other files from it.
    /// A record that is there already is never replaced.
    Pack(Packing),
    /// Deletes runs that have no tag
    ///
    /// Tagged runs, runs in progress, folders that are not runs, and files that this program did
    /// not write are never deleted. With both --keep and --older-than, a run is deleted only if
    /// both select it.
    Prune(Pruning),
}

#[derive(clap::Args)]
struct Tagging {
    /// The run: its folder, its name in --runs-dir, or `latest`
    run: PathBuf,
    /// A tag of letters, digits, `.`, `_` and `-`; may be repeated
    #[arg(required = true, value_name = "TAG", value_parser = tag)]
    tags: Vec<String>,
}

#[derive(clap::Args)]
struct Packing {
    /// The runs: their folders, their names in --runs-dir, or `latest`
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Where to make the folders of the records
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
}

#[derive(clap::Args)]
struct Pruning {
    /// Keep this number of the newest untagged runs
    #[arg(long, value_name = "N", required_unless_present_any = ["older_than", "cache_max"])]
    keep: Option<usize>,
    /// Delete only runs that are older than this: 30d, 12h, 4w
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<SignedDuration>,
    /// Delete the oldest cached measurements until the cache is no larger than this: 500M, 2G, 0
    #[arg(long, value_name = "SIZE", value_parser = size)]
    cache_max: Option<u64>,
    /// Only print what would be deleted
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Delete without confirmation
    #[arg(long, short)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline runs
  plumbline runs tag latest release-1.2
  plumbline runs baseline main latest
  plumbline runs trend capacity --output trend.html
  plumbline runs pack latest --into results
  plumbline runs prune --older-than 30d --dry-run
  plumbline runs prune --keep 20 --cache-max 1G --yes
  plumbline runs --json | jq -r '.runs[] | select(.status == \"passed\") | .path'";

/// Runs `plumbline runs`.
///
/// # Errors
/// When a folder cannot be read, a run does not exist, or a file cannot be written or deleted.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    match &args.action {
        None => list(args),
        Some(Action::Tag(tagging)) => retag(args, tagging, |tags, tag| tags.insert(tag)),
        Some(Action::Untag(tagging)) => retag(args, tagging, |tags, tag| tags.remove(&tag)),
        Some(Action::Baseline(naming)) => name(naming, &args.runs_dir, args.json),
        Some(Action::Trend(asked)) => {
            trend(asked, &args.runs_dir, listing(&args.runs_dir)?, args.json)
        }
        Some(Action::Pack(packing)) => pack(args, packing),
        Some(Action::Prune(pruning)) => prune(args, pruning),
    }
}

fn list(args: &Args) -> Result<Exit, Problem> {
    let listing = listing(&args.runs_dir)?;
    if args.json {
        let runs: Vec<Value> = listing.runs.iter().map(as_json).collect();
        print_json(&json!({"runs": runs, "foreign": listing.foreign}))?;
        return Ok(Exit::Passed);
    }
    if listing.runs.is_empty() {
        let folder = args.runs_dir.display();
        tell(&format!("no runs in {folder}; make one with `plumbline bench SCENARIO`\n"));
    } else {
        print(&table(&listing.runs))?;
    }
    if !listing.foreign.is_empty() {
        tell("not runs:\n");
        for one in &listing.foreign {
            let path = one.path.display().to_string();
            // Most read errors name the file already.
            let problem = one.problem.strip_prefix(&format!("{path}: ")).unwrap_or(&one.problem);
            tell(&format!("  {path}: {problem}\n"));
        }
    }
    Ok(Exit::Passed)
}

/// The runs in a folder; an empty list if the folder does not exist yet.
fn listing(runs_dir: &Path) -> Result<Listing, Problem> {
    if !runs_dir.exists() {
        return Ok(Listing::default());
    }
    archive::list(runs_dir).map_err(of_reading)
}

fn as_json(run: &Run) -> Value {
    let mut value = json!(run);
    value["under_way"] = matches!(state(&run.path), State::Running(_)).into();
    value
}

/// Formats the runs, two lines each: the facts in columns, then the first answer.
fn table(runs: &[Run]) -> String {
    let facts = |run: &Run| {
        let cells = if run.cells == 1 { "1 cell".into() } else { format!("{} cells", run.cells) };
        let (began, size) = (minute(&run.started), bytes(run.bytes));
        [run.name.clone(), began, verdict(run), cells, size, run.tags.join(", ")]
    };
    let rows: Vec<[String; 6]> = runs.iter().map(facts).collect();
    let width_of = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let mut text = String::new();
    for (row, run) in rows.iter().zip(runs) {
        let padded = row.iter().enumerate().map(|(column, fact)| {
            let width = width_of(column).unwrap_or(0);
            format!("{fact:<width$}")
        });
        text += padded.collect::<Vec<_>>().join("  ").trim_end();
        text += "\n";
        // The record of a run that is under way says only that it is not finished.
        let is_under_way = matches!(state(&run.path), State::Running(_));
        if let Some(answer) = run.answers.first().filter(|_| !is_under_way) {
            text += &wrap(&format!("    {answer}"), usize::from(width()), "    ");
            text += "\n";
        }
    }
    text
}

/// The run's status: how it ended, or its progress if it is still running.
fn verdict(run: &Run) -> String {
    match state(&run.path) {
        State::Running(live) if live.measurements > 0 => {
            format!("measuring, {} of {}", live.measurements_done, live.measurements)
        }
        State::Running(_) => "measuring".to_owned(),
        State::Gone(_) => "killed".to_owned(),
        State::Ended(_) | State::Unknown => run.verdict.to_owned(),
    }
}

fn retag(
    args: &Args,
    tagging: &Tagging,
    change: impl Fn(&mut BTreeSet<String>, String) -> bool,
) -> Result<Exit, Problem> {
    let located = locate(&tagging.run, &args.runs_dir)?;
    let record = located.read()?;
    let beside = archive::tags(&located.folder).map_err(of_reading)?;
    let mut tags: BTreeSet<String> = beside.into_iter().collect();
    for tag in &tagging.tags {
        let changed = change(&mut tags, tag.clone());
        if !changed && record.tags.contains(tag) && !tags.contains(tag) {
            tell(&format!("note: {tag} was set when the run was made, and cannot be removed\n"));
        }
    }
    if tags.len() > TAGS_MAX {
        let what = format!("a run can have at most {TAGS_MAX} tags");
        return Err(Problem::of_usage(what, "remove some with `plumbline runs untag`"));
    }
    let tags: Vec<String> = tags.into_iter().collect();
    set_tags(&located.folder, &tags)?;
    let all: BTreeSet<&String> = tags.iter().chain(&record.tags).collect();
    if args.json {
        print_json(&json!({"path": located.folder, "tags": all}))?;
    } else {
        let words: Vec<&str> = all.iter().map(|tag| tag.as_str()).collect();
        let words = if words.is_empty() { "no tags".to_owned() } else { words.join(", ") };
        print(&format!("{}: {words}\n", located.folder.display()))?;
    }
    Ok(Exit::Passed)
}

fn pack(args: &Args, packing: &Packing) -> Result<Exit, Problem> {
    let found: Vec<Located> =
        packing.runs.iter().map(|run| locate(run, &args.runs_dir)).collect::<Result<_, _>>()?;
    let pack = |located| pack_one(located, &packing.into);
    let packed: Vec<PathBuf> = found.iter().map(pack).collect::<Result<_, _>>()?;
    if args.json {
        print_json(&json!({"packed": packed}))?;
    }
    Ok(Exit::Passed)
}

fn pack_one(located: &Located, into: &Path) -> Result<PathBuf, Problem> {
    located.read()?;
    if matches!(state(&located.folder), State::Running(_)) {
        let problem = Problem::of_usage("this run is under way", "pack it when it has ended");
        return Err(problem.at("folder", located.folder.display()));
    }
    // Only the system knows the name of `.`, and the root has none.
    let whole = fs::canonicalize(&located.folder).unwrap_or_default();
    let folder = into.join(whole.file_name().unwrap_or("run".as_ref()));
    if record_file(&folder).exists() {
        let remedy = "name another folder by --into, or delete that record";
        let problem = Problem::of_usage("a record is there already, and is not replaced", remedy);
        return Err(problem.at("folder", folder.display()));
    }
    fs::create_dir_all(&folder).map_err(|error| Problem::of_writing(&folder, &error))?;
    let path = archive::pack(&located.file, &folder)?;
    tell(&format!("written: {}\n", path.display()));
    Ok(path)
}

fn prune(args: &Args, pruning: &Pruning) -> Result<Exit, Problem> {
    let listing = listing(&args.runs_dir)?;
    let now = Timestamp::now();
    let chosen: Vec<&Run> = match (pruning.keep, pruning.older_than) {
        (None, None) => Vec::new(),
        _ => chosen(&listing.runs, pruning, now),
    };
    let total: u64 = chosen.iter().map(|run| run.bytes).sum();
    let question = format!("{} of {} runs, {}", chosen.len(), listing.runs.len(), bytes(total));
    if !args.json {
        for run in &chosen {
            print(&format!("{}  {}\n", run.path.display(), bytes(run.bytes)))?;
        }
    }
    let to_do = !chosen.is_empty() || pruning.cache_max.is_some();
    if to_do && !pruning.dry_run && !pruning.yes && !agreed(&question)? {
        tell("nothing was deleted\n");
        return Ok(Exit::Passed);
    }
    let mut removed: Vec<Removed> = Vec::new();
    let mut cached = cache::Pruned::default();
    if !pruning.dry_run {
        for run in &chosen {
            // The run may have started or been tagged while the user was thinking.
            if removable(run) {
                removed.push(archive::remove(&run.path)?);
            }
        }
        if let Some(bytes_max) = pruning.cache_max {
            cached = cache::prune(&args.runs_dir, bytes_max)
                .map_err(|error| Problem::of_writing(&args.runs_dir.join(cache::FOLDER), &error))?;
        }
    }
    if args.json {
        let paths: Vec<&PathBuf> = chosen.iter().map(|run| &run.path).collect();
        print_json(&json!({
            "chosen": paths, "removed": removed, "dry_run": pruning.dry_run,
            "cache": {"files": cached.files, "bytes": cached.bytes},
        }))?;
        return Ok(Exit::Passed);
    }
    tell(&told(pruning, &question, &removed, cached));
    Ok(Exit::Passed)
}

fn told(pruning: &Pruning, question: &str, removed: &[Removed], cached: cache::Pruned) -> String {
    if pruning.dry_run {
        return format!("would be deleted: {question}\n");
    }
    let freed: u64 = removed.iter().map(|one| one.bytes).sum();
    let mut text = format!("deleted: {} runs, {}\n", removed.len(), bytes(freed));
    if pruning.cache_max.is_some() {
        text += &format!("deleted: {} measurements, {}\n", cached.files, bytes(cached.bytes));
    }
    for one in removed.iter().filter(|one| !one.left.is_empty()) {
        let (folder, left) = (one.path.display(), one.left.join(", "));
        text += &format!("note: {folder} is kept, because it holds files of others: {left}\n");
    }
    text
}

/// The runs that both --keep and --older-than select for deletion, newest first.
fn chosen<'a>(runs: &'a [Run], pruning: &Pruning, now: Timestamp) -> Vec<&'a Run> {
    let is_old = |run: &Run| match (pruning.older_than, run.started.parse::<Timestamp>()) {
        (None, _) => true,
        (Some(age), Ok(started)) => now.duration_since(started) > age,
        // The age of a run is unknown if its time cannot be parsed.
        (Some(_), Err(_)) => false,
    };
    let untagged = runs.iter().filter(|run| run.tags.is_empty());
    let untagged = untagged.filter(|run| !matches!(state(&run.path), State::Running(_)));
    untagged.skip(pruning.keep.unwrap_or(0)).filter(|run| is_old(run)).collect()
}

fn removable(run: &Run) -> bool {
    let untagged = archive::look(&run.path).is_ok_and(|now| now.tags.is_empty());
    untagged && !matches!(state(&run.path), State::Running(_))
}

/// Asks for confirmation on the terminal.
fn agreed(question: &str) -> Result<bool, Problem> {
    let input = io::stdin();
    if !input.is_terminal() {
        let remedy = "add --yes to delete, or --dry-run to list only";
        return Err(Problem::of_usage("standard input is no terminal to confirm on", remedy));
    }
    let mut error = io::stderr().lock();
    let asked = write!(error, "Delete {question}? [y/N] ").and_then(|()| error.flush());
    let mut line = String::new();
    let read = asked.and_then(|()| input.lock().read_line(&mut line));
    read.map_err(|error| Problem::of_environment(error, "add --yes to delete without asking"))?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn tag(text: &str) -> Result<String, &'static str> {
    check_tag(text).map(|()| text.to_owned())
}

/// Parses an age such as `30d`: a whole number of hours, days or weeks.
fn age(text: &str) -> Result<SignedDuration, String> {
    let wrong = || "expected a number and h, d or w, as in 30d".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let hours: i64 = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        _ => return Err(wrong()),
    };
    let number: u32 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    Ok(SignedDuration::from_hours(i64::from(number) * hours))
}

/// Parses a size such as `2G`: a whole number of bytes, optionally with a decimal unit prefix.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number of bytes, as in 0, 500M or 2G".to_owned();
    let digits = text.trim_end_matches(['k', 'K', 'M', 'G', 'T']);
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let unit: u64 = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(unit).ok_or_else(wrong)
}

/// Formats an RFC 3339 time as `2026-11-21 14:20`.
fn minute(time: &str) -> String {
    time.replace('T', " ").chars().take(16).collect()
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_are_numbers_with_a_unit() {
        assert_eq!(age("30d"), Ok(SignedDuration::from_hours(720)));
        assert_eq!(age("2w"), age("14d"));
        for wrong in ["", "d", "30", "1.5d", "-1d", "30 d", "3ä", "99999999999h"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
        assert_eq!(size("500M"), Ok(500_000_000));
        assert_eq!(size("0"), Ok(0));
        for wrong in ["", "M", "1.5G", "1MM", "-1", "99999999999999T", "1ä"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!([bytes(999), bytes(12_345), bytes(1_500_000)], ["999 B", "12 kB", "1.5 MB"]);
    }
}
