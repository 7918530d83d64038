//! `plumbline set`: changes a running daemon.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use daemon::Parts;
use daemon::protocol::Ask;
use daemon::words;
use serde_json::Value;

use crate::exit::Exit;
use crate::output::{print, print_json};
use crate::problem::Problem;
use crate::remote::Which;

/// Changes a running daemon: applies an update of its function, has a controller do something, or
/// reloads the whole file.
///
/// A change is the name of an update or command and its keys, or the same as JSON. A file of
/// changes has one a line in either form, and goes to the daemon as a whole. Those that are refused
/// are told by their lines, and the others take effect. Three words address the daemon itself:
/// `reload` reads the file again and applies the differences, `save` writes the state file, `stop`
/// stops the daemon cleanly.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    /// `reload`, `save`, `stop`, the name of an update or of a command, or either as JSON
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    change: Option<String>,
    /// Its keys, as key=value
    #[arg(value_name = "KEY=VALUE")]
    keys: Vec<String>,
    /// A file of changes, one a line; `-` for the standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    which: Which,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline set reload
  plumbline set handover ipv4=10.0.0.7 base-station=10.1.0.2
  plumbline set '{\"handover\": {\"ipv4\": \"10.0.0.7\", \"base-station\": \"10.1.0.2\"}}' --name gateway
  plumbline set --file changes.txt               # one a line: set-route prefix=10.0.0.0/8 next-hop=1
  plumbline set reset-peer peer=10.0.0.11 text='new cables'
  plumbline schema --updates mobile-gateway      # every update or command with its keys";

/// The examples, and the commands of controllers.
fn after_help() -> String {
    let mut text = EXAMPLES.to_owned();
    for kind in Parts::all().controllers.iter().filter(|kind| !kind.commands().is_empty()) {
        text += &format!("\n\nCommands of the controller {}:", kind.name());
        for command in kind.commands() {
            let usage = format!("{} {}", command.name, command.usage());
            text += &format!("\n  {}\n      {}", usage.trim_end(), command.summary);
        }
    }
    text
}

/// Runs `plumbline set`.
///
/// # Errors
/// When no daemon answers, or the daemon refuses the change.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let ask = match (&args.file, &args.change) {
        (Some(file), _) => return many(file, args),
        (None, change) => ask(change.as_deref().unwrap_or_default(), &args.keys)?,
    };
    let answer = args.which.connect()?.ask(ask)?;
    if args.json {
        print_json(&answer)?;
        return Ok(Exit::Passed);
    }
    let text = match answer.as_object().filter(|answer| !answer.is_empty()) {
        None => "done\n".to_owned(),
        Some(answer) => {
            let plain = |value: &Value| match value {
                Value::String(text) => text.clone(),
                Value::Array(items) if items.is_empty() => "none".to_owned(),
                other => other.to_string(),
            };
            let part = |(key, value): (&String, &Value)| {
                format!("{}: {}\n", key.replace('_', " "), plain(value))
            };
            answer.iter().map(part).collect()
        }
    };
    print(&text)?;
    Ok(Exit::Passed)
}

fn ask(change: &str, keys: &[String]) -> Result<Ask, Problem> {
    match (change, keys) {
        ("reload", []) => Ok(Ask::Reload),
        ("save", []) => Ok(Ask::Save),
        ("stop", []) => Ok(Ask::Stop),
        (json, []) if json.trim_start().starts_with('{') => {
            serde_json::from_str(json).map(Ask::Set).map_err(|error| {
                Problem::of_usage(
                    format!("this is not valid JSON: {error}"),
                    "quote it for the shell",
                )
            })
        }
        (name, keys) => {
            let pair = |key: &String| {
                words::pair(key).ok_or_else(|| {
                    let what = format!("`{key}` is not key=value");
                    Problem::of_usage(what, "write teid=7, for example")
                })
            };
            let keys = keys.iter().map(pair).collect::<Result<_, _>>()?;
            Ok(Ask::Set(words::update(name, keys)))
        }
    }
}

/// Sends the changes of a file, and tells what became of them.
fn many(file: &Path, args: &Args) -> Result<Exit, Problem> {
    let failed = |error: io::Error| {
        let problem = Problem::of_usage(format!("the file cannot be read: {error}"), "");
        problem.at("file", file.display())
    };
    let mut from: Box<dyn BufRead> = match file == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(file).map_err(failed)?)),
    };
    let answer = args.which.connect()?.updates(&mut *from)?;
    let count = |key: &str| answer[key].as_u64().unwrap_or_default();
    let (applied, refused) = (count("applied"), count("refused"));
    match args.json {
        true => print_json(&answer)?,
        false => print(&format!("applied: {applied}\nrefused: {refused}\n"))?,
    }
    if refused == 0 {
        return Ok(Exit::Passed);
    }
    let errors = answer["errors"].as_array().into_iter().flatten();
    let told = errors.map(|error| {
        format!("line {}: {}", error["line"], error["what"].as_str().unwrap_or_default())
    });
    let told: Vec<String> = told.take(TOLD_MAX).collect();
    let more = refused.saturating_sub(told.len() as u64);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let what = format!("{refused} changes were refused: {}{more}", told.join("; "));
    let remedy = "mend these lines and send them again; the others have taken effect";
    Err(Problem::of_usage(what, remedy).at("file", file.display()))
}

/// Refused lines that are told in words.
const TOLD_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_written_as_words_or_as_json() {
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        let words = ask("add-server", &keys(&["prefix=5.0.0.0", "len=24", "next-hop=1"]));
        let json = ask(r#"{"add-server": {"prefix": "5.0.0.0", "len": 24, "next-hop": 1}}"#, &[]);
        assert_eq!(words, json);
        assert_eq!(ask("reload", &[]), Ok(Ask::Reload));
        assert!(ask("handover", &keys(&["teid"])).is_err());
        assert!(ask("{broken", &[]).is_err());
    }
}
