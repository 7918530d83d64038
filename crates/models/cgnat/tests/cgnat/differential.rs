//! Pipeline and oracle over damaged frames, random changes and pauses: they agree on every byte.
//!
//! Everything follows from the printed seed. Pauses are whole seconds and timeouts are not, so that
//! no packet comes next to the end of a session.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use function_cgnat::Update;
use function_cgnat::config::{Config, Pcp};
use function_kit::Shard;
use model_cgnat::Cgnat;
use model_kit::check::Expected;
use packet::PortId;
use testkit::mutate::{mutate, repair};
use testkit::pair::Pair;
use testkit::random::Random;
use testkit::walk::Steps;
use wire::checksum::Sum;

use crate::frames::{INSIDE, OUTSIDE, asking, kinds, logged, net, rule_changes, sample_frames};

/// Most frames for each kind of NAT.
const CASES: usize = 20_000;
/// Verdicts that every kind of NAT has to meet.
const OFTEN: &[&str] = &["inside", "outside", "ip-malformed", "transport-malformed", "no-mapping"];
/// Those where calls of PPTP pass.
const OFTEN_WITH_CALLS: &[&str] = &[
    "inside",
    "outside",
    "ip-malformed",
    "transport-malformed",
    "no-mapping",
    "call inside",
    "call outside",
];
const SEED: u64 = 0x91f5_0300;
const FRAME_LEN_MAX: usize = 2014;

#[test]
fn pipeline_and_oracle_agree_on_damaged_frames() {
    println!("seed {SEED:#x}, at most {CASES} frames for each kind");
    let plain = kinds().into_iter().zip(0..);
    // With logs the same as without.
    let logged = logged().into_iter().zip(0..);
    let pcp = Some(Pcp { mappings_per_subscriber: 8, ..Pcp::default() });
    let asked = Config { pcp, ..kinds()[2].clone() };
    let in_realms = Config { pcp, ds_lite: kinds()[12].ds_lite.clone(), ..kinds()[6].clone() };
    let asking = [asking(kinds()[6].clone()), asking(kinds()[12].clone())];
    let [vrfs, ds_lite] = asking;
    let asked = [(asked, 99), (in_realms, 98), (vrfs, 97), (ds_lite, 96)];
    for (number, (config, seed)) in plain.chain(logged).chain(asked).enumerate() {
        let mut walk = Walk::new(&config, SEED + seed);
        walk.meet_next_hops(&config);
        let mut steps = Steps::new(CASES, if config.alg.pptp { OFTEN_WITH_CALLS } else { OFTEN });
        while let Some(case) = steps.next(&walk.pair.coverage) {
            walk.step().unwrap_or_else(|what| panic!("kind {number}, case {case}: {what}"));
        }
        steps.assert_met(&walk.pair.coverage);
    }
}

/// A walk of pipeline and oracle through frames, changes and pauses.
pub struct Walk {
    /// Both.
    pub pair: Pair<Cgnat>,
    random: Random,
    has_ipv6: bool,
    has_gateways: bool,
    has_logged_hosts: bool,
    rules: Vec<Update>,
    vlans: Vec<u16>,
    corpus: Vec<(PortId, Vec<u8>)>,
    donors: Vec<Vec<u8>>,
    /// Frames that left, to be answered.
    left: VecDeque<(PortId, Vec<u8>)>,
    /// Frames of control connections of PPTP, and of calls.
    talks: Vec<(PortId, Vec<u8>)>,
    /// The last one that left and asks for a call.
    asked: Option<Vec<u8>>,
}

