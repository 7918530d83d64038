//! The thread that watches the interface: up, down, gone, made anew. It sleeps in the kernel.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::{Link, PortRequest};

use crate::ends::ends;
use crate::shared::Shared;
use crate::sys;

/// Starts to watch the interface; the watch ends when the last copy of the returned descriptor is
/// dropped.
pub(crate) fn start(
    shared: Arc<Shared>,
    request: PortRequest,
    index: i32,
) -> io::Result<Arc<OwnedFd>> {
    let news = sys::link_socket()?;
    let (gone, alive) = std::io::pipe()?;
    let mut watch = Watch { shared, request, index, news };
    // Now and not in the thread, so that who opened the port finds its state.
    watch.look();
    let thread = std::thread::Builder::new().name("af-packet".to_owned());
    thread.spawn(move || {
        while !sys::wait(&watch.news, gone.as_fd(), LOOK_MS) {
            watch.look();
        }
        watch.shared.set_link(Link::Down("the port was closed".to_owned()));
    })?;
    Ok(Arc::new(alive.into()))
}

struct Watch {
    shared: Arc<Shared>,
    request: PortRequest,
    /// Number of the interface to which the queues' newest sockets are bound.
    index: i32,
    news: OwnedFd,
}

impl Watch {
    /// Checks the present state of the interface.
    fn look(&mut self) {
        let link = match self.find() {
            Ok(()) => self.state(),
            Err(why) => Link::Down(why),
        };
        self.shared.set_link(link);
        self.shared.close_old();
    }

    /// Finds the interface; gives the queues new sockets if it is a new interface of the same name.
    fn find(&mut self) -> Result<(), String> {
        let config = &self.shared.config;
        let name = &config.interface;
        let index =
            sys::interface_index(name).ok_or_else(|| format!("interface {name} does not exist"))?;
        if index != self.index {
            let ends = ends(config, &self.request, index)
                .map_err(|error| format!("{name} was created again but cannot be used: {error}"))?;
            self.shared.renew(ends);
            self.index = index;
        }
        Ok(())
    }

    /// Takes note of the longest packet of an interface that is up.
    fn measure(&self) -> Link {
        let name = &self.shared.config.interface;
        match sys::interface_mtu(&self.news, name) {
            Ok(mtu) => {
                self.shared.mtu.store(mtu.max(0) as u32, Ordering::Relaxed);
                Link::Up
            }
            Err(error) => Link::Down(format!("{name}: {error}")),
        }
    }

    fn state(&self) -> Link {
        let name = &self.shared.config.interface;
        match sys::interface_flags(&self.news, name) {
            Err(error) => Link::Down(format!("{name}: {error}")),
            Ok(flags) if flags & libc::IFF_UP == 0 => {
                Link::Down(format!("{name} is down: run `ip link set {name} up`"))
            }
            Ok(flags) if flags & libc::IFF_RUNNING == 0 => {
                Link::Down(format!("{name} has no carrier"))
            }
            Ok(_) => self.measure(),
        }
    }
}

/// Interval of checks without a notification, in milliseconds: notifications may be lost if there
/// are too many for the socket.
const LOOK_MS: i32 = 500;
