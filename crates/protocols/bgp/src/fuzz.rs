//! The body of the fuzz target: streams of messages, UPDATEs, and sessions, by the first byte.

use crate::attributes::{Attributes, Class, Row, push};
use crate::builder::{Builder, Writing};
use crate::families::{FAMILIES, Family, FamilySet};
use crate::framing::Framing;
use crate::message::{EXTENDED_LEN_MAX, HEADER_LEN, Kind, LEN_MAX, Message};
use crate::nlri::{Nlri, Nlris, emit, emit_withdrawn};
use crate::notification::Notification;
use crate::open::Open;
use crate::path::{self, Segments};
use crate::refresh::Refresh;
use crate::rules::Reading;
use crate::summary::Summary;
use crate::text::{Carried, NextHop, Route};
use crate::update::{Field, Scan};

mod session;

/// Feeds what the first byte says with the others. It panics when a promise is broken.
pub fn fuzz(bytes: &[u8]) {
    let Some((what, bytes)) = bytes.split_first() else { return };
    match what % 3 {
        0 => bgp_message(bytes),
        1 => bgp_update(bytes),
        _ => bgp_session(bytes),
    }
}

/// Reads a stream at once and in pieces, whose length the first byte tells. It panics when both are
/// not the same, or when something that was read is written otherwise.
pub fn bgp_message(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    for len_max in [LEN_MAX, EXTENDED_LEN_MAX] {
        let whole = messages(stream, stream.len().max(1), len_max);
        assert_eq!(whole, messages(stream, usize::from(*piece) + 1, len_max));
        let (all, _) = whole;
        all.iter().for_each(|(kind, body)| law(Message { kind: *kind, body }));
    }
}

/// The messages of a stream, and what ends it.
fn messages(
    stream: &[u8],
    piece: usize,
    len_max: usize,
) -> (Vec<(Kind, Vec<u8>)>, Option<Notification>) {
    let (mut framing, mut all) = (Framing::default(), Vec::new());
    for mut bytes in stream.chunks(piece) {
        loop {
            match framing.next(&mut bytes, len_max) {
                Ok(Some(message)) => all.push((message.kind, message.body.to_vec())),
                Ok(None) => break,
                Err(what) => return (all, Some(what)),
            }
        }
    }
    (all, None)
}

fn law(message: Message<'_>) {
    let mut out = Vec::new();
    match message.kind {
        Kind::Open => {
            let Ok(open) = Open::read(message.body) else { return };
            open.write(&mut out);
            assert_eq!(Open::read(&out[HEADER_LEN..]).as_ref(), Ok(&open));
        }
        Kind::Notification => {
            let Some(what) = Notification::read(message.body) else { return };
            assert!(!what.to_string().contains('\n'), "an operator's text is a line");
            what.write(&mut out);
            assert_eq!(&out[HEADER_LEN..], message.body);
        }
        Kind::RouteRefresh => {
            let Some((Some(family), Some(what))) = Refresh::read(message.body) else { return };
            what.write(family, &mut out);
            assert_eq!(&out[HEADER_LEN..], message.body);
        }
        Kind::Update | Kind::Keepalive => {}
    }
}

/// Reads the body of an UPDATE in a session that the first byte tells. It panics when the routes
/// and attributes that were read are other ones when they are written and read again.
pub fn bgp_update(bytes: &[u8]) {
    let Some((session, body)) = bytes.split_first() else { return };
    let is_set = |bit: u8| session & bit != 0;
    let all: FamilySet = FAMILIES.iter().map(|row| row.family).collect();
    let some = |is_set: bool| if is_set { all } else { FamilySet::NONE };
    let reading = Reading {
        families: all,
        path_ids: some(is_set(1)),
        extended_next_hops: some(is_set(2)),
        is_wide: !is_set(4),
        is_external: is_set(8),
    };
    let mut scan = Scan::default();
    let Ok(update) = scan.read(body, &reading) else { return };
    scan.findings().iter().for_each(|finding| assert!(!finding.to_string().is_empty()));
    let attributes = Attributes::new(scan.block());
    assert!(attributes.is_sorted_by_key(|one| one.code), "in the order of their codes");
    attributes.for_each(|one| assert!(!one.to_string().is_empty()));
    let summary = scan.summary();
    assert_eq!(Summary::of(scan.block()), *summary);
    assert_eq!(summary.neighbour_as, path::neighbour(summary.path.of(scan.block())));
    for field in update.withdrawn() {
        rewritten(&field, &reading, None);
    }
    for field in update.announced() {
        assert!(!update.is_treated_as_withdrawal());
        rewritten(&field, &reading, Some(scan.block()));
    }
}

