//! The files of a host's machine.

use std::io;

use nix::sys::epoll::{EpollEvent, EpollFlags};
use protocol_kit::{Arrival, FileOpening, Input, Machine, Socket, Time};

use super::{FILES, Host};
use crate::error::SocketError;
use crate::files::Done;

impl<M: Machine> Host<M> {
    /// Begins a file.
    pub(super) fn open_file(&mut self, socket: Socket, opening: &FileOpening, now: Time) {
        let opened = self.files.open(socket, opening).and_then(|bell| {
            let Some(bell) = bell else { return Ok(()) };
            let added = self.epoll.add(&*bell, EpollEvent::new(EpollFlags::EPOLLIN, FILES));
            added.map_err(|error| SocketError::opening("files", io::Error::from(error)))
        });
        if let Err(error) = opened {
            self.fail_file(socket, error, now);
        }
    }

    /// Hands over what has become of files.
    pub(super) fn files_ready(&mut self) {
        self.files.hush();
        let now = self.now();
        while let Some((socket, done)) = self.files.next() {
            let arrival = match done {
                Ok(Done::Opened) => Arrival::Connected { socket, local: None, peer: None },
                Ok(Done::Written(count)) => Arrival::Taken { socket, count },
                Ok(_) => Arrival::Finished { socket },
                Err(error) => {
                    self.fail_file(socket, error, now);
                    continue;
                }
            };
            self.machine.input(now, Input::Arrival(arrival));
        }
    }

    /// A file cannot be written, and is closed.
    pub(super) fn fail_file(&mut self, socket: Socket, error: SocketError, now: Time) {
        self.files.close(socket);
        self.counters.failed += 1;
        self.note_failure(error);
        self.tell(now, Arrival::Failed { socket });
    }
}