impl Walk {
    /// One for a configuration.
    pub fn new(config: &Config, seed: u64) -> Walk {
        let corpus = sample_frames(config);
        let is_talk = |frame: &[u8]| {
            let is_plain = frame.len() > 54 && frame[12..15] == [8, 0, 0x45];
            let is_control = || [&frame[34..36], &frame[36..38]].contains(&&[0x06, 0xbb][..]);
            is_plain && (frame[23] == 47 || frame[23] == 6 && is_control())
        };
        let talks = corpus.iter().filter(|(_, frame)| config.alg.pptp && is_talk(frame));
        Walk {
            pair: Pair::new(config, Shard::WHOLE),
            random: Random::new(seed),
            has_ipv6: config.nat64.is_some(),
            has_gateways: !config.alg.is_off(),
            rules: rule_changes(config),
            has_logged_hosts: config.logging.is_some() && !config.port_forwarding.is_empty(),
            vlans: config.vrfs.iter().map(|vrf| vrf.vlan).chain([0]).collect(),
            talks: talks.cloned().collect(),
            donors: corpus.iter().map(|(_, frame)| frame.clone()).collect(),
            corpus,
            left: VecDeque::new(),
            asked: None,
        }
    }

    /// Has next hops that are asked for answer, so that what leaves is seen.
    fn meet_next_hops(&mut self, config: &Config) {
        let answers =
            if config.inside_next_hop.is_some() { 3 + 2 + config.vrfs.len() + 1 } else { 0 };
        for (port, frame) in self.corpus.iter().take(answers) {
            self.pair.frame(*port, frame).expect("they agree");
        }
    }

    /// A change or a pause now and then, and a frame.
    fn step(&mut self) -> Result<(), String> {
        self.step_with(|_| ())
    }

    /// The same, with something to do before a pause, after each second of it, and after a
    /// change.
    pub fn step_with(&mut self, mut meanwhile: impl FnMut(&mut Pair<Cgnat>)) -> Result<(), String> {
        match self.random.below(150) {
            0 => {
                let update = self.update();
                self.pair.update(&update)?;
                meanwhile(&mut self.pair);
            }
            1 | 2 => {
                meanwhile(&mut self.pair);
                for _ in 0..1 + self.random.below(5) {
                    self.pair.wait(Duration::from_secs(1))?;
                    meanwhile(&mut self.pair);
                }
            }
            _ => {}
        }
        let (port, mut frame) = match self.random.below(3) {
            _ if !self.talks.is_empty() && self.random.below(4) == 0 => self.talk(),
            0 if !self.left.is_empty() => {
                let at = self.random.below(self.left.len());
                answer(&self.left[at])
            }
            _ => self.random.one_of(&self.corpus).clone(),
        };
        if self.random.below(2) == 0 {
            let tag = take_tag(&mut frame).filter(|_| self.random.below(4) > 0);
            let outer = take_outer(&mut frame);
            let stays = outer.is_none() || self.random.below(4) > 0;
            if !stays {
                put_outer(&mut frame, outer);
            }
            let outer = outer.filter(|_| stays);
            mutate(&mut frame, &self.donors, FRAME_LEN_MAX, &mut self.random);
            put_outer(&mut frame, outer);
            put_tag(&mut frame, tag);
            if self.has_gateways && self.random.below(2) == 0 {
                say_something_else(&mut frame, &mut self.random);
            }
        }
        if frame.is_empty() {
            return Ok(());
        }
        let port = if self.random.below(20) == 0 { PortId(1 - port.0) } else { port };
        if let Expected::Forward { port, frame } = self.pair.frame(port, &frame)? {
            if frame.len() > 42 && frame[12..14] == [8, 0] && frame[23] == 47 {
                let about = if port == OUTSIDE { "call outside" } else { "call inside" };
                *self.pair.coverage.entry(about.to_owned()).or_default() += 1;
            }
            if port == OUTSIDE && asks_for_a_call(&frame) {
                self.asked = Some(frame.clone());
            }
            self.left.push_back((port, frame));
            if self.left.len() > LEFT_MAX {
                self.left.pop_front();
            }
        }
        Ok(())
    }

    /// Something of a call.
    fn talk(&mut self) -> (PortId, Vec<u8>) {
        match &self.asked {
            Some(asked) if self.random.below(2) == 0 => {
                (OUTSIDE, answer_call(asked, &mut self.random))
            }
            _ => self.random.one_of(&self.talks).clone(),
        }
    }

