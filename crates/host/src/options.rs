//! Options of sockets for which there is no call of a library.

use std::fmt;
use std::io;
use std::net::IpAddr;

use nix::libc;
use nix::sys::socket::setsockopt;
use nix::{setsockopt_impl, sockopt_impl};
use protocol_kit::{Secret, StreamOptions};
use socket2::Socket;

use crate::told;

sockopt_impl!(
    /// Adds an address to those that an interface listens to.
    AddMembership,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_ADD_MEMBERSHIP,
    libc::packet_mreq
);

sockopt_impl!(
    /// The least Time To Live of segments that are accepted.
    TtlMin,
    SetOnly,
    libc::IPPROTO_IP,
    libc::IP_MINTTL,
    libc::c_int
);

sockopt_impl!(
    /// The least Hop Limit of segments that are accepted.
    HopLimitMin,
    SetOnly,
    libc::IPPROTO_IPV6,
    libc::IPV6_MINHOPCOUNT,
    libc::c_int
);

sockopt_impl!(
    /// A key of signatures.
    Md5Signature,
    SetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_MD5SIG,
    Md5Key
);

/// The kernel's `struct tcp_md5sig`.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub struct Md5Key {
    /// A `struct sockaddr_storage`.
    address: [u8; 128],
    flags: u8,
    prefix_len: u8,
    key_len: u16,
    interface: i32,
    key: [u8; libc::TCP_MD5SIG_MAXKEYLEN],
}

/// Sets what holds for a stream of TCP, or for those of a listener.
///
/// # Errors
/// What the kernel says, with the option.
pub(crate) fn apply(socket: &Socket, is_v6: bool, options: &StreamOptions) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    if is_v6 {
        socket.set_only_v6(true)?;
    }
    if let Some(interface) = options.interface {
        told::bind_to(socket, interface).map_err(|error| named("its interface", error))?;
    }
    if let Some(ttl) = options.ttl.map(u32::from) {
        let set = if is_v6 { Socket::set_unicast_hops_v6 } else { Socket::set_ttl_v4 };
        set(socket, ttl).map_err(|error| named("its Time To Live", error))?;
    }
    let least = libc::c_int::from(options.ttl_min);
    if least > 0 {
        let set = match is_v6 {
            true => setsockopt(socket, HopLimitMin, &least),
            false => setsockopt(socket, TtlMin, &least),
        };
        set.map_err(|error| named("the least Time To Live", error))?;
    }
    for (far, secret) in options.md5.iter().filter(|(far, _)| far.is_ipv6() == is_v6) {
        let key = md5_key(*far, secret)?;
        let set = setsockopt(socket, Md5Signature, &key);
        set.map_err(|error| named("signatures by TCP MD5", error))?;
    }
    Ok(())
}

fn md5_key(far: IpAddr, Secret(secret): &Secret) -> io::Result<Md5Key> {
    // To the kernel an empty key is none at all.
    if !(1..=libc::TCP_MD5SIG_MAXKEYLEN).contains(&secret.len()) {
        let why = format!("the key for {far} must have 1 to {} bytes", libc::TCP_MD5SIG_MAXKEYLEN);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut key = Md5Key {
        address: [0; 128],
        flags: 0,
        prefix_len: 0,
        key_len: secret.len() as u16,
        interface: 0,
        key: [0; libc::TCP_MD5SIG_MAXKEYLEN],
    };
    key.key[..secret.len()].copy_from_slice(secret);
    // Behind family and port: the address of IPv4; the flow of IPv6, and then its address.
    let family = match far {
        IpAddr::V4(far) => {
            key.address[4..8].copy_from_slice(&far.octets());
            libc::AF_INET
        }
        IpAddr::V6(far) => {
            key.address[8..24].copy_from_slice(&far.octets());
            libc::AF_INET6
        }
    };
    key.address[..2].copy_from_slice(&(family as libc::sa_family_t).to_ne_bytes());
    Ok(key)
}

fn named(what: impl fmt::Display, error: impl Into<io::Error>) -> io::Error {
    let error = error.into();
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
