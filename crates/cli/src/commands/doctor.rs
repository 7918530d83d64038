//! `plumbline doctor`: the machine, before it is trusted with a measurement.

use std::time::Duration;

use lab::doctor::{BUCKET_LIMITS_NS, CoreStalls, Findings, Level, Usable, examine};

use crate::exit::Exit;
use crate::output::{print, print_json, width, wrap};
use crate::problem::Problem;
use crate::progress::Progress;

/// Examines this machine: what it can measure, and its noise floor.
///
/// The command watches each core for stalls for a second, sends a cache line between two cores, and
/// reads memory at random in tables of several sizes. It then lists the devices that can run here
/// and the ports that can be opened, and for each of the others the command that would enable it.
/// It changes nothing, installs nothing and needs no root. Close other programs first, so that only
/// the machine itself is measured.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How long to watch each core, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    stall_time: Duration,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline doctor
  plumbline doctor --stall-time 10
  plumbline doctor --json | jq '.stalls[].longest_ns'
  plumbline doctor --json | jq '.devices[] | select(.hindrance == null).name'";

/// Runs `plumbline doctor`.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let mut progress = if args.quiet { Progress::hidden() } else { Progress::shown() };
    let findings = examine(args.stall_time, &mut |what| progress.step(what));
    drop(progress);
    if args.json {
        print_json(&findings)?;
    } else {
        print(&words(&findings))?;
    }
    Ok(Exit::Passed)
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    if !(0.01..=3600.0).contains(&seconds) {
        return Err("must be from 0.01 to 3600 seconds".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn words(findings: &Findings) -> String {
    let host = &findings.host;
    let mut text = format!(
        "{}, {} cores, {:.1} GiB of memory ({:.1} free), {}\n\n",
        host.cpu_model,
        host.cores,
        host.memory_bytes as f64 / GIB,
        findings.memory_available_bytes as f64 / GIB,
        host.kernel
    );
    text += &format!(
        "Reading the clock: {:.0} ns (time-stamp counter), {:.0} ns (operating system)\n\n",
        findings.clock_costs.tsc_ns, findings.clock_costs.monotonic_ns
    );
    text += "Stalls of a busy loop: gaps by length, a second\n";
    text += &format!("  {:<6}", "core");
    let limits: Vec<String> = BUCKET_LIMITS_NS.iter().map(|&limit| micros(limit)).collect();
    text.extend(limits.iter().map(|limit| format!("{:>10}", format!("< {limit}"))));
    text += &format!("{:>10}", format!("> {}", limits.last().map_or("", String::as_str)));
    text += &format!("{:>12}{:>10}\n", "longest", "of time");
    text.extend(findings.stalls.iter().map(stalls));
    text += "\nRandom memory access, ns a load\n";
    text += &format!("  {:<10}{:>12}{:>16}\n", "table", "one chain", "16 in flight");
    for pair in host.random_access_probe.chunks_exact(2) {
        text += &format!(
            "  {:<10}{:>12.1}{:>16.2}\n",
            bytes(pair[0].bytes),
            pair[0].ns_per_access,
            pair[1].ns_per_access
        );
    }
    text += &usable("Devices (device.name)", &findings.devices);
    text += &usable("Ports (type)", &findings.ports);
    text += "\nWhat it means\n";
    for verdict in &findings.verdicts {
        let mark = match verdict.level {
            Level::Good => "good",
            Level::Limiting => "limits",
            Level::Bad => "BAD",
        };
        let indent = " ".repeat(10);
        let told = |text: &str| wrap(text, usize::from(width()), &indent) + "\n";
        text += &told(&format!("  {mark:<7} {}", verdict.what));
        if !verdict.advice.is_empty() {
            text += &told(&format!("{indent}-> {}", verdict.advice));
        }
    }
    text
}

fn usable(title: &str, all: &[Usable]) -> String {
    let mut text = format!("\n{title}\n");
    for Usable { name, hindrance, lacks, .. } in all {
        let indent = " ".repeat(16);
        let told = |text: &str| wrap(text, usize::from(width()), &indent) + "\n";
        match hindrance {
            None => text += &format!("  {name:<14}can be used here\n"),
            Some(hindrance) => {
                text += &told(&format!("  {name:<14}{}", hindrance.why));
                text += &told(&format!("{indent}-> {}", hindrance.remedy));
            }
        }
        for (function, hindrance) in lacks {
            text += &told(&format!("{indent}except for {function}: {}", hindrance.why));
            text += &told(&format!("{indent}-> {}", hindrance.remedy));
        }
    }
    text
}

fn stalls(core: &CoreStalls) -> String {
    let seconds = core.probe.duration_ns as f64 / 1e9;
    let mut text = format!("  {:<6}", core.core);
    text.extend(core.histogram.iter().map(|&gaps| format!("{:>10.1}", gaps as f64 / seconds)));
    let pinned = if core.pinned { "" } else { "  (could not be pinned)" };
    let longest = micros(core.probe.longest_ns);
    text + &format!("{longest:>12}{:>8.2} %{pinned}\n", core.time_fraction * 100.0)
}

fn micros(ns: u64) -> String {
    if ns < 1_000_000 { format!("{} us", ns / 1_000) } else { format!("{} ms", ns / 1_000_000) }
}

fn bytes(bytes: u64) -> String {
    match bytes.max(1).ilog2() {
        ..20 => format!("{} KiB", bytes >> 10),
        20..30 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

const GIB: f64 = (1_u64 << 30) as f64;
