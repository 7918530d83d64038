//! What stands in front of packets: Ethernet, tags, PPPoE.

use function_bng::config::{Line, OuterTag, Pppoe};
use wire::bytes::put_u16;
use wire::{MacAddr, ethernet};

use super::build::{self, of_session, on_line, pppoe_frame};
use super::steps::Sample;
use crate::frames::{PPP_IPV4, PPP_IPV6, TYPE_PPPOE};

/// Ethernet frames that are no use.
pub(super) fn ethernet(sample: &mut Sample) {
    let config = sample.config.clone();
    let of = |to: MacAddr, ether_type: u16| {
        let packet = build::udp(own(sample), build::server(true), 60);
        on_line(&config, sample.ipoe.line, [to, sample.ipoe.mac.0], ether_type, &packet)
    };
    let (mine, ipv4) = (config.access_mac, ethernet::TYPE_IPV4);
    let good = of(mine, ipv4);
    let frames = [
        ("one byte", vec![0x02]),
        ("an Ethernet header cut short", good[..13].to_vec()),
        ("an Ethernet header alone", good[..14].to_vec()),
        ("tags cut short", good[..good.len().min(17)].to_vec()),
        ("tags and a type cut short", good[..good.len().min(21)].to_vec()),
        ("for another station", of(MacAddr([2, 0, 0, 0, 9, 9]), ipv4)),
        ("for the station of the other port", of(config.core_mac, ipv4)),
        ("IPv4 for all stations", of(MacAddr::BROADCAST, ipv4)),
        ("for a group of stations", of(MacAddr([1, 0, 0x5e, 0, 0, 9]), ipv4)),
        ("an unknown type", of(mine, 0x88cc)),
        ("a length instead of a type", of(mine, 100)),
        ("an IPv6 type around IPv4", of(mine, ethernet::TYPE_IPV6)),
    ];
    frames.into_iter().for_each(|(about, frame)| sample.access(about, frame));
    let packet = build::udp(build::server(true), own(sample), 60);
    let of = |to: MacAddr, ether_type: u16| {
        let from = crate::catalogue::ROUTER_MAC;
        on_line(&config, Line { outer: 0, inner: 0 }, [to, from], ether_type, &packet)
    };
    let (mine, good) = (config.core_mac, of(config.core_mac, ipv4));
    let mut tagged = good.clone();
    tagged.splice(12..12, [0x81, 0, 0x0f, 0xfe]);
    let mut service = good.clone();
    service.splice(12..12, [0x88, 0xa8, 0, 7]);
    let frames = [
        ("from the Internet: one byte", vec![0x02]),
        ("from the Internet: an Ethernet header cut short", good[..13].to_vec()),
        ("from the Internet: an Ethernet header alone", good[..14].to_vec()),
        ("from the Internet: for another station", of(config.access_mac, ipv4)),
        ("from the Internet: IPv4 for all stations", of(MacAddr::BROADCAST, ipv4)),
        ("from the Internet: an unknown type", of(mine, 0x88cc)),
        ("from the Internet: PPPoE", of(mine, TYPE_PPPOE)),
        ("from the Internet: a tag that nobody has", tagged.clone()),
        ("from the Internet: a tag cut short", tagged[..17].to_vec()),
        ("from the Internet: a tag of a service", service),
        ("from the Internet: an IPv6 type around IPv4", of(mine, ethernet::TYPE_IPV6)),
    ];
    frames.into_iter().for_each(|(about, frame)| sample.core(about, frame));
}

