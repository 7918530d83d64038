//! The threads that speak for a worker, and how they begin and end.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rtrb::{Consumer, Producer, RingBuffer};

use crate::change::Change;
use crate::link::Link;
use crate::message::Hello;
use crate::receiver::{Received, Receiver};
use crate::sender::Sender;

/// A thread that speaks for a worker. It ends when this is dropped.
pub struct Thread {
    link: Arc<Link>,
    handle: Option<JoinHandle<()>>,
}

/// Begins to tell `peer` of the changes that are put into the ring, at most so many a second; 0 for
/// as many as can be.
///
/// # Errors
/// When the kernel has no thread.
pub fn active<C: Change>(
    peer: (SocketAddr, Hello),
    changes_per_s: u32,
) -> io::Result<(Producer<C>, Arc<Link>, Thread)> {
    let link = Arc::new(Link::default());
    let (producer, consumer) = RingBuffer::new(RING);
    let sender = Sender::new(peer, consumer, link.clone(), changes_per_s);
    let thread = Thread::spawn(link.clone(), move || sender.run())?;
    Ok((producer, link, thread))
}

/// Begins to listen for what an active function of the same configuration and worker tells.
///
/// # Errors
/// When the kernel has no thread.
pub fn standby<C: Change>(
    listener: TcpListener,
    own: ([u8; 32], (u32, u32)),
) -> io::Result<(Consumer<Received<C>>, Arc<Link>, Thread)> {
    let link = Arc::new(Link::default());
    let (producer, consumer) = RingBuffer::new(RING);
    let receiver = Receiver::new(listener, own, producer, link.clone());
    let thread = Thread::spawn(link.clone(), move || receiver.run())?;
    Ok((consumer, link, thread))
}

/// A listener that never makes its thread wait.
///
/// # Errors
/// When the address is not to be had.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Thread {
    fn spawn(link: Arc<Link>, run: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
        let handle = thread::Builder::new().name("replication".to_owned()).spawn(run)?;
        Ok(Thread { link, handle: Some(handle) })
    }

    /// Ends it, whatever is not told yet.
    pub fn end(&mut self) {
        self.link.stop();
        if let Some(handle) = self.handle.take() {
            handle.thread().unpark();
            // It panics only with a defect, which is told already.
            let _ = handle.join();
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.end();
    }
}

/// Changes between a worker and its thread.
pub const RING: usize = 16_384;
