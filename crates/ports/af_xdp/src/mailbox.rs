//! Where the keeper leaves new sockets.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::socket::Socket;

/// Place in which the keeper leaves a new socket for a queue whose interface was created again.
#[derive(Default)]
pub(crate) struct Mailbox {
    is_full: AtomicBool,
    socket: Mutex<Option<Socket>>,
}

impl Mailbox {
    /// Leaves a socket; an earlier one that was not taken is closed.
    pub fn put(&self, socket: Socket) {
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = Some(socket);
        self.is_full.store(true, Ordering::Release);
    }

    /// Removes the socket if it was not taken.
    pub fn clear(&self) {
        self.is_full.store(false, Ordering::Relaxed);
        *self.socket.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Takes the socket, without waiting for a keeper that is about to leave one.
    #[inline(always)]
    pub fn take(&self) -> Option<Socket> {
        if !self.is_full.load(Ordering::Acquire) {
            return None;
        }
        let socket = self.socket.try_lock().ok()?.take();
        self.is_full.store(false, Ordering::Relaxed);
        socket
    }
}