    fn update(&mut self) -> Update {
        let pools = [net("198.18.0.0/30"), net("198.18.4.0/31"), net("198.18.8.0/29")];
        let pool = *self.random.one_of(&pools);
        match self.random.below(9) {
            0 | 1 => Update::AddPool { pool },
            6.. => self.random.one_of(&self.rules).clone(),
            // While sessions that are over may still count, a limit is a second reason for a drop
            // that has another one; what gateways ask for reaches limits far more often. The sample
            // has both apart.
            2 | 3 if self.has_gateways => Update::AddPool { pool },
            // The same of hosts that anybody may ask: at the limit either end of a packet between
            // two subscribers is the reason, and only the log tells which.
            2 | 3 if self.has_logged_hosts => Update::AddPool { pool },
            2 => Update::DrainPool { pool },
            3 => {
                let sessions = *self.random.one_of(&[0, 0, 0, 3, 30, 100]);
                Update::SetSessionLimit { sessions }
            }
            _ => {
                let last = 0x0aff_ffff - self.random.below(12) as u32;
                let address = match self.has_ipv6 && self.random.below(2) > 0 {
                    false => IpAddr::from(last.to_be_bytes()),
                    true => {
                        let [high, low] = [0x2001_0db8_ffff_ffff, u64::MAX - u64::from(last & 15)];
                        Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low)).into()
                    }
                };
                let vlan = match address {
                    IpAddr::V4(_) => *self.random.one_of(&self.vlans),
                    IpAddr::V6(_) => 0,
                };
                Update::ClearSubscriber { address, vlan }
            }
        }
    }
}

/// Changes a payload in a few places and makes the checksum of the transport right, so that a
/// gateway reads it.
fn say_something_else(frame: &mut [u8], random: &mut Random) {
    let Some(&[version, .., protocol]) = frame.get(14..24) else { return };
    let transport = 14 + usize::from(version & 15) * 4;
    let (payload, field) = match protocol {
        6 => (transport + 20, transport + 16),
        17 => (transport + 8, transport + 6),
        _ => return,
    };
    if frame.len() <= payload.max(34) {
        return;
    }
    for _ in 0..random.below(3) {
        let at = payload + random.below(frame.len() - payload);
        frame[at] = *random.one_of(b" \r\n,.:;|()<>\"/0159PSIm=c\xff\0\x01\x05");
    }
    mend_transport(frame, protocol, (transport, field));
}

