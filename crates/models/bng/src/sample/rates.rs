//! Policers of a class, of a session and of an access node, one after the other at its limit.

use function_bng::Update;
use function_bng::config::{Name, Node, Policer, Profile, Session};
use function_bng::gateway::ACCESS;
use units::BytesPerSec;
use wire::ipv4;

use super::build;
use super::steps::{Sample, VISITOR, plain};

/// Packets at once, under profiles whose rates differ.
pub(super) fn rates(sample: &mut Sample) {
    let classes: Vec<Name> = sample.config.classes.iter().map(|class| class.name).collect();
    let most = sample.config.session_policers as usize;
    let slow = |class: Name| Policer {
        class,
        rate: BytesPerSec(1000.0),
        burst: 1000,
        peak_rate: None,
        peak_burst: 1000,
        mark: None,
        mark_excess: None,
    };
    let all = classes.iter().map(|&class| slow(class)).take(most);
    let two_rates = classes.iter().take(most.min(1)).map(|&class| Policer {
        peak_rate: Some(BytesPerSec(2000.0)),
        peak_burst: 1700,
        mark: Some(10),
        mark_excess: Some(12),
        ..slow(class)
    });
    let rate = Some(BytesPerSec(1500.0));
    let profiles = [
        Profile { policers: all.collect(), ..plain(RATED) },
        Profile { policers: two_rates.collect(), ..plain(RATED) },
        Profile { up_rate: rate, up_burst: 1500, ..plain(RATED) },
        Profile {
            up_rate: rate,
            up_burst: 1500,
            policers: classes.iter().map(|&class| slow(class)).take(most).collect(),
            ..plain(RATED)
        },
        plain(RATED),
    ];
    let node = Node { name: NODE, up_rate: rate, down_rate: None, burst: 1234, weight: 1 };
    sample.update(Update::AddNode(node));
    for (number, profile) in profiles.into_iter().enumerate() {
        sample.update(Update::AddProfile(profile));
        let node = (number >= 3).then_some(NODE);
        for session in sample.visitors() {
            sample.update(Update::ChangeSession(Session { profile: RATED, node, ..session }));
        }
        many(sample);
        sample.wait(5);
        many(sample);
        for session in sample.visitors() {
            sample.update(Update::SetProfile { number: session.number, profile: VISITOR });
        }
        sample.update(Update::RemoveProfile { name: RATED });
    }
    for session in sample.visitors() {
        sample.update(Update::ChangeSession(session));
    }
    sample.update(Update::RemoveNode { name: NODE });
}

/// Packets of several classes at once, of both visitors.
fn many(sample: &mut Sample) {
    for session in sample.visitors() {
        for dscp in [46, 0, 10, 46, 0, 0, 46, 10] {
            let Some(own) = session.ipv4 else { continue };
            let mut packet = build::udp(own.into(), build::server(true), 400);
            model_kit::build::set(ipv4::offset::DSCP_ECN, dscp << 2)(&mut packet);
            let frame = build::up(&sample.config, &session, &packet);
            sample.frame_at_once(ACCESS, "a packet near a rate", frame);
        }
        for own in build::addresses(&session).into_iter().skip(1) {
            let mut packet = build::udp(own, build::server(false), 200);
            packet[0] = 0x6b;
            packet[1] |= 0x80;
            let frame = build::up(&sample.config, &session, &packet);
            sample.frame_at_once(ACCESS, "a packet of IPv6 near a rate", frame);
        }
    }
}

const RATED: Name = Name::new("visitor-rated");
const NODE: Name = Name::new("visitors");