/// Tags of every form.
pub(super) fn tags(sample: &mut Sample) {
    let config = sample.config.clone();
    let packet = build::udp(own(sample), build::server(true), 60);
    let macs = [config.access_mac, sample.ipoe.mac.0];
    for (outer, inner) in [(0, 0), (0, 77), (77, 78), (4095, 78), (77, 4095), (0, 4095)] {
        let line = Line { outer, inner };
        let frame = on_line(&config, line, macs, ethernet::TYPE_IPV4, &packet);
        sample.access("on another line", frame);
    }
    let tags: [(&str, Vec<u16>); 9] = [
        ("a tag of priority", vec![0x8100, 0]),
        ("two tags, the first of priority", vec![0x88a8, 0, 0x8100, 7]),
        ("two tags, the second of priority", vec![0x88a8, 7, 0x8100, 0]),
        ("two tags of 802.1Q", vec![0x8100, 7, 0x8100, 8]),
        ("two tags of 802.1ad", vec![0x88a8, 7, 0x8100, 8]),
        ("a tag of the service alone", vec![0x88a8, 7]),
        ("two tags of the service", vec![0x88a8, 7, 0x88a8, 8]),
        ("the tags in the other order", vec![0x8100, 7, 0x88a8, 8]),
        ("three tags", vec![0x88a8, 7, 0x8100, 8, 0x8100, 9]),
    ];
    for (about, words) in tags {
        let tags = words.into_iter().map(u16::to_be_bytes).collect::<Vec<_>>().concat();
        let kind = ethernet::TYPE_IPV4.to_be_bytes();
        let frame = [&macs[0].0[..], &macs[1].0, &tags, &kind, &packet].concat();
        for len in [13, 15, 17, 19, 21] {
            sample.access("tags cut anywhere", frame[..len].to_vec());
        }
        sample.access(about, frame);
    }
    // Priorities change nothing.
    for session in sample.visitors() {
        let mut frame = build::up(&config, &session, &packet_of(session.ipv4));
        if frame[12] == 0x81 || frame[12] == 0x88 {
            frame[14] |= 0xe0;
        }
        sample.access("tags with a priority", frame);
    }
    if config.outer_tag == OuterTag::Service {
        sample.ipoe_on_all_forms();
    }
}

impl Sample {
    /// The first visitor moves from line to line.
    fn ipoe_on_all_forms(&mut self) {
        let before = self.ipoe;
        for (outer, inner) in [(0, 0), (0, 4094), (4092, 4092)] {
            let moved = function_bng::config::Session { line: Line { outer, inner }, ..before };
            self.update(function_bng::Update::ChangeSession(moved));
            self.up("on the line before", &before, |_| {});
            self.up("on the line to which the session has moved", &moved, |_| {});
            self.down("to the line to which the session has moved", &moved, |_| {});
        }
        self.update(function_bng::Update::ChangeSession(before));
    }
}

/// Discovery, sessions that are there and not, and what of them is for the control plane.
pub(super) fn pppoe(sample: &mut Sample) {
    discovery(sample);
    frames_of_sessions(sample);
}

/// What begins and ends sessions, and what only servers say of that.
fn discovery(sample: &mut Sample) {
    let (config, session) = (sample.config.clone(), sample.pppoe);
    let Some(Pppoe { id, .. }) = session.pppoe else { return };
    const DISCOVERY: u16 = 0x8863;
    let discovery = |to: MacAddr, code: u8, id: u16, payload: &[u8]| {
        let words = [id, payload.len() as u16].map(u16::to_be_bytes).concat();
        let content = [&[0x11, code][..], &words, payload].concat();
        on_line(&config, session.line, [to, session.mac.0], DISCOVERY, &content)
    };
    let (mine, tags) = (config.access_mac, [1, 1, 0, 0]);
    let mut version = discovery(mine, 0x09, 0, &tags);
    let at = version.len() - 10;
    version[at] = 0x21;
    let mut cut = discovery(mine, 0x19, 0, &tags);
    cut.pop();
    let short = of_session(&config, &session, DISCOVERY, &[0x11, 0x09, 0, 0, 0]);
    let frames = [
        ("PADI", discovery(MacAddr::BROADCAST, 0x09, 0, &tags)),
        ("PADR", discovery(mine, 0x19, 0, &tags)),
        ("PADT", discovery(mine, 0xa7, id, &tags)),
        ("discovery without tags", discovery(mine, 0x09, 0, &[])),
        ("discovery of an unknown code", discovery(mine, 0x55, 0, &tags)),
        ("PADO from a subscriber", discovery(mine, 0x07, 0, &tags)),
        ("PADS from a subscriber", discovery(mine, 0x65, 1, &tags)),
        ("discovery for another station", discovery(MacAddr([2, 9, 9, 9, 9, 9]), 0x09, 0, &tags)),
        ("discovery of another version", version),
        ("discovery cut short", cut),
        ("a header of discovery cut short", short),
    ];
    frames.into_iter().for_each(|(about, frame)| sample.access(about, frame));
}