/// Writes the routes of a field, with attributes or withdrawn, and reads them again.
fn rewritten(field: &Field<'_>, reading: &Reading, block: Option<&[u8]>) {
    let family = field.family;
    let writing = Writing {
        families: reading.families,
        path_ids: reading.path_ids,
        extended_next_hops: reading.extended_next_hops,
        is_wide: reading.is_wide,
        len_max: EXTENDED_LEN_MAX,
    };
    let routes: Vec<Nlri<'_>> = field.nlris().map(|nlri| nlri.expect("it was read")).collect();
    for nlri in &routes {
        let (key, rest) = (nlri.key.as_slice(), nlri.rest.as_slice());
        assert!(!Route(family, key).to_string().is_empty());
        assert!(!NextHop(field.next_hop).to_string().is_empty());
        let _ = Carried(family, key, rest).to_string();
        let mut out = Vec::new();
        emit(family, key, rest, &mut out);
        let mut read = Nlris::announced(&out, family, false);
        let same = read.next().expect("a route").expect("one that can be read");
        assert!(same.key == nlri.key && (same.rest == nlri.rest || rest.is_empty()));
        assert!(read.next().is_none());
        out.clear();
        emit_withdrawn(family, key, rest, &mut out);
        let same = Nlris::withdrawn(&out, family, false).next();
        assert_eq!(same.expect("a route").map(|same| same.key), Ok(nlri.key.clone()));
    }
    let mut out = Vec::new();
    let mut builder = match block {
        Some(block) => Builder::announce(&mut out, &writing, (family, field.next_hop), block),
        None => Builder::withdraw(&mut out, &writing, family),
    };
    let pushed = |nlri: &&Nlri<'_>| {
        builder.push(nlri.path_id, nlri.key.as_slice(), nlri.rest.as_slice()).is_ok()
    };
    let pushed: Vec<&Nlri<'_>> = routes.iter().filter(pushed).collect();
    builder.finish();
    // A path within a confederation does not stand in AS4_PATH, and may end elsewhere; a next hop
    // of an attribute may be one that NEXT_HOP may not be.
    let is_narrow = !reading.is_wide && block.is_some_and(has_confederation);
    let is_odd = block.is_some() && family == Family::Ipv4Unicast && !is_host(field.next_hop);
    if is_narrow || is_odd {
        return;
    }
    let (mut framing, mut scan, mut bytes, mut read) =
        (Framing::default(), Scan::default(), &out[..], Vec::new());
    while let Some(message) = framing.next(&mut bytes, EXTENDED_LEN_MAX).expect("messages") {
        let update = scan.read(message.body, reading).expect("an UPDATE");
        assert_eq!((scan.findings(), update.end_of_rib), (&[][..], None));
        let fields: Vec<Field<'_>> = match block {
            Some(_) => update.announced().collect(),
            None => update.withdrawn().collect(),
        };
        let [again] = fields[..] else { panic!("a field each") };
        assert!(
            block.is_none_or(|block| scan.block() == block && again.next_hop == field.next_hop)
        );
        read.extend(again.nlris().map(|nlri| {
            let nlri = nlri.expect("it was read");
            (nlri.path_id, nlri.key.as_slice().to_vec())
        }));
    }
    let pushed = pushed.iter().map(|nlri| (nlri.path_id, nlri.key.as_slice().to_vec()));
    assert!(bytes.is_empty() && pushed.eq(read), "{family}");
}

fn has_confederation(block: &[u8]) -> bool {
    let mut paths = Attributes::new(block).filter(|one| one.code == crate::attributes::AS_PATH);
    paths.any(|one| path::has_confederation(Segments::new(one.value)))
}

fn is_host(next_hop: &[u8]) -> bool {
    next_hop.len() != 4 || matches!(next_hop[0], 1..=126 | 128..=223)
}

/// Drives a speaker with one peer through what the bytes describe. It panics when the speaker does
/// with a socket what a driver does not let it, or does not come to rest.
pub fn bgp_session(bytes: &[u8]) {
    session::drive(bytes);
}

/// Examples of one of the three, by the first byte, without it.
pub fn examples_of(what: u8) -> Vec<Vec<u8>> {
    let all = examples().into_iter().filter(|one| one.first() == Some(&what));
    all.map(|one| one[1..].to_vec()).collect()
}

