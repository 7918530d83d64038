//! The body of the fuzz target: any stream in pieces of any length, to a machine with little room.

use std::collections::BTreeSet;
use std::time::Duration;

use protocol_kit::{Arrival, Departure, Input, Machine, Output, Socket, Time};
use protocol_netlink::{Key, RouteChange};

use crate::machine::{Config, Fpm};
use crate::told::Report;

/// Feeds two machines with a stream, the first one at once and the second one in pieces, whose
/// length the first byte tells. It panics when they say different things, hold more than they may,
/// withdraw what was not told, or keep something that ought to be gone.
pub fn fuzz(bytes: &[u8]) {
    let Some((piece, stream)) = bytes.split_first() else { return };
    let whole = said(stream, stream.len().max(1));
    let pieces = said(stream, usize::from(*piece) + 1);
    assert_eq!(whole, pieces, "what is said depends on the pieces");
    let (mut routes, mut next_hops) = (BTreeSet::new(), BTreeSet::new());
    for report in whole {
        match report {
            Report::Routing(RouteChange::Route(route)) => {
                routes.insert((route.table, route.prefix));
            }
            Report::Routing(RouteChange::Withdrawn(Key { table, prefix })) => {
                assert!(routes.remove(&(table, prefix)))
            }
            Report::Routing(RouteChange::NextHop { id, .. })
            | Report::Routing(RouteChange::Group { id, .. }) => drop(next_hops.insert(id)),
            Report::Routing(RouteChange::NextHopGone { id }) => assert!(next_hops.remove(&id)),
            _ => {}
        }
        assert!(routes.len() <= ROUTES_MAX as usize && next_hops.len() <= NEXT_HOPS_MAX as usize);
    }
    assert!(routes.is_empty() && next_hops.is_empty(), "all was lost, and nothing is kept");
}

/// What a machine says of a stream and of its end.
fn said(stream: &[u8], piece: usize) -> Vec<Report> {
    let config =
        Config { routes_max: ROUTES_MAX, next_hops_max: NEXT_HOPS_MAX, ..Config::default() };
    let keep = config.keep;
    let mut fpm = Fpm::new(config, 1).expect("little memory");
    let (socket, mut now, mut said) = (Socket(1), Time::ZERO, Vec::new());
    let connected = Arrival::Connected { socket, local: None, peer: None };
    fpm.input(now, Input::Arrival(connected));
    let mut is_open = true;
    for bytes in stream.chunks(piece) {
        // A driver hands nothing over of what was closed.
        if is_open {
            fpm.input(now, Input::Arrival(Arrival::Bytes { socket, bytes }));
        }
        drain(&mut fpm, now, &mut said, &mut is_open);
        now = now.after(Duration::from_millis(1));
    }
    if is_open {
        fpm.input(now, Input::Arrival(Arrival::Finished { socket }));
    }
    drain(&mut fpm, now.after(keep), &mut said, &mut is_open);
    assert_eq!((fpm.held(), fpm.deadline()), ([0, 0], None));
    said
}

fn drain(fpm: &mut Fpm, now: Time, said: &mut Vec<Report>, is_open: &mut bool) {
    while let Some(output) = fpm.poll(now) {
        match output {
            Output::Report(report) => said.push(report),
            Output::Departure(Departure::Close { .. }) => *is_open = false,
            Output::Departure(_) => {}
        }
    }
}

/// Streams of zebra 8.4 with a length of the pieces: with next hops by their numbers and without,
/// with two families, a blackhole, another table, an update and a withdrawal.
pub fn examples() -> Vec<Vec<u8>> {
    let frames: Vec<Vec<u8>> = ZEBRA.iter().map(|frame| octets(frame)).collect();
    let with = |piece: u8, frames: &[Vec<u8>]| [&[piece], &frames.concat()[..]].concat();
    let mut all: Vec<_> = (0..frames.len()).map(|at| with(255, &frames[at..=at])).collect();
    all.extend([with(6, &frames), with(255, &frames)]);
    all
}

