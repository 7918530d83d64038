//! Opening: checks, sockets and rings for each queue, the watching thread.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use engine::{KeyError, Opened, Port, PortError, PortKind, PortRequest};

use crate::config::{AfPacketConfig, Ring};
use crate::queue::Queue;
use crate::ring::ReceiveRing;
use crate::shared::{Ends, Shared};
use crate::transmit::Sender;
use crate::{sys, watch};

/// The kind of port.
pub struct AfPacket;

impl PortKind for AfPacket {
    const NAME: &'static str = "af-packet";
    const SUMMARY: &'static str = "an interface of the kernel, through packet sockets";
    type Config = AfPacketConfig;

    fn available() -> Result<(), PortError> {
        sys::packet_socket().map(drop).map_err(|error| refused("af-packet", &error))
    }

    fn validate(config: &AfPacketConfig) -> Result<(), KeyError> {
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
                generation: 0,
                _alive: alive.clone(),
            })
        };
        let queues = ends.into_iter().enumerate().map(queue).collect();
        Ok(Opened { queues, monitor: shared })
    }
}

/// Sockets and rings of all queues on the interface of this number.
pub(crate) fn ends(
    config: &AfPacketConfig,
    request: &PortRequest,
    index: i32,
) -> io::Result<Vec<Ends>> {
    let mut all = Vec::new();
    let mut group = None;
    for _ in 0..request.queues {
        let receiver = sys::packet_socket()?;
        let ring_bytes = config.ring_bytes as usize;
        let ring = ReceiveRing::new(&receiver, config.ring, ring_bytes, request.frame_bytes_max)?;
        let level = libc::SOL_PACKET;
        sys::set_option(&receiver, level, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        if request.queues > 1 {
            // Until all queues share, each would get every frame.
            sys::close_gate(&receiver)?;
        }
        sys::bind(&receiver, index, libc::ETH_P_ALL as u16)?;
        if config.promiscuous {
            let membership = libc::packet_mreq {
                mr_ifindex: index,
                mr_type: libc::PACKET_MR_PROMISC as u16,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            sys::set_option(&receiver, level, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        }
        if request.queues > 1 {
            let mode = config.fanout.number();
            let joined = match group {
                // A group of a number that nobody else has.
                None => (mode | libc::PACKET_FANOUT_FLAG_UNIQUEID) << 16,
                Some(number) => mode << 16 | number,
            };
            sys::set_option(&receiver, level, libc::PACKET_FANOUT, &joined)?;
            group = Some(sys::fanout_of(&receiver)? & 0xffff);
        }
        let sender = Sender::new(config, index)?;
        all.push(Ends { receiver: Arc::new(receiver), ring, sender });
    }
    if request.queues > 1 {
        all.iter().try_for_each(|ends| sys::open_gate(&ends.receiver))?;
    }
    Ok(all)
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
        ("mtu-bytes", sys::interface_mtu(&socket, name)?.to_string()),
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

/// No interface of this name.
fn absent(name: &str) -> PortError {
    let names = sys::interface_names();
    let nearest = names.iter().max_by(|one, other| {
        strsim::jaro_winkler(name, one).total_cmp(&strsim::jaro_winkler(name, other))
    });
    let remedy = match nearest {
        Some(nearest) => format!("did you mean {nearest}? there are: {}", names.join(", ")),
        None => "make it with `ip link add`".to_owned(),
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
            format!("{name}: its queues cannot share it while it is down"),
            format!("run `ip link set {name} up`"),
        ),
        None if error.kind() == io::ErrorKind::Unsupported => PortError::new(
            format!("interface {name} carries no Ethernet frames"),
            "name an interface that does, such as veth, tap or a network card",
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
            format!("{what}: the kernel has no packet sockets"),
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
