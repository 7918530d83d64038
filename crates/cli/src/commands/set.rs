//! `plumbline set`: changes a running daemon.

use daemon::protocol::Ask;
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::output::{print, print_json};
use crate::problem::Problem;
use crate::remote::Which;

/// Changes a running daemon: applies an update of its function, or reloads the whole file.
///
/// A change is the name of an update and its keys, or an update as JSON. Three words address the
/// daemon itself: `reload` reads the file again and applies the differences, `save` writes the
/// state file, `stop` stops the daemon cleanly.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// `reload`, `save`, `stop`, the name of an update, or an update as JSON
    change: String,
    /// Keys of the update, as key=value
    #[arg(value_name = "KEY=VALUE")]
    keys: Vec<String>,
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
  plumbline schema --updates mobile-gateway      # every update with its keys";

/// Runs `plumbline set`.
///
/// # Errors
/// When no daemon answers, or the daemon refuses the change.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let ask = ask(&args.change, &args.keys)?;
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
        (name, []) => Ok(Ask::Set(Value::String(name.to_owned()))),
        (name, keys) => {
            let keys = keys.iter().map(|key| pair(key)).collect::<Result<Map<_, _>, _>>()?;
            Ok(Ask::Set(Value::Object(Map::from_iter([(name.to_owned(), Value::Object(keys))]))))
        }
    }
}

/// Parses `key=value`. A value that is not valid JSON is taken as a string.
fn pair(text: &str) -> Result<(String, Value), Problem> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(Problem::of_usage(
            format!("`{text}` is not key=value"),
            "write teid=7, for example",
        ));
    };
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((key.to_owned(), value))
}

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
