//! What clients were told, against a map for each of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use proptest::prelude::*;
use route_traffic::hash::Hashes;
use route_traffic::heard::Heard;
use route_traffic::known::{Expected, Known};
use route_traffic::source::{Evpn, Members, Synthetic};
use route_traffic::{Change, Fed, Sharing, pack};

use super::device::CLUSTER;

const ROUTES: u32 = 200;

fn known(sharing: Sharing) -> Arc<Known> {
    let start = "10.0.0.0".parse().unwrap();
    let routes = Arc::new(Synthetic::new(start, ROUTES, 8).unwrap());
    let fed = Fed::new(routes, 3, sharing).unwrap();
    let change = Change::Reflected { cluster: CLUSTER };
    Arc::new(Known::new(fed, Hashes::new([1, 2, 3, 4]), change, vec![11, 12, 13]))
}

/// An UPDATE that announces routes with a view, or withdraws them.
fn message(known: &Known, view: Option<u32>, routes: &[u32]) -> Vec<u8> {
    let (mut nlri, mut wire) = (Vec::new(), Vec::new());
    routes.iter().for_each(|route| known.fed().routes().wire(*route, &mut nlri));
    let mut body = Vec::new();
    match view {
        Some(view) => {
            let set = known.attributes(view);
            // In another order than feeders have them.
            let mut all: Vec<_> = route_traffic::attributes::Attributes::new(&set).collect();
            all.rotate_left(view as usize % 3);
            all.iter().for_each(|one| route_traffic::attributes::write_one(*one, &mut wire));
            body.extend([0, 0]);
            body.extend((wire.len() as u16).to_be_bytes());
            body.extend(wire);
            body.extend(nlri);
        }
        None => {
            body.extend((nlri.len() as u16).to_be_bytes());
            body.extend(nlri);
            body.extend([0, 0]);
        }
    }
    let mut message = vec![0xff; 16];
    message.extend((body.len() as u16 + 19).to_be_bytes());
    message.push(2);
    message.extend(body);
    message
}

const KEEPALIVE: [u8; 19] = {
    let mut bytes = [0xff; 19];
    bytes[16] = 0;
    bytes[17] = 19;
    bytes[18] = 4;
    bytes
};

/// What a client is told: routes from one on, with a view or none.
type Told = (u32, u32, Option<u32>);

/// What of it is another one's: all of it as told, in pairs turned around, with one left out, or
/// with a new session in the middle.
#[derive(Clone, Copy, Debug)]
enum Way {
    Same,
    Turned,
    Without(usize),
    Anew(usize),
}

fn ways() -> impl Strategy<Value = Way> {
    prop_oneof![
        3 => Just(Way::Same),
        1 => Just(Way::Turned),
        1 => (0..40_usize).prop_map(Way::Without),
        1 => (0..40_usize).prop_map(Way::Anew),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn hashes_are_those_of_plain_maps(
        told in prop::collection::vec(
            (0..ROUTES - 20, 1..20_u32, prop::option::weighted(0.8, 0..24_u32)), 1..40),
        ways in prop::collection::vec(ways(), 1..7),
        pieces in prop::collection::vec(1..700_usize, 1..30),
        is_same in any::<bool>(),
    ) {
        let sharing = if is_same { Sharing::Same { offset: 1 } } else { Sharing::Split };
        let known = known(sharing);
        let views = known.fed().views();
        let told: Vec<Told> = told
            .into_iter()
            .map(|(first, count, view)| (first, count, view.map(|view| view % views)))
            .collect();
        let mut heard = Heard::new(Arc::clone(&known), ways.len(), 1 << 24);
        let mut streams: Vec<(Vec<u8>, Option<usize>)> = Vec::new();
        let mut maps: Vec<BTreeMap<u32, u32>> = Vec::new();
        for (client, way) in ways.iter().enumerate() {
            heard.begin_session(client);
            let mut order: Vec<usize> = (0..told.len()).collect();
            let mut anew = None;
            match way {
                Way::Same => {}
                Way::Turned => order.chunks_mut(2).for_each(<[usize]>::reverse),
                Way::Without(at) => { order.remove(at % told.len()); }
                Way::Anew(at) => anew = Some(at % told.len()),
            }
            let (mut stream, mut map, mut anew_at) = (Vec::new(), BTreeMap::new(), None);
            for at in order {
                if anew == Some(at) {
                    // Within a message.
                    stream.extend(&message(&known, Some(0), &[1, 2, 3])[..25]);
                    anew_at = Some(stream.len());
                    map.clear();
                }
                let (first, count, view) = told[at];
                let routes: Vec<u32> = (first..first + count).collect();
                stream.extend(message(&known, view, &routes));
                if (at + client) % 5 == 0 {
                    stream.extend(KEEPALIVE);
                }
                for route in routes {
                    match view {
                        Some(view) => map.insert(route, view),
                        None => map.remove(&route),
                    };
                }
            }
            streams.push((stream, anew_at));
            maps.push(map);
        }
        // All in turn, in pieces of any length; who has little goes ahead of others for a while.
        let mut places = vec![0; ways.len()];
        let mut turn = 0;
        while streams.iter().zip(&places).any(|(stream, at)| *at < stream.0.len()) {
            let client = (turn * 7 + turn / 3) % ways.len();
            let (stream, anew_at) = &streams[client];
            let start = places[client];
            let mut end = (start + pieces[turn % pieces.len()]).min(stream.len());
            if let Some(at) = anew_at.filter(|at| start < *at && *at < end) {
                end = at;
            }
            if *anew_at == Some(start) {
                heard.begin_session(client);
            }
            heard.receive(client, &stream[start..end], Instant::now()).unwrap();
            places[client] = end;
            turn += 1;
        }
        let mut scratch = Vec::new();
        for (client, map) in maps.iter().enumerate() {
            let hash = map.iter().fold(0_u128, |hash, (route, view)| {
                hash.wrapping_add(known.hash(*route, *view, &mut scratch))
            });
            prop_assert_eq!(heard.hash(client), hash, "client {} {:?}", client, ways[client]);
        }
    }

    #[test]
    fn no_bytes_are_more_than_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0..400_usize) {
        let known = known(Sharing::Split);
        let mut heard = Heard::new(Arc::clone(&known), 2, 1 << 20);
        heard.begin_session(0);
        heard.begin_session(1);
        let mut stream = message(&known, Some(1), &[4, 5, 6]);
        let _ = heard.receive(0, &stream, Instant::now());
        let at = cut % stream.len();
        for (place, byte) in bytes.iter().enumerate() {
            if let Some(there) = stream.get_mut(at + place) {
                *there = *byte;
            }
        }
        let _ = heard.receive(1, &stream, Instant::now());
        let _ = heard.receive(1, &bytes, Instant::now());
    }
}

