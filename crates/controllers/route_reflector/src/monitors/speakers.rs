//! Peers with sessions, as they are exported to collectors.

use std::collections::BTreeMap;
use std::net::IpAddr;

use protocol_bgp::builder::{Builder, Writing};
use protocol_bgp::ended::Ended;
use protocol_bgp::families::{FAMILIES, Family, FamilySet};
use protocol_bgp::message::{EXTENDED_LEN_MAX, Kind};
use protocol_bgp::negotiated::Negotiated;
use protocol_bgp::rules::Reading;
use protocol_bgp::update::{Field, Scan};
use protocol_bmp::message::{self, Down, Figure, PeerHeader, PeerKind, Up};

use crate::reflector::{Gone, Reflector};

/// Peers with sessions, by their numbers.
pub(super) type Speakers = BTreeMap<u16, Speaker>;

/// A peer with a session.
#[derive(Debug)]
pub(super) struct Speaker {
    header: PeerHeader,
    ends: Ends,
    opens: [Vec<u8>; 2],
    writing: Writing,
}

/// The ends of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// The peer's address.
    pub peer: IpAddr,
    /// The peer's AS.
    pub asn: u32,
    /// The own address, if it is known.
    pub local: Option<IpAddr>,
    /// The own port and the peer's; 0 where it is not known.
    pub ports: [u16; 2],
}

impl Speaker {
    /// A peer whose session stands.
    pub fn new(ends: Ends, agreed: &Negotiated) -> Speaker {
        let header = PeerHeader {
            kind: PeerKind::PrePolicy,
            distinguisher: [0; 8],
            address: Some(ends.peer),
            asn: ends.asn,
            identifier: agreed.identifier,
            micros: 0,
            is_narrow: false,
        };
        let writing = writing(&agreed.reading);
        Speaker { header, ends, opens: agreed.opens.clone(), writing }
    }

    /// What messages are about.
    pub fn header(&self, micros: u64) -> PeerHeader {
        PeerHeader { micros, ..self.header }
    }

    /// The families that it tells.
    pub fn families(&self) -> FamilySet {
        self.writing.families
    }

    /// How routes of it are written that are not passed on as they came.
    pub fn writing(&self) -> &Writing {
        &self.writing
    }

    /// Appends that its session stands.
    pub fn up(&self, micros: u64, out: &mut Vec<u8>) {
        let Ends { local, ports, .. } = self.ends;
        let [sent, received] = &self.opens;
        // The address has the peer's version, also where nobody knows it.
        let local = local.or(Some(match self.ends.peer {
            IpAddr::V4(_) => IpAddr::from([0; 4]),
            IpAddr::V6(_) => IpAddr::from([0; 16]),
        }));
        let up = Up { local, ports, opens: [sent, received], table: "" };
        message::peer_up(&self.header(micros), &up, out);
    }

    /// Appends that its session has ended (RFC 7854 section 4.9).
    pub fn down(&self, why: &Ended, micros: u64, out: &mut Vec<u8>) {
        let mut notification = Vec::new();
        let down = match why {
            Ended::Sent(what) => {
                what.write(&mut notification);
                Down::LocalNotification(&notification)
            }
            Ended::Received(what) => {
                what.write(&mut notification);
                Down::RemoteNotification(&notification)
            }
            Ended::Closed => Down::Remote,
            Ended::Failed => Down::Local(TCP_CONNECTION_FAILS),
            Ended::Replaced | Ended::Unreachable => Down::Local(0),
        };
        message::peer_down(&self.header(micros), down, "", out);
    }

    /// Appends an UPDATE as it came; of one with errors what was taken of it.
    pub fn update(
        &self,
        (body, reading): (&[u8], &Reading),
        is_faulty: bool,
        micros: u64,
        out: &mut Vec<u8>,
    ) {
        let mut header = self.header(micros);
        let mut messages = Vec::new();
        if is_faulty {
            let mut scan = Scan::default();
            let Ok(update) = scan.read(body, reading) else { return };
            for field in update.withdrawn() {
                let builder = Builder::withdraw(&mut messages, &self.writing, field.family);
                fill(builder, &field);
            }
            for field in update.announced() {
                let told = (field.family, field.next_hop);
                let builder = Builder::announce(&mut messages, &self.writing, told, scan.block());
                fill(builder, &field);
            }
        } else {
            header.is_narrow = !reading.is_wide;
            let len = (protocol_bgp::message::HEADER_LEN + body.len()) as u16;
            messages.extend([0xff; 16]);
            messages.extend(len.to_be_bytes());
            messages.push(Kind::Update as u8);
            messages.extend(body);
        }
        message::route_monitoring(&header, &messages, out);
    }

    /// Appends that paths are gone of which it has not said so itself, of one family.
    pub fn gone(&self, family: Family, gone: &[Gone], micros: u64, out: &mut Vec<u8>) {
        let mut messages = Vec::new();
        let rest: &[u8] = if family == Family::Vpls { &[0; VPLS_REST] } else { &[] };
        let mut builder = Builder::withdraw(&mut messages, &self.writing, family);
        for one in gone {
            // It has room: it came in a message.
            let _ = builder.push(one.path_id, &one.key, rest);
        }
        builder.finish();
        message::route_monitoring(&self.header(micros), &messages, out);
    }
}

/// Writes the routes of a field.
fn fill(mut builder: Builder<'_>, field: &Field<'_>) {
    for nlri in field.nlris().flatten() {
        // It has room: it came in a message.
        let _ = builder.push(nlri.path_id, nlri.key.as_slice(), nlri.rest.as_slice());
    }
    builder.finish();
}

/// How routes that are read so are written for a collector.
fn writing(reading: &Reading) -> Writing {
    Writing {
        families: reading.families,
        path_ids: reading.path_ids,
        extended_next_hops: reading.extended_next_hops,
        is_wide: true,
        len_max: EXTENDED_LEN_MAX,
    }
}

/// The event of a connection that is lost (RFC 4271 section 8.1.4).
const TCP_CONNECTION_FAILS: u16 = 18;

/// What follows the key of an NLRI of VPLS: its value means nothing in a withdrawal.
const VPLS_REST: usize = 5;

/// How many routes a peer has told.
pub(super) fn figures_of(reflector: &Reflector, peer: u16) -> Vec<Figure> {
    let counts = FAMILIES.iter().map(|row| (row.family, reflector.told_by(peer, row.family)));
    let counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    let all = Figure::AdjRibIn(counts.iter().map(|(_, count)| u64::from(*count)).sum());
    let of = |(family, count): (Family, u32)| Figure::AdjRibInOf(family, count.into());
    std::iter::once(all).chain(counts.into_iter().map(of)).collect()
}
