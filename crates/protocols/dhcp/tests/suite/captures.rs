//! Captured messages of other implementations, some of them damaged on purpose.
//!
//! They are not part of the project: the variable `PLUMBLINE_DATA` names a folder that has them
//! below `pcap/`, and without it the test says that it was skipped.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "captures are files")]

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use protocol_dhcp::{Line, framed, fuzz, v4, v6};

#[test]
fn captured_messages_are_read() {
    let folder = env::var_os("PLUMBLINE_DATA").map(|data| PathBuf::from(data).join("pcap"));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        println!("skipped: no data");
        return;
    };
    // Of each version: messages, and those that are well formed.
    let mut counts = [(0, 0); 2];
    below(&folder, &mut |file| {
        for frame in frames_of(file) {
            for (port, version) in [(67, 0), (68, 0), (546, 1), (547, 1)] {
                let Some(heard) = framed::parse(&frame, Line(1), port) else { continue };
                let is_read = match version {
                    0 => v4::Message::parse(&heard.bytes).is_ok(),
                    _ => v6::Relayed::parse(&heard.bytes).is_ok(),
                };
                counts[version].0 += 1;
                counts[version].1 += usize::from(is_read);
                fuzz::fuzz(&heard.bytes);
            }
        }
    });
    println!("{counts:?}");
    assert!(counts.iter().all(|(all, good)| *good * 10 >= *all * 8 && *good > 10), "{counts:?}");
}

fn below(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => below(&path, visit),
            false => visit(&path),
        }
    }
}

fn frames_of(file: &Path) -> Vec<Vec<u8>> {
    let reader = File::open(file).ok().and_then(|file| PcapReader::new(file).ok());
    let reader = reader.filter(|reader| reader.header().datalink == DataLink::ETHERNET);
    let mut found = Vec::new();
    let Some(mut reader) = reader else { return found };
    while let Some(Ok(packet)) = reader.next_packet() {
        found.push(packet.data.to_vec());
    }
    found
}
