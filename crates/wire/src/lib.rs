//! Frame formats, one file per protocol, as checked views.
//!
//! Every format file has the same skeleton: the header drawn, its lengths and the offsets of its
//! fields, [`View`](ipv4::View) (checked once when it is made), [`ViewMut`](ipv4::ViewMut),
//! [`Fields`](ipv4::Fields) (the header as values, which can be written into a fixed array), tests.
//!
//! Guarantees: no unsafe code, no allocation, no I/O. Making a view of any bytes yields a view or
//! a [`Malformed`] that names what is wrong; after that no getter can panic, whatever the bytes
//! are. Setters change no length, so a view that was checked stays checked. All numbers are in
//! host order at the API and in network order on the wire.
//!
//! The data path, which has checked a frame already, may read and write fixed arrays itself with
//! the exported offsets and the helpers of [`bytes`].
//!
//! **Not supported:** VLAN tags and 802.3 length frames, ARP for anything but IPv4 over Ethernet,
//! jumbograms (RFC 2675), GTP′, GTP-C, VXLAN-GPE.

pub mod ethernet;

pub mod arp;
pub mod ipv4;
pub mod ipv6;

pub mod icmp;
pub mod tcp;
pub mod udp;

pub mod erspan;
pub mod erspan_iii;
pub mod gtpu;
pub mod pppoe;
pub mod vxlan;

pub mod pcp;

pub mod bytes;
pub mod checksum;
pub mod embedded;
mod law;
pub mod mac;
pub mod malformed;
pub mod protocol;

pub use law::Law;
pub use mac::MacAddr;
pub use malformed::Malformed;

/// What must hold of any bytes, for all modules that read any.
pub const LAWS: &[Law] = &[
    ethernet::LAW,
    arp::LAW,
    ipv4::LAW,
    ipv6::LAW,
    icmp::LAW,
    tcp::LAW,
    udp::LAW,
    erspan::LAW,
    erspan_iii::LAW,
    gtpu::LAW,
    pppoe::LAW,
    vxlan::LAW,
    pcp::LAW,
    checksum::LAW,
    embedded::LAW,
    mac::LAW,
];