/// The bytes that hexadecimal digits stand for.
fn octets(digits: &str) -> Vec<u8> {
    let octet = |pair: &[u8]| {
        std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    digits.as_bytes().chunks(2).filter_map(octet).collect()
}
/// Frames of zebra 8.4.4, as hexadecimal digits.
const ZEBRA: &[&str] = &[
    // A next hop by gateway and interface.
    "010100343000000068000105000000001e314ec402000b00000000000800010014000000080006000a090002\
     0800050003000000",
    // One by interface alone.
    "0101002c2800000068000105000000001e314ec402000b000000000008000100130000000800050003000000",
    // One of the other family.
    "010100403c00000068000105000000001e314ec40a000b0000000000080001001800000014000600fd000009\
     0000000000000000000000020800050003000000",
    // One whose gateway is on link.
    "010100343000000068000105000000001e314ec402000b00040000000800010028000000080006000a090006\
     0800050003000000",
    // One that is a blackhole.
    "010100282400000068000105000000001e314ec402000b0000000000080001001000000004000400",
    // A group.
    "010100383400000068000105000000001e314ec400000b000000000008000100150000001400020014000000\
     000000001600000000000000",
    // A route by a number.
    "010100383400000018000105000000001e314ec402100000fec4000100000000080001000a01000008000600\
     1400000008001e0014000000",
    // One of the other family.
    "010100444000000018000104000000001e314ec40a300000fec40001000000001400010020010db800010000\
     0000000000000000080006001400000008001e0018000000",
    // A blackhole.
    "010100302c00000018000105000000001e314ec402100000fec4000600000000080001000a03000008000600\
     14000000",
    // An unreachable one.
    "010100302c00000018000105000000001e314ec402100000fec4000700000000080001000a04000008000600\
     14000000",
    // An update: a withdrawal, and the new route behind it.
    "010100642c00000019000104000000001e314ec402100000fec4000000000000080001000a01000008000600\
     140000003400000018000105000000001e314ec402100000fec4000100000000080001000a01000008000600\
     1400000008001e0025000000",
    // A route of another table.
    "010100743400000019000104000000001e314ec40210000000c4000000000000080001000a07000008000600\
     1400000008000f00e80300003c00000018000105000000001e314ec40210000000c400010000000008000100\
     0a070000080006001400000008000f00e803000008001e0026000000",
    // A withdrawal.
    "010100302c00000019000104000000001e314ec402100000fec4000000000000080001000a06000008000600\
     14000000",
    // A next hop that is gone.
    "010100242000000069000104000000001e314ec400000000000000000800010013000000",
    // Without numbers: a route with one hop.
    "010100403c0000001800010500000000afc2fbee02100000fec4000100000000080001000a01000008000600\
     14000000080005000a0900020800040003000000",
    // One with two.
    "01010054500000001800010500000000afc2fbee02100000fec4000100000000080001000a02000008000600\
     14000000240009801000000003000000080005000a0900021000000003000000080005000a090003",
    // One of the other family with two.
    "01010078740000001800010400000000afc2fbee0a300000fec40001000000001400010020010db800020000\
     000000000000000008000600140000003c0009801c0000000300000014000500fd0000090000000000000000\
     000000021c0000000300000014000500fd000009000000000000000000000003",
    // One at an interface.
    "01010038340000001800010500000000afc2fbee02100000fec4000100000000080001000a06000008000600\
     140000000800040003000000",
    // One whose gateway is on link.
    "010100403c0000001800010500000000afc2fbee02100000fec4000104000000080001000a0c000008000600\
     14000000080005000a0900060800040003000000",
];

/// Room of the machine.
const ROUTES_MAX: u32 = 8;

/// As [`ROUTES_MAX`], of next hops and groups.
const NEXT_HOPS_MAX: u32 = 8;