#[test]
fn clients_in_step_have_no_tables_of_their_own() {
    let known = known(Sharing::Split);
    let mut heard = Heard::new(Arc::clone(&known), 3, 1 << 20);
    (0..3).for_each(|client| heard.begin_session(client));
    let mut stream = Vec::new();
    for route in 0..ROUTES {
        stream.extend(message(&known, known.fed().routes().set(route).into(), &[route]));
    }
    let expected = Expected::new(Arc::clone(&known), Arc::new(|_, _| Some(0)));
    for client in 0..3 {
        heard.expect(client, Some(expected.of(None, None).0));
        let mut with_keepalives = Vec::new();
        with_keepalives.extend(KEEPALIVE);
        with_keepalives.extend(&stream);
        for piece in with_keepalives.chunks(1 + client * 1000) {
            heard.receive(client, piece, Instant::now()).unwrap();
        }
        assert!(heard.done(client).is_some(), "client {client}");
        assert_eq!(heard.counts(client).routes, u64::from(ROUTES));
    }
    assert_eq!(heard.own_tables(), 0);
    heard.receive(2, &message(&known, None, &[7]), Instant::now()).unwrap();
    assert!(heard.done(2).is_none());
    let words = heard.difference(2, &expected, (None, None)).unwrap();
    assert_eq!(words, "1 route missing (10.0.0.7/32)");
    heard.receive(1, &message(&known, Some(7), &[7]), Instant::now()).unwrap();
    assert_eq!(heard.own_tables(), 1);
    let words = heard.difference(1, &expected, (None, None)).unwrap();
    assert!(
        words.starts_with("1 route with other attributes (10.0.0.7/32: AS_PATH is "),
        "{words}"
    );
    assert_eq!(heard.difference(0, &expected, (None, None)), None);
}

#[test]
fn a_label_or_network_identifier_is_part_of_a_route() {
    let routes = Arc::new(Evpn::new(Members::new(4, 3, 2, 1).unwrap(), 50).unwrap());
    let fed = Fed::new(routes, 3, Sharing::Split).unwrap();
    let change = Change::Nothing;
    let known = Arc::new(Known::new(fed, Hashes::new([4, 3, 2, 1]), change, vec![1, 2, 3]));
    let mut heard = Heard::new(Arc::clone(&known), 1, 1 << 20);
    heard.begin_session(0);
    let expected = Expected::new(Arc::clone(&known), Arc::new(|_, _| Some(0)));
    let whole = pack::tables(known.fed()).unwrap().concat();
    heard.expect(0, Some(expected.of(None, None).0));
    heard.receive(0, &whole, Instant::now()).unwrap();
    assert!(heard.done(0).is_some());
    let mut wire = Vec::new();
    known.fed().routes().wire(0, &mut wire);
    let at = whole.windows(wire.len()).position(|bytes| bytes == wire).unwrap();
    let len = usize::from(u16::from_be_bytes([whole[16], whole[17]]));
    let mut first = whole[..len].to_vec();
    first[at + wire.len() - 1] ^= 1;
    heard.receive(0, &first, Instant::now()).unwrap();
    assert!(heard.done(0).is_none());
    let words = heard.difference(0, &expected, (None, None)).unwrap();
    assert!(words.contains("1 route with other attributes (mac ") && words.contains("label"));
    heard.receive(0, &whole[..len], Instant::now()).unwrap();
    assert!(heard.done(0).is_some(), "it is as it was again");
}

#[test]
fn what_is_kept_of_a_flood_is_bounded() {
    let known = known(Sharing::Split);
    let mut heard = Heard::new(Arc::clone(&known), 1, 100_000);
    heard.begin_session(0);
    let mut outcome = Ok(());
    for number in 0_u32..100_000 {
        let mut one = message(&known, Some(number % 8), &[number % ROUTES]);
        let len = one.len();
        // Routes that nobody has told.
        one[len - 4..].copy_from_slice(&(0x2000_0000 + number).to_be_bytes());
        outcome = heard.receive(0, &one, Instant::now());
        if outcome.is_err() {
            break;
        }
    }
    assert!(outcome.unwrap_err().contains("more than 100000 bytes"));
}
