//! The functional check's sample: frames that reach every verdict and every drop reason that a
//! configuration allows, and the changes between them.
//!
//! Frames from outside are answers ([`Step::Answer`]): which outside address and port a subscriber
//! has is the device's choice. Visitors, subscribers from the end of the networks inside, do all
//! that is out of the ordinary. Between its parts passes the time after which every session is over
//! and every port has rested; pauses keep half a second at least from any timeout. The size does
//! not depend on numbers that are configured but for small tables, which are filled.
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use function_cgnat::config::{Config, Prefixed};
use function_cgnat::control::Update;
use function_cgnat::types::networks::holds;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::build::frame;
use model_kit::check::{Answer, Part, Step};
use packet::PortId;
use traffic::{Frames, Stamp};

use super::workload::Clients;
use crate::sections::Traffic;

mod aging;
mod algs;
mod build;
mod bypass;
mod calls;
mod deterministic;
mod ds_lite;
mod fragments;
mod host;
mod interfaces;
mod ipv6;
mod limits;
mod links;
mod nat64;
mod pcp;
mod places;
mod port_forwarding;
mod refusals;
mod sessions;
mod siit;
mod vrfs;
mod workers;

use interfaces::Here;
use limits::Reach;
use places::Places;

/// What subscribers do wherever they are.
const OF_ANY_REALM: [fn(&mut Sample); 16] = [
    sessions::udp,
    sessions::tcp,
    sessions::icmp,
    sessions::errors,
    sessions::hairpins,
    fragments::orders,
    fragments::hairpins,
    host::pings,
    host::errors,
    links::links,
    algs::ftp,
    algs::sip,
    calls::pptp,
    pcp::pcp,
    limits::sessions_of_a_subscriber,
    limits::pools,
];

/// The sample for a validated configuration.
pub fn sample(config: &Config, traffic: &Traffic) -> Vec<Step<Update>> {
    let mut sample = Sample::new(config);
    host::answers(&mut sample);
    sample.ordinary(traffic);
    refusals::ethernet(&mut sample);
    refusals::ipv4(&mut sample);
    refusals::transport(&mut sample);
    for part in [
        sessions::udp,
        sessions::tcp,
        sessions::icmp,
        sessions::errors,
        sessions::hairpins,
        workers::strays,
        sessions::one_to_one,
        port_forwarding::port_forwarding,
        bypass::bypass,
        pcp::pcp,
        fragments::orders,
        fragments::hairpins,
        fragments::refusals,
        fragments::overlaps,
        fragments::limits,
        host::pings,
        host::errors,
        host::more_errors_than_may_leave,
        links::links,
        deterministic::deterministic,
        algs::ftp,
        algs::sip,
        calls::pptp,
        limits::sessions_of_a_subscriber,
        limits::pools,
        limits::blocks,
        limits::tables,
        aging::timeouts,
        aging::closing,
        aging::quarantine,
        nat64::all,
        ds_lite::all,
        vrfs::all,
        interfaces::all,
        siit::all,
        host::silence,
    ] {
        sample.forget();
        part(&mut sample);
    }
    sample.forget();
    sample.steps
}

