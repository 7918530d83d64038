//! Frames read by tshark, for tests that hold our bytes against a dissector that others wrote.
//!
//! tshark is a program of Debian's package of that name, which `cargo xtask setup` installs. A test
//! without it fails, so that it is not forgotten; `PLUMBLINE_SKIP_PEERS=1` leaves it out on
//! purpose.

use std::env;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};

/// What tshark says of one frame.
#[derive(Clone, Debug)]
pub struct Dissected {
    fields: Vec<(String, Vec<String>)>,
}

impl Dissected {
    /// All that a field is, from the outermost header on.
    ///
    /// # Panics
    /// When the field was not asked for.
    pub fn field(&self, name: &str) -> &[String] {
        let found = self.fields.iter().find(|(field, _)| field == name);
        &found.unwrap_or_else(|| panic!("{name} was not asked for")).1
    }

    /// Every field on a line: `|` between fields, `,` within one.
    pub fn line(&self) -> String {
        let fields: Vec<String> = self.fields.iter().map(|(_, all)| all.join(",")).collect();
        fields.join("|")
    }
}

/// Has tshark read frames, which are left in `file`; checksums are checked, which it leaves out by
/// itself. `options` are more arguments; `fields` are asked for. None where it is to be left out.
///
/// # Panics
/// When tshark is not there, or does not know a field.
pub fn dissect(
    file: &Path,
    (link, frames): (DataLink, &[Vec<u8>]),
    options: &[&str],
    fields: &[&str],
) -> Option<Vec<Dissected>> {
    write(file, link, frames);
    let dissected = read(file, options, fields)?;
    assert_eq!(dissected.len(), frames.len(), "tshark says something of every frame");
    Some(dissected)
}

/// Has tshark read a file of frames, as [`dissect`] does.
///
/// # Panics
/// When tshark is not there, or does not know a field.
pub fn read(file: &Path, options: &[&str], fields: &[&str]) -> Option<Vec<Dissected>> {
    if env::var_os("PLUMBLINE_SKIP_PEERS").is_some_and(|value| value == "1") {
        println!("skipped: PLUMBLINE_SKIP_PEERS=1");
        return None;
    }
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-n", "-T", "fields", "-E", "occurrence=a"]);
    command.args(["-E", "separator=|", "-E", "aggregator=;"]);
    for protocol in ["ip", "udp", "tcp"] {
        command.arg("-o").arg(format!("{protocol}.check_checksum:TRUE"));
    }
    command.args(options);
    fields.iter().for_each(|field| _ = command.args(["-e", field]));
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "tshark cannot be run ({error}): install it by `cargo xtask setup`, or skip this test by \
             PLUMBLINE_SKIP_PEERS=1"
        )
    });
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark failed: {complaint}");
    let text = String::from_utf8_lossy(&output.stdout);
    let list =
        |text: &str| text.split(';').filter(|one| !one.is_empty()).map(str::to_owned).collect();
    let dissected = |line: &str| Dissected {
        fields: fields
            .iter()
            .map(|name| (*name).to_owned())
            .zip(line.split('|').map(list))
            .collect(),
    };
    Some(text.lines().map(dissected).collect())
}

fn write(file: &Path, datalink: DataLink, frames: &[Vec<u8>]) {
    let header = PcapHeader { datalink, snaplen: SNAPLEN, ..PcapHeader::default() };
    let to = BufWriter::new(File::create(file).expect("the folder for tests can be written"));
    let mut writer = PcapWriter::with_header(to, header).expect("a header is written");
    for (number, frame) in frames.iter().enumerate() {
        let time = Duration::from_micros(number as u64);
        let packet = PcapPacket::new(time, frame.len() as u32, frame);
        writer.write_packet(&packet).expect("a packet is written");
    }
}

/// The state of a checksum that is wrong: PROTO_CHECKSUM_E_BAD of epan/proto.h.
pub const CHECKSUM_BAD: &str = "0";
/// That of one that is right.
pub const CHECKSUM_GOOD: &str = "1";

const SNAPLEN: u32 = 65_535;
