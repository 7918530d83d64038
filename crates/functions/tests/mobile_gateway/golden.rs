//! Golden folders: a configuration, frames and changes, and what must become of each.
//!
//! ```text
//! golden/<case>/config.yaml      the `function` section
//!               01-input.txt     steps: `wait 10 ms`, `update handover teid=1 base-station=0`,
//!                                `access` or `core` and below it, indented, the bytes of a frame
//!               02-expected.txt  for each frame `access` or `core` and its bytes, or `drop reason`;
//!                                for each change `applied` or `refused`
//!               03-counters.txt  everything counted that is not 0
//! ```
//! `UPDATE_GOLDEN=1 cargo test -p functions golden` rewrites what is expected; the difference is to
//! be read before it is committed. The oracle must agree in any case.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use engine::{Counts, Function};
use functions::check::Expected;
use functions::mobile_gateway::config::{Config, Traffic};
use functions::mobile_gateway::{MobileGateway, Pipeline, Update};
use functions::{NetworkFunction, Shard};
use packet::PortId;
use testkit::check::{Pair, hex, unhex};

use crate::layers::layers;
use crate::updates::read_update;

#[test]
fn golden_cases_are_as_expected() {
    let mut cases: Vec<PathBuf> = fs::read_dir(folder())
        .expect("the folder of golden cases")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    cases.sort();
    let names: Vec<_> = cases.iter().filter_map(|case| case.file_name()?.to_str()).collect();
    for required in REQUIRED {
        assert!(names.contains(&required), "no case {required}");
    }
    cases.iter().for_each(|case| run(case));
}

fn run(case: &Path) {
    let read = |name: &str| {
        let path = case.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut config: Config = serde_saphyr::from_str(&read("config.yaml")).expect("a section");
    MobileGateway::validate(&mut config, &mut Traffic::default()).expect("a valid configuration");
    let mut pair = Pair::<MobileGateway>::new(&config, Shard::WHOLE);
    let expected = play(&mut pair, &read("01-input.txt"))
        .unwrap_or_else(|what| panic!("{}: {what}", case.display()));
    let counters = counters(&pair.device_mut().counts());
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
fn play(pair: &mut Pair<MobileGateway>, input: &str) -> Result<String, String> {
    let mut output = String::new();
    let mut lines = input.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let at = |what: String| format!("line {}: {what}", number + 1);
        let mut write = |text: &str| output.push_str(text);
        match line.split_once(' ').unwrap_or((line, "")) {
            ("", _) => write("\n"),
            ("#", _) => write(&format!("{line}\n")),
            ("wait", time) => pair.elapsed += read_time(time).map_err(at)?,
            ("update", text) => {
                let update: Update = read_update(text).map_err(at)?;
                let applied = pair.update(&update).map_err(at)?;
                write(if applied { "applied\n" } else { "refused\n" });
            }
            ("access" | "core", _) => {
                let mut bytes = String::new();
                while let Some((_, more)) = lines.next_if(|(_, line)| line.starts_with(' ')) {
                    bytes.push_str(more);
                }
                let port = PortId(u8::from(line == "core"));
                let verdict = pair.frame(port, &unhex(&bytes).map_err(at)?).map_err(at)?;
                write(&text_of(&verdict));
            }
            _ => return Err(at(format!("'{line}' is no step"))),
        }
    }
    Ok(output)
}

fn text_of(verdict: &Expected) -> String {
    match verdict {
        Expected::Drop(reason) => format!("drop {reason}\n"),
        Expected::Punt => "punt\n".to_owned(),
        Expected::Forward { port, frame } => {
            let mut text = format!("{}\n", MobileGateway::PORTS[usize::from(port.0)]);
            for layer in layers(frame) {
                let _ = writeln!(text, "    {}", hex(layer));
            }
            text
        }
    }
}

fn counters(counts: &Counts) -> String {
    let mut text = String::new();
    let fixed = [
        ("received", counts.received),
        ("forwarded", counts.forwarded),
        ("transmit-full", counts.transmit_full),
        ("punted", counts.punted),
    ];
    let dropped = Pipeline::DROPS.0.iter().copied().zip(counts.dropped.iter().copied());
    let tallies = Pipeline::TALLIES.iter().copied().zip(counts.tallies.iter().copied());
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

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mobile_gateway/golden")
}

/// Cases that must be there.
const REQUIRED: [&str; 9] = [
    "answers",
    "gtp-u",
    "gtp-u-extension-headers",
    "handover",
    "ipv6",
    "policer",
    "refusals",
    "unmatched-sent-on",
    "vxlan",
];