/// Drop reasons that the sample cannot reach under a configuration, each with the cause.
pub fn unreachable(config: &Config) -> Vec<(&'static str, &'static str)> {
    let (places, reach) = (Places::new(config), Reach::new(config));
    let mut reasons = vec![
        ("unhandled", "every packet gets a verdict"),
        ("mapping-busy", "it takes more sessions of a mapping than a sample opens"),
        // Devices of another making are one, whatever the number of workers here.
        ("other-worker", "the device is no part of several, or one part has every outside port"),
    ];
    let mut unless = |is_reached: bool, name, cause| {
        if !is_reached {
            reasons.push((name, cause));
        }
    };
    let has_vlans = !config.vrfs.is_empty() || interfaces::has_ports(config);
    unless(has_vlans, "unknown-vlan", "tags are no VLAN's without VRFs and further ports");
    unless(places.stranger.is_some(), "not-inside", "every address is inside");
    unless(!config.tcp_pick_up, "tcp-no-session", "any segment opens a session");
    unless(config.pcp.is_some(), "pcp-ignored", "nobody is asked for mappings");
    unless(config.alg.pptp, "no-call", "GRE is nobody's without a gateway for PPTP");
    let to_itself = places.one_to_one.is_some() && config.hairpinning;
    let has_none = !config.pools.is_empty() || !config.port_forwarding.is_empty() || to_itself;
    unless(has_none, "no-mapping", "every outside address is one subscriber's");
    let filters = config.filtering != function_cgnat::config::Filtering::EndpointIndependent;
    unless(filters, "filtered", "mappings take packets from anybody");
    unless(!config.hairpinning, "hairpin-off", "hairpinning is on");
    for (name, is_reached) in nat64::reached(config) {
        let is_long = name == "too-big" && links::reaches(config);
        let is_reached = is_reached || is_long || siit::reaches(config, name);
        unless(is_reached, name, "no IPv6 hosts inside, or links that take long packets");
    }
    for name in ["no-counterpart", "loop"] {
        let is_reached = siit::reaches(config, name);
        unless(is_reached, name, "nothing is translated without sessions");
    }
    let exhausted = reach.ports_exhausted || port_forwarding::is_exhaustible(config);
    unless(exhausted, "ports-exhausted", "it takes more mappings than a sample opens");
    unless(reach.block_limit, "block-limit", "it takes more mappings than a sample opens");
    unless(reach.pool_exhausted, "pool-exhausted", "no pool, or no room for two sessions");
    unless(reach.sessions_full, "sessions-full", "it takes more sessions than a sample opens");
    unless(reach.mappings_full, "mappings-full", "it takes more mappings than a sample opens");
    let cause = "it takes more subscribers than a sample has";
    unless(reach.subscribers_full, "subscribers-full", cause);
    let fragments = fragments::Reach::new(config, &places);
    let follows = config.fragments.datagrams > 0;
    let has_ipv6 = config.nat64.is_some() || config.siit.is_some() || config.ds_lite.is_some();
    unless(!follows || has_ipv6, "fragment", "fragments are followed");
    for name in [
        "fragment-malformed",
        "fragment-tiny",
        "fragment-overlap",
        "fragment-scattered",
        "awaiting-first-fragment",
    ] {
        unless(follows, name, "fragments are dropped");
    }
    let cause = "fragments are dropped, or there are no softwires";
    unless(follows && config.ds_lite.is_some(), "awaiting-outer-fragments", cause);
    let cause = "fragments are dropped, or it takes more than a sample has";
    unless(fragments.limit, "fragment-limit", cause);
    unless(fragments.full, "fragments-full", cause);
    unless(host::are_asked(config), "neighbour-heard", "next hops have MAC addresses");
    for name in ["awaiting-neighbour", "pending-full", "unresolved"] {
        let cause = "next hops have MAC addresses, or no session lives without them";
        unless(host::are_awaited(config), name, cause);
    }
    reasons
}

/// The steps so far, and what they are made with.
struct Sample {
    /// With the addresses of the interfaces at which frames come in.
    config: Config,
    /// As it is.
    first: Config,
    here: Here,
    places: Places,
    reach: Reach,
    steps: Vec<Step<Update>>,
    /// Frames and answers so far.
    count: usize,
    /// The VLAN of frames at the inside port, or what stands for a softwire there; 0 for neither.
    vlan: u16,
    /// By how much longer frames and answers leave because of an outer header.
    growth: BTreeMap<usize, usize>,
}

/// The number of a frame of the sample, to be answered later.
#[derive(Clone, Copy, Debug)]
struct Sent(usize);

impl Sample {
    fn new(config: &Config) -> Sample {
        Sample {
            config: config.clone(),
            first: config.clone(),
            here: interfaces::FIRST,
            places: Places::new(config),
            reach: Reach::new(config),
            steps: Vec::new(),
            count: 0,
            vlan: 0,
            growth: BTreeMap::new(),
        }
    }

