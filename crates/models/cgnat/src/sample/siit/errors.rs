//! ICMP errors about packets that were translated without sessions (RFC 7915 sections 4.2 and 5.2).

use wire::icmp::{v4, v6};
use wire::tcp;

use super::super::build;
use super::super::ipv6::{datagram, echo, error, segment};
use super::super::steps::Sample;
use super::places::Places;

/// From IPv6, by hosts and by routers that have no other address.
pub(super) fn from_six(sample: &mut Sample, places: &Places) {
    let (six, four) = (places.six(0).1, places.four(0).1);
    let routers = [six, places.nobody, four];
    for quoted in [
        datagram((four, 53), (six, 5000), 40),
        segment((four, 80), (six, 5001), (tcp::FLAG_ACK, &[]), &[]),
        echo(four, six, v6::ECHO_REQUEST, 7),
    ] {
        let mut about = |what, said, from, len: usize| {
            let quoted = &quoted[..len.min(quoted.len())];
            sample.six(places, what, &error((from, four), said, quoted));
        };
        for from in routers {
            about("from IPv6, no more hops", (v6::TIME_EXCEEDED, 0, 0), from, 48);
            about("from IPv6, what is quoted is cut", (v6::TIME_EXCEEDED, 0, 0), from, 43);
        }
        for code in 0..7 {
            about("from IPv6, unreachable", (v6::UNREACHABLE, code, 0), six, 60);
        }
        for mtu in [0, 1280, 1480, 9000] {
            about("from IPv6, too big", (v6::TOO_BIG, 0, mtu), places.nobody, 60);
        }
        for (code, pointer) in
            [(0, 0), (0, 4), (0, 6), (0, 7), (0, 8), (0, 24), (0, 40), (1, 6), (2, 0)]
        {
            let what = (v6::PARAMETER_PROBLEM, code, pointer);
            about("from IPv6, a parameter problem", what, six, 48);
        }
    }
    let unreachable = (v6::UNREACHABLE, v6::PORT, 0);
    let whole = datagram((four, 53), (six, 5000), 40);
    for (about, quoted) in [
        ("from IPv6, an error that quotes nothing", Vec::new()),
        ("from IPv6, an error that quotes half a header", whole[..30].to_vec()),
        ("from IPv6, an error about nobody", datagram((four, 53), (places.nobody, 5000), 9)),
        ("from IPv6, an error of nobody", datagram((places.nobody, 53), (six, 5000), 9)),
        ("from IPv6, an error about an error", error((four, six), unreachable, &whole)),
    ] {
        sample.six(places, about, &error((six, four), unreachable, &quoted));
    }
    for (at, value) in [(42, 0x55), (7, 1)] {
        let mut packet = error((six, four), unreachable, &whole);
        packet[at] = value;
        sample.six(places, "from IPv6, a damaged error, and one at its last hop", &packet);
    }
    let to_nobody = error((six, places.nobody), unreachable, &whole);
    sample.six(places, "from IPv6, an error to nobody", &to_nobody);
    let long = datagram((four, 53), (six, 5000), 1100);
    sample.six(places, "from IPv6, a long error", &error((six, four), unreachable, &long));
}

/// From IPv4.
pub(super) fn from_four(sample: &mut Sample, places: &Places) {
    let (six, four) = (places.six(0).0, places.four(0).0);
    for quoted in [
        build::datagram((six, 5000), (four, 53)),
        build::segment((six, 5001), (four, 80), tcp::FLAG_ACK),
        build::query(six, four, v4::ECHO_REQUEST, 7),
        build::query(six, four, v4::ECHO_REPLY, 7),
    ] {
        let mut about = |what, (kind, code, rest): (u8, u8, u32), len: usize| {
            let quoted = &quoted[..len.min(quoted.len())];
            let mut packet = build::error(four, six, kind, quoted);
            packet[21] = code;
            packet[24..28].copy_from_slice(&rest.to_be_bytes());
            build::make_right(&mut packet, true);
            sample.four(places, what, &packet);
        };
        for code in 0..17 {
            about("from IPv4, unreachable", (v4::UNREACHABLE, code, 0), 28);
        }
        for rest in [0, 68, 1280, 1400, 9000] {
            about("from IPv4, too big", (v4::UNREACHABLE, v4::TOO_BIG, rest), 40);
        }
        for pointer in [0, 1, 2, 8, 9, 10, 12, 19, 20] {
            let what = (v4::PARAMETER_PROBLEM, 0, pointer << 24);
            about("from IPv4, a parameter problem", what, 28);
        }
        about("from IPv4, no more hops", (v4::TIME_EXCEEDED, 0, 0), 28);
        about("from IPv4, what is quoted is cut", (v4::TIME_EXCEEDED, 0, 0), 24);
    }
    let whole = build::datagram((six, 5000), (four, 53));
    let error = |quoted: &[u8]| build::error(four, six, v4::UNREACHABLE, quoted);
    for (about, quoted) in [
        ("from IPv4, an error that quotes nothing", Vec::new()),
        ("from IPv4, an error that quotes half a header", whole[..12].to_vec()),
        ("from IPv4, an error about no host", {
            build::datagram((six, 5000), ([224, 0, 0, 1].into(), 5))
        }),
        ("from IPv4, an error about an error", error(&whole)),
    ] {
        sample.four(places, about, &error(&quoted));
    }
    let mut last = error(&whole);
    model_kit::build::set(8, 1)(&mut last);
    sample.four(places, "from IPv4, an error at its last hop", &last);
    let mut wrong = error(&whole);
    wrong[22] ^= 1;
    sample.four(places, "from IPv4, a damaged error", &wrong);
}
