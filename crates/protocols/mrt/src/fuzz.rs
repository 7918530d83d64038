//! The body of the fuzz target: a file, read at once and in pieces, and what was read written
//! again.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use protocol_bgp::attributes::{Attributes, MP_REACH, NEXT_HOP, push};
use protocol_bgp::families::{FAMILIES, Family};
use protocol_bgp::message::write_keepalive;

use crate::framing::{Frame, Framing, Unfinished};
use crate::header::{HEADER_LEN, Header, RECORD_LEN_MAX, Stamp};
use crate::record::Record;
use crate::session::{Ends, State};
use crate::table::{Peer, PeerTable, Table};
use crate::write::{self, Path};

/// Reads a file at once and in pieces, whose length the first byte tells. It panics when both are
/// not the same, or when what was read is another one when it is written and read again.
pub fn fuzz(bytes: &[u8]) {
    let Some((piece, file)) = bytes.split_first() else { return };
    let whole = frames(file, file.len().max(1));
    assert_eq!(whole, frames(file, usize::from(*piece) + 1));
    for (header, body) in whole.0 {
        law(&Frame { number: 1, place: 0, header, body: &body, skipped: 0 });
    }
}

/// A record, by its header and what follows that.
type Kept = (Header, Vec<u8>);

/// The records of a file, and how it ends.
fn frames(file: &[u8], piece: usize) -> (Vec<Kept>, Result<(), Unfinished>) {
    let (mut framing, mut all, mut place) = (Framing::default(), Vec::new(), 0);
    for mut bytes in file.chunks(piece) {
        while let Some(frame) = framing.next(&mut bytes) {
            assert!(frame.header.len <= RECORD_LEN_MAX);
            assert_eq!(frame.place, place + frame.skipped, "every byte is somewhere");
            place = frame.place + (HEADER_LEN + frame.body.len()) as u64;
            all.push((frame.header, frame.body.to_vec()));
        }
        assert!(bytes.is_empty());
    }
    let ends = framing.finish();
    let left = ends.map_or_else(Unfinished::left, |()| 0);
    assert_eq!(place + left, file.len() as u64, "every byte is somewhere");
    (all, ends)
}

fn law(frame: &Frame<'_>) {
    let Ok((at, record)) = frame.read() else { return };
    let mut out = Vec::new();
    match record {
        Record::Peers(table) => {
            let all: Vec<Peer> = table.peers().collect();
            let view = String::from_utf8_lossy(table.view);
            write::peers(at, (table.collector, &view), all.iter().copied(), &mut out);
            let Record::Peers(same) = read(&out, at) else { panic!("peers are peers") };
            assert!(PeerTable::peers(&same).eq(all));
        }
        Record::Table(table) => rewritten(at, &table),
        Record::Message(message) => {
            let session = (message.is_wide, message.has_path_ids);
            write::message(at, &message.ends, session, &[message.bytes], &mut out);
            let Record::Message(same) = read(&out, at) else { panic!("a message is one") };
            assert_eq!((same.ends, same.bytes), (message.ends, message.bytes));
            assert_eq!((same.is_wide, same.has_path_ids), session);
        }
        Record::StateChange(change) => {
            assert!(!change.after.to_string().is_empty());
            write::state_change(at, &change.ends, (change.before, change.after), &mut out);
            let Record::StateChange(same) = read(&out, at) else { panic!("a state is one") };
            assert_eq!(same, change);
        }
        Record::Other => {}
    }
}

/// Writes a route with its paths and reads it again.
fn rewritten(at: Stamp, table: &Table<'_>) {
    let Some(nlri) = table.nlri() else { return };
    let entries: Vec<_> = table.entries().collect();
    let blocks: Vec<Vec<u8>> = entries.iter().map(|one| block(one.attributes)).collect();
    let next_hop = |at: usize| {
        let hop = entries[at].next_hop(table.family);
        // No longer one has room.
        &hop[..hop.len().min(255)]
    };
    let paths = (0..entries.len()).map(|at| Path {
        peer: entries[at].peer,
        since: entries[at].since,
        path_id: entries[at].path_id,
        next_hop: next_hop(at),
        block: &blocks[at],
    });
    let (key, rest) = (nlri.key.as_slice(), nlri.rest.as_slice());
    let mut out = Vec::new();
    let refused =
        write::route(at, table.sequence, (table.family, key, rest), paths.clone(), &mut out);
    let Record::Table(same) = read(&out, at) else { panic!("a route is one") };
    assert_eq!((same.sequence, same.family), (table.sequence, table.family));
    let again = same.nlri().expect("a route");
    assert_eq!((&again.key, again.rest.as_slice()), (&nlri.key, rest));
    assert_eq!(same.entries().count() + refused, entries.len());
    if refused > 0 {
        return;
    }
    for (same, path) in same.entries().zip(paths) {
        assert_eq!((same.peer, same.since, same.path_id), (path.peer, path.since, path.path_id));
        assert_eq!(same.next_hop(table.family), path.next_hop);
        assert_eq!(block(same.attributes), path.block);
    }
}