    /// What the bench sends; from outside, before anything is known.
    fn ordinary(&mut self, traffic: &Traffic) {
        let workload = Clients::new(&self.config, traffic);
        for (index, direction) in workload.directions().iter().enumerate() {
            for sequence in 0..ORDINARY_FRAMES {
                let draw = workload.draw(index, sequence);
                let mut frame = vec![0; workload.frame_len(&draw)];
                let stamp = Stamp { stream: index as u16, sequence, time: 0 };
                workload.write(&draw, stamp, &mut frame);
                self.frame(direction.from, "a frame of the workload", frame);
            }
        }
    }

    /// Any frame.
    fn frame(&mut self, port: PortId, about: &'static str, frame: Vec<u8>) -> Sent {
        self.step(Step::Frame { port, frame, about });
        self.sent(port == OUTSIDE)
    }

    /// A packet from subscribers.
    fn inside(&mut self, about: &'static str, packet: &[u8]) -> Sent {
        let frame = self.framed(INSIDE, packet);
        self.frame(INSIDE, about, frame)
    }

    /// A packet of a group of stations, about which nobody is told.
    fn unanswerable(&mut self, port: PortId, packet: &[u8]) {
        let mut frame = self.framed(port, packet);
        frame[6] |= 1;
        self.frame(port, "the same of a group of stations", frame);
    }

    /// A packet from the Internet.
    fn outside(&mut self, about: &'static str, packet: &[u8]) -> Sent {
        let frame = self.framed(OUTSIDE, packet);
        self.frame(OUTSIDE, about, frame)
    }

    /// A packet whose destination is the source of one that left before.
    fn answer_to(
        &mut self,
        (port, sent): (PortId, Sent),
        about: &'static str,
        packet: &[u8],
    ) -> Sent {
        let port_at = if packet[9] == wire::protocol::ICMP { 38 } else { 36 };
        let from = if packet[9] == wire::protocol::ICMP { 38 } else { 34 };
        let parts = [(26, 4, 30), (from, 2, port_at)];
        let answer = self.answer(port, about, packet, parts.map(|part| (sent, part)).to_vec());
        self.leaves_towards(answer, self.vlan);
        answer
    }

    /// A packet with parts of frames that left: from where, how long, where to, in frames.
    fn answer(
        &mut self,
        port: PortId,
        about: &'static str,
        packet: &[u8],
        parts: Vec<(Sent, (usize, usize, usize))>,
    ) -> Sent {
        let grown = |sent: Sent| self.growth.get(&sent.0).copied().unwrap_or_default();
        let growth = if port == INSIDE { ds_lite::growth(self.vlan) } else { 0 };
        let part = |(sent, (from, len, to)): (Sent, (usize, usize, usize))| Part {
            back: self.count - sent.0,
            from: from + grown(sent),
            len,
            to: to + growth,
        };
        let parts = parts.into_iter().map(part).collect();
        let answer =
            Answer { frame: self.framed(port, packet), parts, finish: build::finish, tag: 0 };
        self.step(Step::Answer { port, answer, about });
        self.sent(port == OUTSIDE)
    }

    /// A frame or an answer by its side, as it comes in by an interface.
    fn step(&mut self, step: Step<Update>) {
        let entry = |port| interfaces::entry(&self.first, self.here, port);
        self.steps.push(match step {
            Step::Frame { port, frame, about } => {
                let (port, tag) = entry(port);
                Step::Frame { port, frame: interfaces::tagged(frame, tag), about }
            }
            Step::Answer { port, answer, about } => {
                let (port, tag) = entry(port);
                Step::Answer { port, answer: Answer { tag, ..answer }, about }
            }
            other => other,
        });
    }

    /// What is done while frames come in by these interfaces.
    fn at<T>(&mut self, here: Here, work: impl FnOnce(&mut Sample) -> T) -> T {
        let before = std::mem::replace(&mut self.here, here);
        self.config = interfaces::dressed(&self.first, here);
        let done = work(self);
        self.here = before;
        self.config = interfaces::dressed(&self.first, before);
        done
    }

    /// The number of a frame or an answer that was just made.
    fn count(&mut self) -> Sent {
        self.count += 1;
        Sent(self.count - 1)
    }

