//! `plumbline capture`: copies of a running daemon's packets.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use daemon::protocol::{Ask, Capture, Direction, View};

use crate::exit::Exit;
use crate::output::tell;
use crate::problem::Problem;
use crate::remote::Which;
use crate::stop::on_ctrl_c_saying;

/// Writes copies of a running daemon's packets to a pcapng file.
///
/// Without a filter, each packet is captured as received, and again as sent or dropped. A dropped
/// packet carries the drop reason as a comment. The daemon keeps forwarding: packets that the
/// capture cannot keep up with are missed and counted. Ctrl-C ends the capture.
///
/// With `--protocol`, the messages of a protocol are captured that the daemon itself sends and
/// hears: Wireshark reads them as packets. Headers that a socket does not show are made up, streams
/// are segments of TCP, and passwords, digests and keys are zeroes.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The file to write; `-` for standard output
    #[arg(short = 'w', long = "write", alias = "out", value_name = "FILE")]
    file: PathBuf,
    /// Capture the messages of this protocol: bfd, bfddp, bgp, bmp, fpm, replication or vrrp
    #[arg(long, value_name = "NAME", conflicts_with_all = ["port", "direction", "reason"])]
    protocol: Option<String>,
    /// Capture at this port only
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// Capture in this direction only
    #[arg(long, value_enum)]
    direction: Option<Filter>,
    /// Capture only packets dropped for this reason
    #[arg(long, value_name = "REASON")]
    reason: Option<String>,
    /// Stop after this number of packets
    #[arg(long, short = 'c', value_name = "COUNT")]
    count: Option<u64>,
    /// Capture at most this number of bytes of each packet
    #[arg(long, value_name = "BYTES")]
    snaplen: Option<usize>,
    #[command(flatten)]
    which: Which,
}

/// Direction of the packets to capture.
#[derive(Clone, Copy, ValueEnum)]
enum Filter {
    /// Packets as received
    In,
    /// Packets as sent
    Out,
    /// Packets as dropped
    Drop,
}

const EXAMPLES: &str = "\
Examples:
  plumbline capture -w all.pcapng --count 1000
  plumbline capture -w drops.pcapng --direction drop --reason no-route
  plumbline capture -w vrrp.pcapng --protocol vrrp
  plumbline capture -w - --port core | tshark -r -";

/// Runs `plumbline capture`.
///
/// # Errors
/// When no daemon answers, the daemon refuses the capture, or the file cannot be written.
pub fn run(args: &Args) -> Result<Exit, Problem> {
    let wanted = Capture {
        protocol: args.protocol.clone(),
        port: args.port.clone(),
        direction: args.direction.map(|filter| match filter {
            Filter::In => Direction::In,
            Filter::Out => Direction::Out,
            Filter::Drop => Direction::Drop,
        }),
        reason: args.reason.clone(),
        count: args.count,
        snaplen: args.snaplen,
    };
    let client = args.which.connect()?;
    let mut out: Box<dyn Write> = if args.file == Path::new("-") {
        Box::new(io::stdout().lock())
    } else {
        // What is there already is emptied when the daemon has agreed, and not before.
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&args.file);
        let file = file.map_err(|error| Problem::of_writing(&args.file, &error))?;
        Box::new(BufWriter::new(Emptied { file, is_new: true }))
    };
    let stop = on_ctrl_c_saying("\n");
    client.capture(wanted, &mut out, &stop)?;
    drop(out);
    let shown = args.which.connect()?.ask(Ask::Show(View::Counters))?;
    let (copied, missed) = (&shown["capture"]["copied"], &shown["capture"]["missed"]);
    tell(&format!("{copied} packets copied, {missed} missed\n"));
    Ok(Exit::Passed)
}

/// A file that is emptied by the first byte that is written to it.
struct Emptied {
    file: File,
    is_new: bool,
}

impl Write for Emptied {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What is no regular file has no length.
        if std::mem::take(&mut self.is_new) && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
