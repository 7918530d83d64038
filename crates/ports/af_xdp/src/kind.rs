//! The port as the registry knows it.

use std::sync::Arc;

use engine::{
    Link, Monitor, Opened, Port, PortCounts, PortError, PortKind, PortRequest, QueueCounters,
};
use keys::Invalid;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::config::{CHUNK_BYTES, Config};
use crate::counts::DROPS;
use crate::explain::Step;
use crate::keeper::{Keeper, Shared};
use crate::port::Queue;
use crate::socket::CHUNK_HEADROOM_BYTES;

/// Port type `af-xdp`.
#[derive(Debug)]
pub struct AfXdp;

impl PortKind for AfXdp {
    const NAME: &'static str = "af-xdp";
    const SUMMARY: &'static str = "a network interface, bypassing the kernel's stack (AF_XDP)";
    type Config = Config;

    fn available() -> Result<(), PortError> {
        let socket = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None);
        let explain = |error| Step::Socket.refused(error).explain("AF_XDP");
        socket.map(drop).map_err(explain)
    }

    fn validate(config: &Config) -> Result<(), Invalid> {
        config.check()
    }

    fn open(config: &Config, request: &PortRequest) -> Result<Opened, PortError> {
        let chunk_bytes = chunk_bytes(config, request.frame_bytes_max)?;
        if request.queues == 0 {
            let what = format!("{}: a port needs at least one worker", config.interface);
            return Err(PortError::new(what, "configure at least one worker"));
        }
        let shared = Shared::new(config.clone(), chunk_bytes, request.queues);
        let (sockets, keeper) = Keeper::start(shared)?;
        let counters: Vec<_> = sockets.iter().map(|_| QueueCounters::new(DROPS)).collect();
        let monitor = PortMonitor { shared: keeper.shared().clone(), counters: counters.clone() };
        let queues = sockets.into_iter().zip(counters).enumerate();
        let queue = |(index, (socket, counters))| -> Box<dyn Port> {
            Box::new(Queue::new(socket, request.id, index, counters, keeper.clone()))
        };
        Ok(Opened { queues: queues.map(queue).collect(), monitor: Arc::new(monitor) })
    }
}

/// Returns the chunk size for the longest frame.
fn chunk_bytes(config: &Config, frame_bytes_max: usize) -> Result<u32, PortError> {
    let carries = |chunk: u32| (chunk - CHUNK_HEADROOM_BYTES) as usize >= frame_bytes_max;
    let smallest = CHUNK_BYTES.into_iter().find(|chunk| carries(*chunk));
    let interface = &config.interface;
    match (config.chunk_bytes, smallest) {
        (Some(chunk), _) if carries(chunk) => Ok(chunk),
        (None, Some(chunk)) => Ok(chunk),
        (Some(chunk), Some(smallest)) => Err(PortError::new(
            format!(
                "{interface}: frames of {frame_bytes_max} bytes do not fit into chunks of \
                     {chunk} bytes"
            ),
            format!("set `chunk-bytes: {smallest}`, or remove the key"),
        )),
        (_, None) => Err(PortError::new(
            format!("{interface}: AF_XDP does not support frames of {frame_bytes_max} bytes"),
            format!(
                "use frames of at most {} bytes, or the port af-packet",
                CHUNK_BYTES[1] - CHUNK_HEADROOM_BYTES
            ),
        )),
    }
}

/// Monitor of the port, for threads other than its workers.
struct PortMonitor {
    shared: Arc<Shared>,
    counters: Vec<Arc<QueueCounters>>,
}

impl Monitor for PortMonitor {
    fn counts(&self) -> PortCounts {
        let mut counts = PortCounts::sum(&self.counters);
        self.shared.kernel.add_to(&mut counts);
        counts
    }

    fn link(&self) -> Link {
        self.shared.link()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        self.shared.facts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chunk_follows_the_longest_frame() {
        let auto = Config::of("eth0");
        assert_eq!(chunk_bytes(&auto, 1514), Ok(2048));
        assert_eq!(chunk_bytes(&auto, 1793), Ok(4096));
        let error = chunk_bytes(&auto, 9014).expect_err("too long");
        assert!(error.remedy.contains("3840"), "{error:?}");
        let small = Config { chunk_bytes: Some(2048), ..auto };
        let error = chunk_bytes(&small, 3000).expect_err("too long");
        assert!(error.remedy.contains("chunk-bytes: 4096"), "{error:?}");
    }
}