    /// Takes note of a frame that leaves inside or not.
    fn sent(&mut self, leaves_inside: bool) -> Sent {
        let sent = self.count();
        self.leaves_towards(sent, if leaves_inside { self.vlan } else { 0 });
        sent
    }

    /// Says to whom a frame leaves.
    fn leaves_towards(&mut self, sent: Sent, vlan: u16) {
        let growth = if ds_lite::is_softwire(vlan) { ds_lite::growth(vlan) } else { 0 };
        self.growth.insert(sent.0, growth);
    }

    fn framed(&self, port: PortId, packet: &[u8]) -> Vec<u8> {
        let (to, from) = match port == INSIDE {
            true => (self.config.inside_mac.0, self.config.inside_next_hop_mac.0),
            false => (self.config.outside_mac.0, self.config.outside_next_hop_mac.0),
        };
        let frame = frame(to, from, wire::ethernet::TYPE_IPV4, packet);
        match (port, ds_lite::is_softwire(self.vlan)) {
            (INSIDE, true) => ds_lite::through(&self.config, &frame, self.vlan),
            (INSIDE, false) => vrfs::tagged(frame, self.vlan),
            _ => frame,
        }
    }

    /// Ends the sessions of a subscriber; behind a softwire those of all addresses.
    fn clear(&mut self, address: Ipv4Addr) {
        let update = match ds_lite::is_softwire(self.vlan) {
            true => {
                let address = ds_lite::b4(&self.config, self.vlan).into();
                Update::ClearSubscriber { address, vlan: 0 }
            }
            false => Update::ClearSubscriber { address: address.into(), vlan: self.vlan },
        };
        self.update(update);
    }

    fn update(&mut self, update: Update) {
        self.steps.push(Step::Update(update));
    }

    fn wait(&mut self, seconds: f64) {
        let most = PAUSE_S_MAX.min(host::pause_s_max(&self.config));
        let mut left = seconds;
        while left > 0.0 {
            self.steps.push(Step::Wait(Duration::from_secs_f64(left.min(most))));
            host::speak_up(self);
            left -= most;
        }
    }

    /// Lets the sweep come around, until it has met as many sessions as a sample opens.
    fn settle(&mut self) {
        let round = Step::Wait(Duration::from_secs_f64(ROUND_S));
        self.steps.extend(std::iter::repeat_n(round, ROUNDS));
    }

    /// Every session is over, every port has rested.
    fn forget(&mut self) {
        let times = self.config.timeouts;
        self.wait(times.all().into_iter().fold(0.0, f64::max) + 1.0);
        self.settle();
        self.wait(self.config.quarantine_s + BEYOND_S);
    }

    /// A visitor's address.
    fn visitor(&self, number: usize) -> Ipv4Addr {
        let visitors = self.places.visitors_of(self.vlan);
        visitors[number % visitors.len()]
    }

    /// A host outside.
    fn server(&self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.places.servers + 1 + number)
    }

    fn change_pools(&mut self, change: impl Fn(Prefixed<Ipv4Addr>) -> Update) {
        let pools = self.config.pools.clone();
        pools.into_iter().for_each(|pool| self.update(change(pool)));
    }
}

/// Whether any of some networks has an address.
fn any_holds<'a>(mut networks: impl Iterator<Item = &'a Prefixed<Ipv4Addr>>, address: u32) -> bool {
    networks.any(|network| holds(*network, address))
}

/// Ordinary frames in each direction.
const ORDINARY_FRAMES: u64 = 32;

/// The longest pause: sweeps must not be too far apart to tell the past from the future.
const PAUSE_S_MAX: f64 = 5000.0;

/// From a second before an end to behind it. Devices whose time is real are waited for no longer
/// than two seconds, and have not been until then, either.
const BEYOND_S: f64 = 2.25;

/// A round of the sweep, long enough for some of it, and more than devices wait in real time.
const ROUND_S: f64 = 2.5;
/// Rounds in which the sweep ends as many sessions as a sample opens.
const ROUNDS: usize = 20;
