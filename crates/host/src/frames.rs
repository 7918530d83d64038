//! A packet socket of the kernel, for frames of an interface.
//!
//! Which frames it takes is a filter in the kernel (classic BPF), so others wake nobody. It leaves
//! out frames of this node's own and frames of a VLAN, whose tag the kernel has taken off.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::sys::socket::{AddressFamily, SockaddrLike, bind, setsockopt};
use protocol_kit::{Interface, Takes};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use crate::error::SocketError;
use crate::options::AddMembership;
use crate::told;

/// A socket for frames.
pub(crate) struct Frames {
    socket: Socket,
    interface: Interface,
}

impl Frames {
    /// Opens a socket that never blocks.
    pub fn open(
        interface: Interface,
        takes: &[Takes],
        groups: &[[u8; 6]],
    ) -> Result<Frames, SocketError> {
        open(interface, takes, groups).map_err(|error| {
            let name = told::name_of(interface).unwrap_or_default();
            let name = name.to_string_lossy();
            let what = format!("frames of interface {} {name}", interface.0);
            SocketError::opening(what.trim_end(), error)
        })
    }

    /// Returns its interface.
    pub fn interface(&self) -> Interface {
        self.interface
    }

    /// Receives a frame; `None` if none waits.
    ///
    /// # Errors
    /// What the kernel says: the interface has gone down, say.
    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.socket).read(bytes) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// What the kernel says: no header, longer than the interface allows, no room, link down.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.socket).write(bytes).map(drop)
    }
}

impl AsFd for Frames {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open(interface: Interface, takes: &[Takes], groups: &[[u8; 6]]) -> io::Result<Frames> {
    if takes.len() > TAKES_MAX || groups.len() > GROUPS_MAX {
        return Err(io::Error::other("too many kinds of frames or groups"));
    }
    let every = Protocol::from(i32::from((libc::ETH_P_ALL as u16).to_be()));
    let socket = Socket::new_raw(Domain::PACKET, Type::RAW.nonblocking().cloexec(), Some(every))?;
    socket.attach_filter(&filter(interface, takes, groups))?;
    // The kernel's own address of the interface is what a socket is bound to.
    let address = getifaddrs()?
        .filter_map(|one| one.address)
        .filter(|address| address.family() == Some(AddressFamily::Packet))
        .find(|address| {
            address.as_link_addr().is_some_and(|link| link.ifindex() == interface.0 as usize)
        })
        .ok_or(nix::Error::ENODEV)?;
    bind(socket.as_raw_fd(), &address)?;
    for group in groups {
        let mut request = libc::packet_mreq {
            mr_ifindex: interface.0 as libc::c_int,
            mr_type: libc::PACKET_MR_MULTICAST as libc::c_ushort,
            mr_alen: group.len() as libc::c_ushort,
            mr_address: [0; 8],
        };
        request.mr_address[..group.len()].copy_from_slice(group);
        setsockopt(&socket, AddMembership, &request)?;
    }
    let frames = Frames { socket, interface };
    // What came between the first call and the filter is not known to be taken.
    while let Ok(Some(_)) = frames.receive(&mut [0; 1]) {}
    Ok(frames)
}

/// The filter: of this interface, not outgoing, without tag, to one address or to a group that is
/// listened to, of a kind that is taken.
fn filter(interface: Interface, takes: &[Takes], groups: &[[u8; 6]]) -> Vec<SockFilter> {
    let load = |size: u32, at: u32| {
        SockFilter::new((libc::BPF_LD | size | libc::BPF_ABS) as u16, 0, 0, at)
    };
    let told = |what: i32| load(libc::BPF_W, (libc::SKF_AD_OFF + what) as u32);
    let jump = |test: u32, value: u32, yes: u8, no: u8| {
        SockFilter::new((libc::BPF_JMP | test | libc::BPF_K) as u16, yes, no, value)
    };
    let equal = |value: u32, yes, no| jump(libc::BPF_JEQ, value, yes, no);
    let give = |len: u32| SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, len);
    let skip =
        |count: usize| SockFilter::new((libc::BPF_JMP | libc::BPF_JA) as u16, 0, 0, count as u32);

    let mut program = vec![
        told(libc::SKF_AD_IFINDEX),
        equal(interface.0, 1, 0),
        give(0),
        told(libc::SKF_AD_PKTTYPE),
        equal(u32::from(libc::PACKET_OUTGOING), 0, 1),
        give(0),
        told(libc::SKF_AD_VLAN_TAG_PRESENT),
        equal(0, 1, 0),
        give(0),
        load(libc::BPF_B, 0),
        jump(libc::BPF_JSET, 1, 1, 0),
        // Past the groups and the refusal behind them.
        skip(GROUP_LEN * (groups.len() + 1) + 1),
    ];
    for (index, group) in [BROADCAST].iter().chain(groups).enumerate() {
        let [a, b, c, d, e, f] = *group;
        program.extend([
            load(libc::BPF_W, 2),
            equal(u32::from_be_bytes([c, d, e, f]), 0, 3),
            load(libc::BPF_H, 0),
            equal(u32::from(u16::from_be_bytes([a, b])), 0, 1),
            skip(GROUP_LEN * (groups.len() - index) + 1),
        ]);
    }
    program.push(give(0));
    for Takes { ether_type, protocol } in takes {
        let place = match *ether_type {
            ETHER_TYPE_IPV4 => Some(IPV4_PROTOCOL_AT),
            ETHER_TYPE_IPV6 => Some(IPV6_NEXT_HEADER_AT),
            _ => None,
        };
        program.push(load(libc::BPF_H, ETHER_TYPE_AT));
        match (place, *protocol) {
            (_, None) => program.push(equal(u32::from(*ether_type), 0, 1)),
            (Some(place), Some(protocol)) => program.extend([
                equal(u32::from(*ether_type), 0, 3),
                load(libc::BPF_B, place),
                equal(u32::from(protocol), 0, 1),
            ]),
            // Other kinds have no such header.
            (None, Some(_)) => program.push(skip(1)),
        }
        program.push(give(u32::MAX));
    }
    program.push(give(0));
    program
}

/// Instructions for a group.
const GROUP_LEN: usize = 5;

/// Every interface listens to it.
const BROADCAST: [u8; 6] = [0xff; 6];

const ETHER_TYPE_AT: u32 = 12;
const ETHER_TYPE_IPV4: u16 = 0x0800;
const ETHER_TYPE_IPV6: u16 = 0x86dd;
const IPV4_PROTOCOL_AT: u32 = 14 + 9;
const IPV6_NEXT_HEADER_AT: u32 = 14 + 6;

/// Kinds of frames that a filter of the kernel has room for: it has 4096 instructions.
const TAKES_MAX: usize = 64;

/// Groups that it has room for.
const GROUPS_MAX: usize = 512;
