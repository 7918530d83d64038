//! A disk of a node, in memory, which outlives its node's machine and may be full.

use std::collections::BTreeMap;

use protocol_kit::{FileOpening, Kept, Socket, Time};

/// A node's disk.
pub(super) struct Disk {
    /// Files by folder and name.
    pub files: BTreeMap<String, Vec<u8>>,
    pub open: BTreeMap<Socket, OpenFile>,
    /// Bytes for which there is room.
    pub room: usize,
}

/// A file that is written.
pub(super) struct OpenFile {
    pub number: u64,
    pub opening: FileOpening,
    /// What it has that does not appear yet.
    pub hidden: Vec<u8>,
    /// Bytes that have departed and were not taken.
    pub waiting: usize,
    pub is_finished: bool,
    /// When the disk has done everything that was asked before.
    pub busy_until: Time,
}

/// What a disk has done.
#[derive(Clone, Debug)]
pub(super) enum Done {
    Opened,
    Written(Vec<u8>),
    Finished,
}

impl Default for Disk {
    fn default() -> Disk {
        Disk { files: BTreeMap::new(), open: BTreeMap::new(), room: usize::MAX }
    }
}

impl Disk {
    /// The machine has died: what appears only when it is whole never does.
    pub fn die(&mut self) {
        self.open.clear();
    }

    /// Keeps the last files of some names.
    pub fn keep(&mut self, folder: &str, kept: &Kept) {
        let begin = format!("{folder}/{}", kept.begin);
        let is_meant = |path: &&String| path.starts_with(&begin) && path.ends_with(&kept.end);
        let names: Vec<String> = self.files.keys().filter(is_meant).cloned().collect();
        let gone = names.len().saturating_sub(kept.files_max as usize);
        names[..gone].iter().for_each(|path| drop(self.files.remove(path)));
    }
}
