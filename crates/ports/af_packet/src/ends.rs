//! What a queue holds of an interface: sockets and rings.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use engine::PortRequest;

use crate::config::AfPacketConfig;
use crate::ring::ReceiveRing;
use crate::sys;
use crate::transmit::Sender;

/// Socket and rings of a queue on one interface; a new interface of the same name needs new ones.
pub(crate) struct Ends {
    /// Receive socket, shared with readers of the kernel's drop counters.
    pub(crate) receiver: Arc<OwnedFd>,
    pub(crate) ring: ReceiveRing,
    pub(crate) sender: Sender,
}

impl Ends {
    /// Stops receiving; returns the number of frames in the ring that were not read. Queues that
    /// share an interface cannot leave it one by one: frames that arrive at that moment are lost
    /// without being counted.
    pub(crate) fn shut(&mut self) -> u64 {
        // No frame bears this type (RFC 1701: reserved), and the kernel has left the ring
        // afterwards.
        let left = sys::bind(&self.receiver, 0, TYPE_RESERVED);
        if left.is_err() && sys::close_gate(&self.receiver).is_err() {
            return 0;
        }
        self.ring.waiting()
    }
}

/// Creates sockets and rings of all queues on the interface of this number.
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

/// An EtherType that no protocol uses.
const TYPE_RESERVED: u16 = 0xffff;
