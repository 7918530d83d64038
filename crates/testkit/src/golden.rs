//! Golden folders: a configuration, frames and changes, and what must become of each.
//!
//! ```text
//! golden/<case>/config.yaml      the `function` section
//!               01-input.txt     steps: `wait 10 ms`, `update …`, or the name of a port and below
//!                                it, indented, the bytes of a frame
//!               02-expected.txt  for each frame the port where it left and its bytes, or
//!                                `drop reason`; for each change `applied` or `refused`; and
//!                                behind the word `made` the same for each frame made beside
//!               03-counters.txt  everything counted that is not 0
//! ```
//! `UPDATE_GOLDEN=1 cargo test -p functions golden` rewrites what is expected; the difference is to
//! be read before it is committed. The oracle must agree in any case.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use engine::{Counts, Names};
use function_kit::{PortName, Shard};
use model_kit::check::Expected;
use model_kit::{Model, UpdateOf};
use packet::PortId;

use crate::layers::layers;
use crate::pair::{Pair, hex, unhex};

/// How the texts of a function's cases are read.
pub struct Reader<N: Model> {
    /// The `function` section, validated.
    pub config: fn(&str) -> N::Section,
    /// What follows the word `update`.
    pub update: fn(&str) -> Result<UpdateOf<N>, String>,
}

/// Holds every case in a folder, of which there must be the required ones.
///
/// # Panics
/// Where something else comes out than is expected, or a file cannot be read.
pub fn hold<N: Model>(folder: &Path, required: &[&str], reader: &Reader<N>) {
    let mut cases: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    cases.sort();
    let names: Vec<_> = cases.iter().filter_map(|case| case.file_name()?.to_str()).collect();
    for required in required {
        assert!(names.contains(required), "no case {required}");
    }
    cases.iter().for_each(|case| run(case, reader));
}

fn run<N: Model>(case: &Path, reader: &Reader<N>) {
    let read = |name: &str| {
        let path = case.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let config = (reader.config)(&read("config.yaml"));
    let mut pair = Pair::<N>::new(&config, Shard::WHOLE);
    let expected = play(&mut pair, &read("01-input.txt"), reader.update)
        .unwrap_or_else(|what| panic!("{}: {what}", case.display()));
    let counters = counters(pair.device_mut().names(), &pair.device_mut().counts());
    for (name, text) in [("02-expected.txt", expected), ("03-counters.txt", counters)] {
        if env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
            fs::write(case.join(name), &text).expect("a golden file can be written");
        }
        let place = case.join(name);
        let place = place.display();
        assert!(read(name) == text, "{place} differs; UPDATE_GOLDEN=1 rewrites it. Now:\n{text}");
    }
}

/// Plays the steps and writes what became of them, comments copied.
fn play<N: Model>(
    pair: &mut Pair<N>,
    input: &str,
    read_update: fn(&str) -> Result<UpdateOf<N>, String>,
) -> Result<String, String> {
    let mut output = String::new();
    let mut lines = input.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let at = |what: String| format!("line {}: {what}", number + 1);
        let mut write = |text: &str| output.push_str(text);
        match line.split_once(' ').unwrap_or((line, "")) {
            ("", _) => write("\n"),
            ("#", _) => write(&format!("{line}\n")),
            ("wait", time) => {
                pair.wait(read_time(time).map_err(at)?).map_err(at)?;
                write(&text_of_made(pair));
            }
            ("update", text) => {
                let update = read_update(text).map_err(at)?;
                let applied = pair.update(&update).map_err(at)?;
                write(if applied { "applied\n" } else { "refused\n" });
                write(&text_of_made(pair));
            }
            _ => {
                let port = pair.ports().iter().position(|port| *port == *line);
                let port = port.ok_or_else(|| at(format!("'{line}' is no step")))?;
                let mut bytes = String::new();
                while let Some((_, more)) = lines.next_if(|(_, line)| line.starts_with(' ')) {
                    bytes.push_str(more);
                }
                let frame = unhex(&bytes).map_err(at)?;
                let verdict = pair.frame(PortId(port as u8), &frame).map_err(at)?;
                write(&text_of(pair.ports(), &verdict));
                write(&text_of_made(pair));
            }
        }
    }
    Ok(output)
}

/// What became of the frames made beside, each behind the word `made`.
fn text_of_made<N: Model>(pair: &Pair<N>) -> String {
    pair.made.iter().map(|made| format!("made {}", text_of(pair.ports(), made))).collect()
}

fn text_of(ports: &[PortName], verdict: &Expected) -> String {
    match verdict {
        Expected::Drop(reason) => format!("drop {reason}\n"),
        Expected::Punt => "punt\n".to_owned(),
        Expected::Forward { port, frame } => {
            let mut text = format!("{}\n", ports[usize::from(port.0)]);
            for layer in layers(frame) {
                let _ = writeln!(text, "    {}", hex(layer));
            }
            text
        }
    }
}

fn counters(names: Names, counts: &Counts) -> String {
    let mut text = String::new();
    let fixed = [
        ("received", counts.received),
        ("made", counts.made),
        ("forwarded", counts.forwarded),
        ("transmit-full", counts.transmit_full),
        ("punted", counts.punted),
    ];
    let dropped = names.drops.0.iter().copied().zip(counts.dropped.iter().copied());
    let tallies = names.tallies.iter().copied().zip(counts.tallies.iter().copied());
    let fixed = fixed.into_iter().map(|(name, count)| (String::new(), name, count));
    let dropped = dropped.map(|(name, count)| ("drop ".to_owned(), name, count));
    let tallies = tallies.map(|(name, count)| ("tally ".to_owned(), name, count));
    for (kind, name, count) in fixed.chain(dropped).chain(tallies).filter(|counted| counted.2 > 0) {
        let _ = writeln!(text, "{kind}{name} {count}");
    }
    text
}

/// `10 ms`, `1.5 s` …
fn read_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_once(' ').ok_or(format!("'{text}' has no unit"))?;
    let number: f64 = number.parse().map_err(|error| format!("'{number}': {error}"))?;
    let seconds = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        _ => return Err(format!("'{unit}' is no unit of time")),
    };
    Ok(Duration::from_secs_f64(number * seconds))
}
