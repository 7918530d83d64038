//! `plumbline list`: what can be named in a scenario.

use devices::registry;
use lab::registry::FUNCTIONS;
use lab::scenario::ALONG;
use methods::METHODS;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::{print, print_json};
use crate::problem::Problem;

/// Lists the functions, devices and methods that a scenario can name.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `plumbline list`.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    if args.json {
        print_json(&as_json())?;
    } else {
        print(&as_text())?;
    }
    Ok(Exit::Passed)
}

fn as_text() -> String {
    let mut text = String::from("Functions (function.name):\n");
    for unit in FUNCTIONS {
        text += &line(unit.name(), unit.summary());
        if !unit.aliases().is_empty() {
            text += &line("", &format!("also known as {}", unit.aliases().join(", ")));
        }
    }
    text += "\nDevices (device):\n";
    text.extend(registry::devices().map(|device| line(device.name, device.summary)));
    text += "\nMethods (methods):\n";
    for entry in METHODS {
        text += &line(entry.name, entry.summary);
        if !entry.standards.is_empty() {
            text += &line("", &format!("after {}", entry.standards.join(", ")));
        }
    }
    text + &line(ALONG.0, ALONG.1)
}

fn line(name: &str, summary: &str) -> String {
    format!("  {name:<16} {summary}\n")
}

fn as_json() -> Value {
    let functions: Vec<Value> = FUNCTIONS
        .iter()
        .map(|unit| {
            json!({"name": unit.name(), "aliases": unit.aliases(), "summary": unit.summary()})
        })
        .collect();
    let devices: Vec<Value> = registry::devices()
        .map(|device| json!({"name": device.name, "summary": device.summary}))
        .collect();
    let along = json!({"name": ALONG.0, "summary": ALONG.1, "standards": []});
    let methods: Vec<Value> = METHODS
        .iter()
        .map(|entry| {
            json!({"name": entry.name, "summary": entry.summary, "standards": entry.standards})
        })
        .chain([along])
        .collect();
    json!({"functions": functions, "devices": devices, "methods": methods})
}
