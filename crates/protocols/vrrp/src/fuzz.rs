//! The body of the fuzz target: any frames and packets at any times, to a machine with a few
//! virtual routers.

use std::net::IpAddr;
use std::time::Duration;

use protocol_kit::{Arrival, Input, Interface, Machine, Socket, Time};

use crate::config::{Config, Key};
use crate::control::{Command, View};
use crate::counters::Counters;
use crate::frames;
use crate::machine::Vrrp;
use crate::packet::{self, Addresses, Coverage, Ends, Packet};
use crate::router::State;

/// Feeds a machine with what the bytes describe: a length, a kind, steps of time, and then a frame
/// or the payload of a packet. It panics when the machine breaks a promise: what is no
/// advertisement changes nothing but a counter, the owner of the addresses stays active, outputs
/// are few, and what may be accepted is written back.
pub fn fuzz(bytes: &[u8]) {
    for ends in [ends(false), ends(true)] {
        packet::law(bytes, ends);
        packet::law(&sealed(bytes, ends), ends);
    }
    let mut vrrp = Vrrp::new(4, 0);
    let mut now = Time::ZERO;
    for (number, config) in (0..).zip(configs()) {
        vrrp.input(now, Input::Command(Command::Add(number, config)));
    }
    while vrrp.poll(now).is_some() {}
    let mut rest = bytes;
    while let Some(([len, kind, steps], behind)) = rest.split_first_chunk() {
        let (bytes, behind) = behind.split_at(behind.len().min(usize::from(*len)));
        rest = behind;
        now = now.after(Duration::from_millis(u64::from(*steps)));
        // What time alone does is done before.
        settle(&mut vrrp, now);
        let (socket, interface) = (Socket(0), Interface(1));
        let is_v6 = kind & 1 != 0;
        let Ends { from, to } = ends(is_v6);
        let before = (views(&vrrp), vrrp.counters());
        let payload = sealed(bytes, ends(is_v6));
        let (ttl, payload) = (255 - (kind >> 6), if kind & 4 == 0 { &payload } else { bytes });
        let arrival = match kind & 2 {
            0 => Arrival::Frame { socket, interface, bytes },
            _ => Arrival::Packet { socket, interface, from, to, ttl, bytes: payload },
        };
        vrrp.input(now, Input::Arrival(arrival));
        let (views_now, counters) = (views(&vrrp), vrrp.counters());
        if counters.received == before.1.received {
            assert_eq!(views_now, before.0, "only an advertisement changes something");
            assert_eq!(dropped(&counters), dropped(&before.1) + 1, "for one reason");
        }
        settle(&mut vrrp, now);
        assert!(vrrp.deadline().is_some_and(|deadline| deadline > now));
    }
    assert_eq!(vrrp.view(3).map(|view| view.state), Some(State::Active), "the owner");
}

/// Inputs of two advertisements a step of time apart: of several priorities, to each kind of
/// router.
pub fn examples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (config, is_framed) in configs().into_iter().zip([true, true, false, true]) {
        let Key { vrid, is_v6, .. } = config.key;
        let octets = packet::octets(&config.addresses);
        for priority in [0, 1, 150, 255] {
            let addresses = Addresses::new(is_v6, &octets);
            let packet = Packet { vrid, priority, interval_cs: 2, addresses };
            let Ends { from, to } = ends(is_v6);
            let to = if is_framed { frames::group(is_v6) } else { to };
            let ends = Ends { from, to };
            let mut bytes = packet.emit(ends, Coverage::Message);
            if is_framed {
                bytes = frames::advertisement(config.key.mac(), ends, &bytes);
            }
            let kind = u8::from(is_v6) | u8::from(!is_framed) << 1;
            let one = [&[bytes.len() as u8, kind, 20][..], &bytes].concat();
            all.push([&one[..], &one].concat());
        }
    }
    all
}

/// A router of each family with the group, one with a peer, and an owner.
fn configs() -> [Config; 4] {
    let config = |vrid, is_v6: bool, address: &[IpAddr]| {
        let key = Key { interface: Interface(1), vrid, is_v6 };
        let mut config = Config::new(key, ends(is_v6).to, address.to_vec());
        config.interval = Duration::from_millis(10);
        config
    };
    let v6: IpAddr = [0xfe80, 0, 0, 0, 0, 0, 0, 9].into();
    let mut unicast = config(2, false, &[[192, 0, 2, 9].into()]);
    unicast.peers = vec![ends(false).from];
    let mut owner = config(3, true, &[v6]);
    owner.priority = 255;
    let v4: [IpAddr; 2] = [[192, 0, 2, 10].into(), [192, 0, 2, 11].into()];
    [config(1, false, &v4), config(1, true, &[v6]), unicast, owner]
}

/// Between which addresses packets go to the machine.
fn ends(is_v6: bool) -> Ends {
    match is_v6 {
        false => Ends { from: [192, 0, 2, 1].into(), to: [192, 0, 2, 2].into() },
        true => Ends {
            from: [0xfe80, 0, 0, 0, 0, 0, 0, 1].into(),
            to: [0xfe80, 0, 0, 0, 0, 0, 0, 2].into(),
        },
    }
}

/// The bytes with a checksum that is right, so that what lies behind it is reached.
fn sealed(bytes: &[u8], ends: Ends) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= packet::HEADER_LEN {
        packet::seal(&mut bytes, ends, Coverage::Message);
    }
    bytes
}

fn settle(vrrp: &mut Vrrp, now: Time) {
    let outputs = std::iter::from_fn(|| vrrp.poll(now)).take(OUTPUTS_MAX).count();
    assert!(outputs < OUTPUTS_MAX, "an arrival and a step of time have that many outputs");
}

fn views(vrrp: &Vrrp) -> [Option<View>; 4] {
    [0, 1, 2, 3].map(|number| vrrp.view(number))
}

fn dropped(counters: &Counters) -> u64 {
    let Counters { malformed, checksum, ttl, version, destination, unknown, .. } = *counters;
    let Counters { stranger, looped, idle, .. } = *counters;
    malformed + checksum + ttl + version + destination + unknown + stranger + looped + idle
}

/// More outputs than one arrival may have.
const OUTPUTS_MAX: usize = 64;
