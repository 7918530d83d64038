//! `plumbline trace`: the workload as a classic pcap file with nanosecond stamps.
//!
//! Frames are written as they are made, so a trace may be larger than memory. A regular file
//! appears under its name only when it is complete; a pipe or a device gets the frames as they
//! come.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lab::unit::{Configured, TraceFrame};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, PcapError, TsResolution};

use crate::exit::Exit;
use crate::output::{print_json, tell};
use crate::problem::Problem;
use crate::scenario::{Wanted, choose};
use crate::stop::on_ctrl_c;

/// Writes the traffic of a scenario to a pcap file.
///
/// The frames are those that a bench sends, in the order of transmission, with timestamps in
/// nanoseconds from the first frame. The same scenario always yields the same bytes. Open the file
/// with Wireshark, or replay it with another tester.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
    /// The file to write; `-` for standard output
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The number of frames
    #[arg(long, short = 'n', value_name = "N", default_value = "1000")]
    count: u64,
    /// The cell of the scenario; default: the first
    #[arg(long, value_name = "ID")]
    cell: Option<String>,
    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,
    /// Print a summary of what was written as JSON on standard output
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  plumbline trace scenarios/mobile-gateway.yaml --output mobile.pcap --count 1000
  plumbline trace scenarios/mobile-gateway.yaml --output - -n 20 | tshark -r -
  plumbline trace --function l2-switch --set traffic.pkt-size=imix --output switch.pcap";

/// Runs `plumbline trace`.
///
/// # Errors
/// When the scenario or cell is invalid, or the file exists or cannot be written.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let scenario = args.wanted.read()?;
    let (benchmark, cell) = choose(&scenario, args.cell.as_deref(), "traced")?;
    let configured = benchmark.configure(cell)?;
    let Some(configured) = configured.forwarding() else {
        let what = format!("{} forwards no frames that could be traced", configured.name());
        return Err(Problem::of_usage(what, "trace a scenario of a function that forwards"));
    };
    let stop = on_ctrl_c();
    let to_stdout = args.output.as_os_str() == "-";
    if to_stdout && args.json {
        let remedy = "write the trace to a file, or leave --json out";
        return Err(Problem::of_usage(
            "standard output cannot take both the trace and JSON",
            remedy,
        ));
    }
    let written = if to_stdout {
        to_standard_output(configured, args.count, &stop)?
    } else {
        to_file(configured, args, &stop)?
    };
    if stop.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    if args.json {
        let file = args.output.display().to_string();
        print_json(&serde_json::json!({
            "file": file, "cell": cell.id, "frames": written.frames, "bytes": written.bytes,
        }))?;
    } else if !to_stdout {
        tell(&format!("written: {} frames to {}\n", written.frames, args.output.display()));
    }
    Ok(Exit::Passed)
}

/// The number of frames and bytes written to a trace.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    frames: u64,
    bytes: u64,
}

fn to_standard_output(
    workload: &dyn Configured,
    count: u64,
    stop: &AtomicBool,
) -> Result<Written, Problem> {
    let out = io::stdout();
    if out.is_terminal() {
        let remedy = "pipe it into a program (| tshark -r -), or name a file";
        return Err(Problem::of_usage(
            "a trace is binary and cannot be shown on a terminal",
            remedy,
        ));
    }
    let mut writer = BufWriter::new(out.lock());
    match write(workload, count, stop, &mut writer) {
        // A reader that has seen enough is no error.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            // What is buffered has nowhere to go, and must not be tried again.
            let _ = writer.into_parts();
            Ok(Written::default())
        }
        other => other.map_err(|error| Problem::of_writing(Path::new("standard output"), &error)),
    }
}

fn to_file(workload: &dyn Configured, args: &Args, stop: &AtomicBool) -> Result<Written, Problem> {
    let path = args.output.as_path();
    let fail = |error: &io::Error| Problem::of_writing(path, error);
    let exists = fs::metadata(path);
    if exists.as_ref().is_ok_and(fs::Metadata::is_dir) {
        let problem = Problem::of_usage("this is a directory", "name a file in it");
        return Err(problem.at("file", path.display()));
    }
    if exists.as_ref().is_ok_and(|found| !found.is_file()) {
        // A pipe or a device: written to, never replaced.
        let file = File::options().write(true).open(path).map_err(|error| fail(&error))?;
        let mut writer = BufWriter::new(file);
        let written = write(workload, args.count, stop, &mut writer);
        if written.is_err() {
            let _ = writer.into_parts();
        }
        return written.map_err(|error| Problem::of_writing(path, &error));
    }
    if exists.is_ok() && !args.force {
        let problem = Problem::of_usage("the file exists", "name another, or add --force");
        return Err(problem.at("file", path.display()));
    }
    let partial = partial_name(path);
    let file = File::create(&partial).map_err(|error| fail(&error))?;
    let mut writer = BufWriter::new(file);
    let written = write(workload, args.count, stop, &mut writer);
    let stopped = stop.load(Ordering::Relaxed);
    let _ = writer.into_parts();
    if written.is_err() || stopped {
        // Half a trace helps nobody; the file from before is as it was.
        let _ = fs::remove_file(&partial);
        return written.map_err(|error| Problem::of_writing(path, &error));
    }
    fs::rename(&partial, path).map_err(|error| fail(&error))?;
    written.map_err(|error| Problem::of_writing(path, &error))
}

fn partial_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.partial", std::process::id()))
}

/// Writes and flushes a trace. It ends early, without an error, if the user asks to stop.
fn write(
    workload: &dyn Configured,
    count: u64,
    stop: &AtomicBool,
    out: &mut impl Write,
) -> io::Result<Written> {
    let header = PcapHeader {
        ts_resolution: TsResolution::NanoSecond,
        datalink: DataLink::ETHERNET,
        snaplen: SNAPLEN,
        ..PcapHeader::default()
    };
    let mut pcap = PcapWriter::with_header(out, header).map_err(as_io)?;
    let mut written = Written::default();
    let mut each = |frame: TraceFrame<'_>| -> io::Result<()> {
        if stop.load(Ordering::Relaxed) {
            return Err(ErrorKind::Interrupted.into());
        }
        let time = Duration::from_nanos(frame.time_ns);
        let length = u32::try_from(frame.bytes.len()).unwrap_or(SNAPLEN);
        let packet = PcapPacket::new(time, length, frame.bytes);
        pcap.write_packet(&packet).map_err(as_io)?;
        written.frames += 1;
        written.bytes += frame.bytes.len() as u64;
        Ok(())
    };
    match lab::unit::trace(workload, count, &mut each) {
        Err(error) if error.kind() == ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
        Ok(()) => {}
    }
    pcap.into_writer().flush()?;
    Ok(written)
}

fn as_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

const SNAPLEN: u32 = 65_535;
