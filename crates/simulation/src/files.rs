//! The files of nodes: what machines want of their disks, and what those do.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol_kit::{Arrival, FileOpening, Machine, Opening, STREAM_ROOM, Socket};

use super::disk::{Done, OpenFile};
use super::world::{Happening, World};

impl<M: Machine> World<M>
where
    M::Report: std::fmt::Debug,
{
    /// Returns the files of a node, by folder and name.
    pub fn files(&self, node: usize) -> &BTreeMap<String, Vec<u8>> {
        &self.nodes[node].disk.files
    }

    /// Lets the disk of a node have room for this many bytes more.
    pub fn leave_room(&mut self, node: usize, room: usize) {
        self.nodes[node].disk.room = room;
    }

    /// Begins a file if a socket that was opened is one.
    pub(super) fn begin_file(&mut self, node: usize, socket: Socket) {
        let Some(Opening::File(opening)) = self.nodes[node].sockets.get(&socket).cloned() else {
            return;
        };
        let (number, busy_until) = (self.number(), self.now);
        let hidden = Vec::new();
        let file = OpenFile { number, opening, hidden, waiting: 0, is_finished: false, busy_until };
        self.nodes[node].disk.open.insert(socket, file);
        self.ask_disk(node, socket, Done::Opened);
    }

    /// Bytes depart to a file; false if the socket is none.
    pub(super) fn write_file(&mut self, node: usize, socket: Socket, bytes: &[u8]) -> bool {
        let Some(file) = self.nodes[node].disk.open.get_mut(&socket) else { return false };
        assert!(!file.is_finished, "node {node}: bytes depart behind the end of {socket:?}");
        file.waiting += bytes.len();
        assert!(file.waiting <= STREAM_ROOM, "node {node}: more bytes for {socket:?} than room");
        self.ask_disk(node, socket, Done::Written(bytes.to_vec()));
        true
    }

    /// A file is to be whole; false if the socket is none.
    pub(super) fn finish_file(&mut self, node: usize, socket: Socket) -> bool {
        let Some(file) = self.nodes[node].disk.open.get_mut(&socket) else { return false };
        file.is_finished = true;
        self.ask_disk(node, socket, Done::Finished);
        true
    }

    /// A file is closed, or its machine is gone.
    pub(super) fn close_file(&mut self, node: usize, socket: Socket) {
        self.nodes[node].disk.open.remove(&socket);
    }

    fn ask_disk(&mut self, node: usize, socket: Socket, done: Done) {
        let wait = Duration::from_nanos(1 + self.random.below(WRITE_NS_MAX));
        let Some(file) = self.nodes[node].disk.open.get_mut(&socket) else { return };
        let (at, number) = (file.busy_until.max(self.now).after(wait), file.number);
        file.busy_until = at;
        self.plan(at, Happening::Disk { node, socket, number, done });
    }

    /// The disk of a node has done something.
    pub(super) fn disk(&mut self, (node, socket): (usize, Socket), number: u64, done: Done) {
        if let Some(until) = self.nodes[node].hangs_until {
            return self.plan(until, Happening::Disk { node, socket, number, done });
        }
        let disk = &mut self.nodes[node].disk;
        let Some(file) = disk.open.get_mut(&socket).filter(|file| file.number == number) else {
            return;
        };
        let FileOpening { folder, name, appears_whole, kept } = file.opening.clone();
        let path = format!("{folder}/{name}");
        match done {
            Done::Opened => {
                if !appears_whole {
                    disk.files.entry(path).or_default();
                    kept.iter().for_each(|kept| disk.keep(&folder, kept));
                }
                self.tell(node, Arrival::Connected { socket, local: None, peer: None });
            }
            Done::Written(bytes) if bytes.len() > disk.room => {
                disk.open.remove(&socket);
                self.nodes[node].sockets.remove(&socket);
                self.tell(node, Arrival::Failed { socket });
            }
            Done::Written(bytes) => {
                disk.room -= bytes.len();
                file.waiting -= bytes.len();
                match appears_whole {
                    true => file.hidden.extend(&bytes),
                    false => disk.files.entry(path).or_default().extend(&bytes),
                }
                self.tell(node, Arrival::Taken { socket, count: bytes.len() });
            }
            Done::Finished => {
                let hidden = std::mem::take(&mut file.hidden);
                disk.open.remove(&socket);
                if appears_whole {
                    disk.files.insert(path, hidden);
                    kept.iter().for_each(|kept| disk.keep(&folder, kept));
                }
                self.nodes[node].sockets.remove(&socket);
                self.tell(node, Arrival::Finished { socket });
            }
        }
        self.drive(node);
    }
}

/// The longest time that something takes on a disk, in nanoseconds.
const WRITE_NS_MAX: u64 = 5_000_000;