/// What attributes have beside next hops.
fn block(attributes: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    for one in Attributes::new(attributes) {
        if one.code != NEXT_HOP && one.code != MP_REACH {
            push(one.flags, one.code, one.value, &mut block);
        }
    }
    block
}

/// Reads a record that was written.
fn read(bytes: &[u8], at: Stamp) -> Record<'_> {
    let header = Header::read(bytes.first_chunk().expect("a header"));
    let body = &bytes[HEADER_LEN..];
    assert_eq!(header.len as usize, body.len());
    let frame = Frame { number: 1, place: 0, header, body, skipped: 0 };
    let (same, record) = frame.read().expect("what is written can be read");
    assert_eq!(same, at);
    record
}

/// Files of every kind of record, whole and damaged.
pub fn examples() -> Vec<Vec<u8>> {
    let at = Stamp::of(1_700_000_000, 250_000);
    let mut file = vec![16];
    let peers = [
        Peer { identifier: 7, address: Ipv4Addr::new(192, 0, 2, 1).into(), asn: 64_500 },
        Peer { identifier: 8, address: Ipv6Addr::LOCALHOST.into(), asn: 4_200_000_000 },
    ];
    write::peers(Stamp::of(at.seconds(), 0), (9, "view"), peers.into_iter(), &mut file);
    let block = [0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfb, 0xf4, 0xc0, 8, 4, 0, 1, 0, 2];
    for (sequence, row) in FAMILIES.iter().enumerate() {
        let (key, rest) = route_of(row.family);
        let path = |peer: u16, path_id: u32| {
            let next_hop: &[u8] = &[192, 0, 2, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
            let next_hop = if row.afi == 1 { &next_hop[..4] } else { next_hop };
            Path { peer, since: 1_600_000_000, path_id, next_hop, block: &block }
        };
        let paths = [path(0, 0), path(1, (sequence % 2) as u32)].into_iter();
        let at = Stamp::of(at.seconds(), 0);
        write::route(at, sequence as u32, (row.family, &key, &rest), paths, &mut file);
    }
    let ends = |peer: IpAddr, local: IpAddr| Ends {
        peer_as: 64_501,
        local_as: 70_000,
        interface: 0,
        peer,
        local,
    };
    let v4 = ends(Ipv4Addr::new(192, 0, 2, 1).into(), Ipv4Addr::new(192, 0, 2, 2).into());
    let v6 = ends(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::UNSPECIFIED.into());
    let mut keepalive = Vec::new();
    write_keepalive(&mut keepalive);
    for (ends, session) in
        [(v4, (true, false)), (v4, (false, true)), (v6, (true, true)), (v6, (false, false))]
    {
        write::message(at, &ends, session, &[&keepalive], &mut file);
        write::state_change(at, &ends, (State::IDLE, State::ESTABLISHED), &mut file);
    }
    let cut = file[..file.len() - 5].to_vec();
    let mut damaged = file.clone();
    // The length of the first record, and with it the place of the second one.
    damaged[10] = 0xff;
    vec![file, cut, damaged]
}

/// A route of a family, by its key and the rest.
fn route_of(family: Family) -> (Vec<u8>, Vec<u8>) {
    let vpn = [0, 0, 0xfd, 0xe8, 0, 0, 0, 1];
    match family {
        Family::Ipv4Unicast => (vec![24, 192, 0, 2], vec![]),
        Family::Ipv6Unicast => (vec![32, 0x20, 1, 0x0d, 0xb8], vec![]),
        Family::Ipv4Labelled | Family::Ipv6Labelled => (vec![8, 10], vec![0, 1, 0x11]),
        Family::VpnV4 | Family::VpnV6 => ([&[72][..], &vpn, &[10]].concat(), vec![0, 1, 0x11]),
        Family::L2vpnEvpn => ([&[3, 17][..], &vpn, &[0; 4], &[32, 192, 0, 2, 1]].concat(), vec![]),
        Family::RouteTarget => (vec![0], vec![]),
        Family::LinkState => (vec![0, 1, 0, 2, 7, 7], vec![]),
        Family::Vpls => ([&vpn[..], &[0; 4]].concat(), vec![0; 5]),
        Family::Ipv4Flowspec | Family::Ipv6Flowspec | Family::VpnV4Flowspec => {
            (vec![1, 8, 10], vec![])
        }
    }
}
