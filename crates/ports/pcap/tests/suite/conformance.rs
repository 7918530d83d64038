//! The pcap port does what every port must: it replays from a pipe, and its capture is read as it
//! grows.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;

use engine::{Opened, PortError, PortKind, PortRequest};
use port_conformance::{Bench, Order, Promises, run};
use port_pcap::{Pcap, PcapConfig, Timing};

/// A peer that writes records into a pipe and reads those of a capture.
struct Files {
    folder: tempfile::TempDir,
    opened: usize,
    pipe: Option<File>,
    /// Bytes of the last record that the pipe has not accepted yet.
    rest: Vec<u8>,
    capture: Option<File>,
    /// Bytes read of the capture that are not a complete record yet.
    read: Vec<u8>,
}

impl Files {
    fn new() -> Option<Files> {
        if !netns::is_installed("mkfifo") {
            eprintln!("skipped: mkfifo is not installed");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let rest = Vec::new();
        Some(Files { folder, opened: 0, pipe: None, rest, capture: None, read: Vec::new() })
    }

    fn path(&self, what: &str) -> PathBuf {
        self.folder.path().join(format!("{what}-{}", self.opened))
    }

    /// Writes to the pipe as far as possible; returns true if everything is written.
    fn push(&mut self) -> bool {
        let Some(pipe) = &mut self.pipe else { return true };
        while !self.rest.is_empty() {
            match pipe.write(&self.rest) {
                Ok(count) => drop(self.rest.drain(..count)),
                Err(error) => {
                    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}");
                    return false;
                }
            }
        }
        true
    }
}

impl Bench for Files {
    fn promises(&self) -> Promises {
        Promises {
            frame_bytes_max: 9000,
            frame_bytes_min: 1,
            queues_max: 3,
            order: Order::Flow,
            lost_after_sending: &["not-written"],
            peer_survives_reopening: true,
            ..Promises::default()
        }
    }

    fn open(&mut self, request: &PortRequest) -> Result<Opened, PortError> {
        self.opened += 1;
        let (pipe, capture) = (self.path("pipe"), self.path("capture"));
        let made = Command::new("mkfifo").arg(&pipe).status().expect("it starts");
        assert!(made.success());
        use std::os::unix::fs::OpenOptionsExt;
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let end = OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(&pipe);
        let mut end = end.expect("both ends");
        rustix::pipe::fcntl_setpipe_size(&end, 1 << 20).expect("everyone may have a MiB");
        // The head of a pcap file with stamps in nanoseconds, most significant byte first.
        let head = [0xa1b2_3c4d_u32, 0x0002_0004, 0, 0, 262_144, 1];
        head.iter().for_each(|word| end.write_all(&word.to_be_bytes()).expect("there is room"));
        (self.pipe, self.rest, self.read) = (Some(end), Vec::new(), Vec::new());
        let config = PcapConfig {
            replay: Some(pipe),
            capture: Some(capture.clone()),
            timing: Timing::Fast,
            speed: 1.0,
            repeat: 1,
            format: None,
            ring_bytes: 4 << 20,
        };
        let opened = Pcap::open(&config, request)?;
        let mut capture = File::open(capture).expect("it is there once the port is open");
        capture.read_exact(&mut [0; 24]).expect("its head is there, too");
        self.capture = Some(capture);
        Ok(opened)
    }

    fn peer_send(&mut self, frames: &[Vec<u8>]) -> usize {
        for (index, frame) in frames.iter().enumerate() {
            if !self.push() {
                return index;
            }
            let len = frame.len() as u32;
            [0, 0, len, len].iter().for_each(|word| self.rest.extend(word.to_be_bytes()));
            self.rest.extend(frame);
        }
        self.push();
        frames.len()
    }

    fn peer_receive(&mut self, sink: &mut dyn FnMut(&[u8])) {
        self.push();
        let Some(capture) = &mut self.capture else { return };
        capture.read_to_end(&mut self.read).expect("it can be read");
        let mut at = 0;
        while let Some(head) = self.read.get(at..at + 16) {
            let [_, fraction, kept, whole]: [u32; 4] = std::array::from_fn(|index| {
                u32::from_ne_bytes(head[index * 4..][..4].try_into().expect("four bytes"))
            });
            assert!(fraction < 1_000_000_000 && kept == whole, "{fraction} {kept} {whole}");
            let Some(frame) = self.read.get(at + 16..at + 16 + kept as usize) else { break };
            sink(frame);
            at += 16 + kept as usize;
        }
        self.read.drain(..at);
    }
}

#[test]
fn the_pcap_port_conforms() {
    run("pcap", Files::new);
}