/// Streams, UPDATEs and sessions.
pub fn examples() -> Vec<Vec<u8>> {
    let mut open = Vec::new();
    session::config().open().write(&mut open);
    let mut last = Vec::new();
    Notification::with_text(crate::notification::ADMINISTRATIVE_SHUTDOWN, "why").write(&mut last);
    let mut refresh = Vec::new();
    Refresh::Wanted.write(Family::Ipv4Unicast, &mut refresh);
    let stream = [&[0, 255][..], &open, &last, &refresh].concat();
    let mut all = vec![stream];
    all.extend(updates());
    all.extend(session::examples());
    all
}

/// UPDATEs of every kind of family, and the sessions that they are read in.
fn updates() -> Vec<Vec<u8>> {
    let example = |session: u8, (withdrawn, announced): (&[u8], &[u8]), all: &[(u8, &[u8])]| {
        let mut attributes = Vec::new();
        for (code, value) in all {
            let class = Row::of(*code).map_or(Class::Transitive, |row| row.class);
            push(class.flags(), *code, value, &mut attributes);
        }
        let len = |bytes: &[u8]| (bytes.len() as u16).to_be_bytes();
        let lists = [&len(withdrawn)[..], withdrawn, &len(&attributes), &attributes, announced];
        [&[1, session], &lists.concat()[..]].concat()
    };
    let path: (u8, &[u8]) = (2, &[2, 1, 0, 1, 0, 1]);
    let (origin, next_hop, med): (_, (u8, &[u8]), _) =
        ((1, &[0][..]), (3, &[192, 0, 2, 1]), (4, &[0, 0, 0, 1][..]));
    let many = [
        origin,
        path,
        next_hop,
        med,
        (5, &[0, 0, 0, 100]),
        (6, &[]),
        (7, &[0, 1, 0, 1, 1, 1, 1, 1]),
        (8, &[0, 1, 0, 2]),
        (9, &[192, 0, 2, 1]),
        (10, &[192, 0, 2, 2]),
        (16, &[0, 2, 0, 1, 0, 0, 0, 2]),
        (32, &[7; 12]),
        (35, &[0, 0, 0, 9]),
        (99, &[1]),
    ];
    let narrow_path: [(u8, &[u8]); 5] = [
        (2, &[2, 2, 0, 1, 0x5b, 0xa0]),
        next_hop,
        (7, &[0x5b, 0xa0, 1, 1, 1, 1]),
        (17, &[2, 1, 0, 1, 0, 1]),
        (18, &[0, 1, 0, 1, 1, 1, 1, 1]),
    ];
    let vpn = [
        &[0, 1, 128, 12][..],
        &[0; 8],
        &[192, 0, 2, 1, 0, 97, 0, 0, 0x11],
        &[0, 0, 0xfd, 0xe8, 0, 0, 0, 1],
        &[10, 0x80],
    ];
    let evpn_mac = [
        &[0, 25, 70, 4, 192, 0, 2, 1, 0, 2, 37][..],
        &[0, 0, 0xfd, 0xe8, 0, 0, 0, 1],
        &[0; 14],
        &[48],
        &[0, 0, 0x5e, 0, 0x53, 1],
        &[32, 10, 0, 0, 1],
        &[0, 3, 0xe8],
    ];
    let evpn_prefix = [&[0, 25, 70, 5, 34][..], &[7; 22], &[9, 10, 0x80, 0, 0], &[0; 7]];
    vec![
        example(0, (&[8, 11], &[24, 192, 0, 2, 8, 10]), &many),
        example(1, (&[], &[0, 0, 0, 7, 8, 10, 0, 0, 0, 8, 8, 10]), &[origin, path, next_hop]),
        example(4, (&[], &[9, 10, 0xff]), &[&[origin], &narrow_path[..]].concat()),
        example(8, (&[], &[8, 10]), &[origin, path, next_hop, med]),
        example(0, (&[], &[]), &[(14, &vpn.concat()), origin, path]),
        example(0, (&[], &[]), &[(14, &evpn_mac.concat()), origin, path]),
        example(0, (&[], &[]), &[(15, &evpn_prefix.concat()), (99, &[])]),
        example(0, (&[], &[]), &[(14, &[0, 1, 133, 0, 0, 3, 1, 8, 10]), origin, path]),
        example(0, (&[], &[]), &[(15, &[0, 1, 132, 96, 0, 0, 0, 1, 0, 2, 0, 1, 0, 0, 0, 2])]),
        example(0, (&[], &[]), &[(15, &[0x40, 4, 71, 0, 1, 0, 2, 7, 7])]),
        example(0, (&[], &[]), &[(15, &[0, 2, 1])]),
        example(0, (&[], &[]), &[]),
    ]
}
