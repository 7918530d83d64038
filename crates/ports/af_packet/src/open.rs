//! Opening: checks, sockets and rings for each queue, the watching thread.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use engine::{Intake, Opened, Port, PortError, PortKind, PortRequest};
use keys::Invalid;

use crate::config::{AfPacketConfig, Ring};
use crate::ends::{Ends, ends};
use crate::queue::Queue;
use crate::shared::{MTU, Shared};
use crate::{sys, watch};

/// Port type `af-packet`.
pub struct AfPacket;

impl PortKind for AfPacket {
    const NAME: &'static str = "af-packet";
    const SUMMARY: &'static str = "a network interface of the kernel, through AF_PACKET sockets";
    type Config = AfPacketConfig;

    fn available() -> Result<(), PortError> {
        sys::packet_socket().map(drop).map_err(|error| refused("af-packet", &error))
    }

    fn validate(config: &AfPacketConfig) -> Result<(), Invalid> {
        config.validate()
    }

    fn open(config: &AfPacketConfig, request: &PortRequest) -> Result<Opened, PortError> {
        let name = &config.interface;
        let index = sys::interface_index(name).ok_or_else(|| absent(name))?;
        let (ends, facts) = ends_with_facts(config, request, index)
            .map_err(|error| explained(config, request, &error))?;
        let shared = Arc::new(Shared::new(config.clone(), request.queues, facts));
        shared.count_drops_of(&ends);
        let alive = watch::start(shared.clone(), request.clone(), index)
            .map_err(|error| PortError::new(format!("{name}: {error}"), "free file descriptors"))?;
        let queue = |(number, ends)| -> Box<dyn Port> {
            Box::new(Queue {
                id: request.id,
                index: number,
                shared: shared.clone(),
                counters: shared.counters[number].clone(),
                ends,
                intake: Intake::default(),
                generation: 0,
                _alive: alive.clone(),
            })
        };
        let queues = ends.into_iter().enumerate().map(queue).collect();
        Ok(Opened { queues, monitor: shared })
    }
}

type Facts = Vec<(&'static str, String)>;

fn ends_with_facts(
    config: &AfPacketConfig,
    request: &PortRequest,
    index: i32,
) -> io::Result<(Vec<Ends>, Facts)> {
    let socket: OwnedFd = sys::packet_socket()?;
    let name = &config.interface;
    let kind = sys::interface_kind(&socket, name)?;
    if kind != libc::ARPHRD_ETHER && kind != libc::ARPHRD_LOOPBACK {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let ring = match config.ring {
        Ring::Blocks => "tpacket-v3",
        Ring::Frames => "tpacket-v2",
    };
    let mut facts = vec![
        ("interface", name.clone()),
        (MTU, sys::interface_mtu(&socket, name)?.to_string()),
        ("ring", ring.to_owned()),
        ("ring-bytes", config.ring_bytes.to_string()),
        (
            "transmit",
            if config.qdisc_bypass { "sendmmsg, qdisc bypass" } else { "sendmmsg" }.into(),
        ),
    ];
    if request.queues > 1 {
        facts.push(("fanout", config.fanout.name().to_owned()));
    }
    Ok((ends(config, request, index)?, facts))
}

/// Returns the error for an interface that does not exist.
fn absent(name: &str) -> PortError {
    let names = sys::interface_names();
    let nearest = names.iter().max_by(|one, other| {
        strsim::jaro_winkler(name, one).total_cmp(&strsim::jaro_winkler(name, other))
    });
    let remedy = match nearest {
        Some(nearest) => {
            format!("did you mean {nearest}? existing interfaces: {}", names.join(", "))
        }
        None => "create it with `ip link add`".to_owned(),
    };
    PortError::new(format!("interface {name} does not exist"), remedy)
}

fn explained(config: &AfPacketConfig, request: &PortRequest, error: &io::Error) -> PortError {
    let name = &config.interface;
    match error.raw_os_error() {
        Some(libc::ENOMEM) => PortError::new(
            format!("{name}: no memory for {} rings of {}", request.queues, config.ring_bytes),
            "lower ring-bytes",
        ),
        Some(libc::EINVAL) if request.queues > 1 => PortError::new(
            format!("{name}: several queues cannot share it while it is down"),
            format!("run `ip link set {name} up`"),
        ),
        None if error.kind() == io::ErrorKind::Unsupported => PortError::new(
            format!("interface {name} is not an Ethernet interface"),
            "use an Ethernet interface, such as veth, tap or a network card",
        ),
        _ => refused(name, error),
    }
}

fn refused(what: &str, error: &io::Error) -> PortError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            let program = std::env::current_exe().unwrap_or_else(|_| "<program>".into());
            PortError::new(
                format!("{what} needs CAP_NET_RAW"),
                format!("run with sudo or `setcap cap_net_raw+ep {}`", program.display()),
            )
        }
        Some(libc::EAFNOSUPPORT) => PortError::new(
            format!("{what}: the kernel does not support packet sockets"),
            "use a kernel with CONFIG_PACKET",
        ),
        _ => PortError::new(format!("{what}: {error}"), "see `ip link` and `dmesg`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_named_with_its_remedy() {
        let error = refused("eth7", &io::Error::from_raw_os_error(libc::EPERM));
        assert_eq!(error.what, "eth7 needs CAP_NET_RAW");
        assert!(error.remedy.starts_with("run with sudo or `setcap cap_net_raw+ep /"), "{error:?}");
    }
}
