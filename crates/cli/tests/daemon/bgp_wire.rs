//! What BGP speakers say to each other, as another dissector reads it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use netns::Child;
use testkit::tshark::{self, Dissected};

use crate::kit::{Lab, until};

/// A capture of all sessions with a reflector.
pub struct Capture {
    child: Child,
    file: PathBuf,
}

impl Capture {
    /// Begins it in the namespace of the reflector.
    pub fn start(lab: &Lab) -> Option<Capture> {
        if !netns::is_installed("dumpcap") {
            println!("skipped: nobody captures, this needs dumpcap");
            return None;
        }
        let file = lab.folder.path().join("bgp.pcapng");
        let mut command = Command::new("dumpcap");
        command.args(["-q", "-i", "any", "-f", "tcp port 179", "-w"]).arg(&file);
        let child = lab.namespace.spawn(command).expect("it starts");
        until("the capture", || file.metadata().is_ok_and(|file| file.len() > 0).then_some(()));
        Some(Capture { child, file })
    }

    /// Ends it; returns the packets with messages of BGP, with their fields `ip.src` and others,
    /// and none where tshark is to be left out.
    ///
    /// # Panics
    /// When the reflector has said something malformed.
    pub fn end(mut self, fields: &[&str]) -> Option<Vec<Dissected>> {
        self.child.stop(Duration::from_secs(10));
        // What the kernel has yet to fill in is no wrong checksum.
        let options = ["-Y", "bgp", "-o", "tcp.check_checksum:FALSE"];
        let options = [&options[..], &["-o", "ip.check_checksum:FALSE"]].concat();
        let all = [&["ip.src", "_ws.malformed", "_ws.expert.severity"][..], fields].concat();
        let packets = tshark::read(&self.file, &options, &all)?;
        assert!(!packets.is_empty(), "nothing was captured");
        for packet in packets.iter().filter(|packet| is_of_reflector(packet)) {
            let severities = packet.field("_ws.expert.severity").iter();
            let is_error =
                severities.filter_map(|one| one.parse::<u32>().ok()).any(|one| one >= ERROR);
            let is_malformed = !packet.field("_ws.malformed").is_empty();
            assert!(!is_error && !is_malformed, "{packet:?}");
        }
        Some(packets)
    }
}

/// Whether the reflector has said it: its address on each link is the first one.
pub fn is_of_reflector(packet: &Dissected) -> bool {
    packet.field("ip.src").iter().any(|address| address.ends_with(".1"))
}

/// The severity of an error: PI_ERROR of epan/proto.h.
const ERROR: u32 = 0x0080_0000;