/// Frames of the visitor's session and of others.
fn frames_of_sessions(sample: &mut Sample) {
    let (config, session) = (sample.config.clone(), sample.pppoe);
    let Some(Pppoe { id, .. }) = session.pppoe else { return };
    let packet = packet_of(session.ipv4);
    let content = pppoe_frame(0, id, PPP_IPV4, &packet);
    let edit = |at: usize, value: u16| {
        let mut content = content.clone();
        put_u16(&mut content, at, value);
        of_session(&config, &session, TYPE_PPPOE, &content)
    };
    let len = packet.len() as u16 + 2;
    let stranger = [config.access_mac, MacAddr([2, 0xee, 9, 9, 9, 9])];
    let all = [MacAddr::BROADCAST, session.mac.0];
    let elsewhere = Line { outer: 0, inner: 4091 };
    let own = [config.access_mac, session.mac.0];
    let frames = [
        ("PPPoE: a packet", edit(0, 0x1100)),
        ("PPPoE: another version", edit(0, 0x1200)),
        ("PPPoE: another code", edit(0, 0x1101)),
        ("PPPoE: session zero", edit(2, 0)),
        ("PPPoE: a session that is not there", edit(2, 65_533)),
        ("PPPoE: no protocol", edit(4, 1)),
        ("PPPoE: a protocol alone", edit(4, 2)),
        ("PPPoE: a length below the packet's", edit(4, len - 1)),
        ("PPPoE: a length beyond the frame", edit(4, len + 1)),
        ("PPPoE: LCP", edit(6, 0xc021)),
        ("PPPoE: CHAP", edit(6, 0xc223)),
        ("PPPoE: IPCP", edit(6, 0x8021)),
        ("PPPoE: a protocol that nobody knows", edit(6, 0x4242)),
        ("PPPoE: IPv6 around IPv4", edit(6, PPP_IPV6)),
        (
            "PPPoE: from another station",
            on_line(&config, session.line, stranger, TYPE_PPPOE, &content),
        ),
        ("PPPoE: to all stations", on_line(&config, session.line, all, TYPE_PPPOE, &content)),
        ("PPPoE: on another line", on_line(&config, elsewhere, own, TYPE_PPPOE, &content)),
        ("PPPoE: no header", of_session(&config, &session, TYPE_PPPOE, &content[..5])),
        ("a packet of a session of PPPoE without it", {
            of_session(&config, &session, ethernet::TYPE_IPV4, &packet)
        }),
    ];
    frames.into_iter().for_each(|(about, frame)| sample.access(about, frame));
    let mut padded = of_session(&config, &session, TYPE_PPPOE, &content);
    padded.extend([0; 9]);
    sample.access("PPPoE: padding", padded);
}

/// The IPv4 address of the first visitor.
fn own(sample: &Sample) -> std::net::IpAddr {
    build::addresses(&sample.ipoe)[0]
}

fn packet_of(address: Option<std::net::Ipv4Addr>) -> Vec<u8> {
    let own = address.map_or(std::net::IpAddr::from([0; 4]), std::net::IpAddr::from);
    build::udp(own, build::server(true), 60)
}
