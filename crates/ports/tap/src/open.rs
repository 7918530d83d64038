//! Opening: the interface is made, given its addresses and taken up.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex};

use engine::{
    Intake, Kinds, LONG_FRAME_BYTES_MAX, Opened, Port, PortError, PortKind, PortRequest,
    QueueCounters,
};
use keys::Invalid;

use crate::config::TapConfig;
use crate::interface::{open_queue, set_up};
use crate::queue::Queue;
use crate::shared::{DROPS, Kernel, Shared};
use crate::sys;

/// Port type `tap`.
pub struct Tap;

impl PortKind for Tap {
    const NAME: &'static str = "tap";
    const SUMMARY: &'static str =
        "a network interface of the kernel whose other end is this program (tap)";
    type Config = TapConfig;

    fn available() -> Result<(), PortError> {
        File::options().read(true).write(true).open("/dev/net/tun").map(drop).map_err(|error| {
            PortError::new(
                format!("/dev/net/tun: {error}"),
                "run `modprobe tun`, and in a container pass `--device /dev/net/tun`",
            )
        })
    }

    fn validate(config: &TapConfig) -> Result<(), Invalid> {
        config.validate()
    }

    fn open(config: &TapConfig, request: &PortRequest) -> Result<Opened, PortError> {
        let has_many = request.queues > 1;
        let failed = |error: io::Error| explained(config, &error);
        let files: Vec<(File, Kinds)> = (0..request.queues)
            .map(|_| open_queue(config, has_many))
            .collect::<io::Result<_>>()
            .map_err(failed)?;
        let socket = sys::request_socket(libc::AF_INET).map_err(failed)?;
        set_up(config, &socket).map_err(failed)?;
        let devices = File::open("/proc/thread-self/net/dev").map_err(failed)?;
        let counters = (0..request.queues).map(|_| QueueCounters::new(DROPS)).collect();
        let shared = Arc::new(Shared {
            config: config.clone(),
            counters,
            socket,
            kernel: Mutex::new(Kernel { devices, seen: 0, sum: 0 }),
            has_many,
        });
        let queue = |(index, file): (usize, (File, Kinds))| -> Box<dyn Port> {
            Box::new(Queue {
                id: request.id,
                shared: shared.clone(),
                counters: shared.counters[index].clone(),
                file: Some(file),
                room: vec![0; ROOM_BYTES].into(),
                intake: Intake::default(),
                frame_bytes_max: request.frame_bytes_max,
                ticks_per_second: request.ticks_per_second,
                lost_at: None,
            })
        };
        let queues = files.into_iter().enumerate().map(queue).collect();
        Ok(Opened { queues, monitor: shared.clone() })
    }
}

pub(crate) fn explained(config: &TapConfig, error: &io::Error) -> PortError {
    let name = &config.interface;
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            let program = std::env::current_exe().unwrap_or_else(|_| "<program>".into());
            let program = program.display();
            PortError::new(
                format!("tap interface {name} needs CAP_NET_ADMIN"),
                format!("run with sudo or `setcap cap_net_admin+ep {program}`"),
            )
        }
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => PortError::new(
            format!("tap interface {name}: /dev/net/tun does not exist"),
            "run `modprobe tun`, and in a container pass `--device /dev/net/tun`",
        ),
        Some(libc::EBUSY) => PortError::new(
            format!("tap interface {name} is in use"),
            "stop the program that uses it, or choose another name",
        ),
        Some(libc::EINVAL) => PortError::new(
            format!("interface {name} exists and is not a tap interface for this number of queues"),
            format!("choose another name, or run `ip link del {name}`"),
        ),
        Some(libc::EADDRNOTAVAIL) => PortError::new(
            format!("tap interface {name} cannot have this Ethernet address"),
            "give the address of one station, whose first byte is even",
        ),
        _ => PortError::new(format!("tap interface {name}: {error}"), "see `ip link` and `dmesg`"),
    }
}

/// Longest frame with its header, in bytes.
const ROOM_BYTES: usize = offload::HEADER_LEN + LONG_FRAME_BYTES_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_named_with_its_remedy() {
        let error = io::Error::from_raw_os_error(libc::EPERM);
        let error = explained(&TapConfig::new("tap7"), &error);
        assert_eq!(error.what, "tap interface tap7 needs CAP_NET_ADMIN");
        assert!(
            error.remedy.starts_with("run with sudo or `setcap cap_net_admin+ep /"),
            "{error:?}"
        );
    }

    #[test]
    fn addresses_have_a_prefix() {
        let with = |address: &str| {
            let addresses = vec![address.to_owned()];
            TapConfig { addresses, ..TapConfig::new("tap0") }.validate()
        };
        assert!(with("192.0.2.1/24").is_ok() && with("2001:db8::1/64").is_ok());
        for wrong in ["192.0.2.1", "192.0.2.1/33", "2001:db8::1/129", "x/1"] {
            assert_eq!(with(wrong).expect_err(wrong).key, "addresses[0]");
        }
    }
}