/// Makes the checksum of a transport right, which stands at a place.
fn mend_transport(frame: &mut [u8], protocol: u8, (transport, field): (usize, usize)) {
    frame[field..field + 2].fill(0);
    let len = (frame.len() - transport) as u16;
    let ends = Sum::ZERO.add_bytes(&frame[26..34]).add_u16(protocol.into()).add_u16(len);
    let sum = ends.add_bytes(&frame[transport..]).checksum();
    frame[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Takes the tag off a frame that has one (IEEE 802.1Q).
pub fn take_tag(frame: &mut Vec<u8>) -> Option<[u8; 4]> {
    let tag = *frame.get(12..16)?.first_chunk()?;
    (tag[..2] == [0x81, 0]).then(|| {
        frame.drain(12..16);
        tag
    })
}

/// Puts it back, if there was one.
fn put_tag(frame: &mut Vec<u8>, tag: Option<[u8; 4]>) {
    if let Some(tag) = tag.filter(|_| (12..FRAME_LEN_MAX - 4).contains(&frame.len())) {
        frame.splice(12..12, tag);
    }
}

/// The same packet back, where it came from.
pub fn answer((port, frame): &(PortId, Vec<u8>)) -> (PortId, Vec<u8>) {
    let mut bare = frame.clone();
    let tag = take_tag(&mut bare);
    let outer = take_outer(&mut bare).map(|header| {
        [&header[..8], &header[24..], &header[8..24]].concat().try_into().unwrap_or(header)
    });
    let (port, mut back) = answer_bare(&(*port, bare));
    put_outer(&mut back, outer);
    put_tag(&mut back, tag);
    (port, back)
}

/// Takes the outer header off a frame that has one around IPv4 (RFC 2473).
fn take_outer(frame: &mut Vec<u8>) -> Option<[u8; 40]> {
    let header = *frame.get(14..)?.first_chunk()?;
    (frame[12..14] == [0x86, 0xdd] && header[6] == 4).then(|| {
        frame.drain(14..54);
        frame[12..14].copy_from_slice(&[8, 0]);
        header
    })
}

/// Puts it back, if there was one, around what there is now.
fn put_outer(frame: &mut Vec<u8>, outer: Option<[u8; 40]>) {
    let fits = (14..FRAME_LEN_MAX - 44).contains(&frame.len());
    if let Some(mut header) = outer.filter(|_| fits) {
        header[4..6].copy_from_slice(&(frame.len() as u16 - 14).to_be_bytes());
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        frame.splice(14..14, header);
    }
}

fn answer_bare((port, frame): &(PortId, Vec<u8>)) -> (PortId, Vec<u8>) {
    let mut back = frame.clone();
    back[..6].copy_from_slice(&frame[6..12]);
    back[6..12].copy_from_slice(&frame[..6]);
    if frame.len() >= 62 && frame[12..14] == [0x86, 0xdd] {
        back[22..38].copy_from_slice(&frame[38..54]);
        back[38..54].copy_from_slice(&frame[22..38]);
        if frame[20] != 58 {
            back[54..56].copy_from_slice(&frame[56..58]);
            back[56..58].copy_from_slice(&frame[54..56]);
        }
        return (*port, back);
    }
    if frame.len() < 42 || frame[12..14] != [8, 0] {
        return (*port, back);
    }
    back[26..30].copy_from_slice(&frame[30..34]);
    back[30..34].copy_from_slice(&frame[26..30]);
    match (frame[23], frame[34]) {
        (1, 8 | 13) => back[34] = if frame[34] == 8 { 0 } else { 14 },
        (1, _) => {}
        _ => {
            back[34..36].copy_from_slice(&frame[36..38]);
            back[36..38].copy_from_slice(&frame[34..36]);
        }
    }
    repair(&mut back);
    debug_assert!(*port == INSIDE || *port == OUTSIDE);
    (*port, back)
}

/// What a server does about a call that it is told: it answers, or sends enhanced GRE, both by the
/// identifier that it was told.
fn answer_call(frame: &[u8], random: &mut Random) -> Vec<u8> {
    let call = [frame[66], frame[67]];
    let (mut back, [from, to]) = (frame.to_vec(), [frame[30..34].to_vec(), frame[26..30].to_vec()]);
    back[..6].copy_from_slice(&frame[6..12]);
    back[6..12].copy_from_slice(&frame[..6]);
    back[26..34].copy_from_slice(&[from, to].concat());
    let is_reply = random.below(2) == 0;
    if !is_reply {
        back[23] = 47;
        back[34..42].copy_from_slice(&[0x20, 0x81, 0x88, 0x0b, 0, 0, call[0], call[1]]);
    } else {
        back.truncate(54 + 32);
        back[34..38].copy_from_slice(&[frame[36], frame[37], frame[34], frame[35]]);
        // The numbers of the sample's servers.
        let theirs = 700 + random.below(3) as u16;
        back[54..56].copy_from_slice(&[0, 32]);
        back[62..64].copy_from_slice(&[0, 8]);
        back[66..68].copy_from_slice(&theirs.to_be_bytes());
        back[68..71].copy_from_slice(&[call[0], call[1], 1]);
    }
    let len = (back.len() - 14) as u16;
    back[16..18].copy_from_slice(&len.to_be_bytes());
    repair(&mut back);
    if is_reply {
        mend_transport(&mut back, 6, (34, 50));
    }
    back
}

/// Whether a frame that left is an Outgoing-Call-Request of the sample.
fn asks_for_a_call(frame: &[u8]) -> bool {
    let is_long = frame.len() == 54 + 168 && frame[12..15] == [8, 0, 0x45] && frame[23] == 6;
    is_long && frame[36..38] == [0x06, 0xbb] && frame[62..64] == [0, 7]
}

/// Frames that are remembered.
const LEFT_MAX: usize = 200;
