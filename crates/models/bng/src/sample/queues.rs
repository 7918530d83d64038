//! Queues: frames that pass, that wait and leave later, that find no room, and that go with their
//! session.

use function_bng::Update;
use function_bng::config::{Config, Name, Node, Profile, Queue, Session};
use function_bng::gateway::CORE;
use units::BytesPerSec;
use wire::ipv4;

use super::build;
use super::steps::{Sample, VISITOR, plain};

/// One visitor after the other, with a rate of its queues, of itself, of its access node.
pub(super) fn queues(sample: &mut Sample) {
    let classes: Vec<Name> = sample.config.classes.iter().map(|class| class.name).collect();
    let most = sample.config.session_queues as usize;
    let queue = |(level, &class): (usize, &Name)| Queue {
        class,
        rate: None,
        burst: BURST,
        level: level as u8,
        weight: 1,
        depth_bytes: 2048,
        codel: false,
    };
    let queues: Vec<Queue> = classes.iter().enumerate().map(queue).take(most).collect();
    let rate = Some(BytesPerSec(20.0));
    let of_queue = queues.iter().map(|&queue| Queue { rate, ..queue }).collect();
    let profiles = [
        Profile { queues: of_queue, overhead_bytes: 24, ..plain(QUEUED) },
        Profile { queues: queues.clone(), down_rate: rate, down_burst: BURST, ..plain(QUEUED) },
        Profile { queues, ..plain(QUEUED) },
    ];
    let node = Node { name: NODE, up_rate: None, down_rate: rate, burst: BURST, weight: 1 };
    sample.update(Update::AddNode(node));
    for (number, profile) in profiles.into_iter().enumerate() {
        sample.update(Update::AddProfile(profile));
        for session in sample.visitors() {
            let node = (number == 2).then_some(NODE);
            sample.update(Update::ChangeSession(Session { profile: QUEUED, node, ..session }));
            many(sample, &session);
            sample.wait(FRAME_S);
            sample.wait(FRAME_S);
            many(sample, &session);
            sample.update(Update::RemoveSession { number: session.number });
            sample.wait(3 * FRAME_S);
            sample.update(Update::AddSession(session));
        }
        sample.update(Update::RemoveProfile { name: QUEUED });
    }
    sample.update(Update::RemoveNode { name: NODE });
    if has_share(&sample.config) {
        share(sample, queue((0, &classes[0])));
    }
    for session in sample.visitors() {
        sample.update(Update::SetProfile { number: session.number, profile: VISITOR });
    }
}

/// Whether a sample fills a queue's share of the memory for packets that wait.
pub(super) fn has_share(config: &Config) -> bool {
    config.session_queues > 0 && config.buffer_kib <= SHARED_KIB_MAX
}

/// A queue as deep as can be that lets nobody go takes its share of the memory, and no more.
fn share(sample: &mut Sample, queue: Queue) {
    let session = sample.ipoe;
    let rate = Some(BytesPerSec(1.0));
    let queue = Queue { rate, burst: 0, depth_bytes: u32::MAX, ..queue };
    sample.update(Update::AddProfile(Profile { queues: vec![queue], ..plain(QUEUED) }));
    sample.update(Update::SetProfile { number: session.number, profile: QUEUED });
    let Some(own) = session.ipv4 else { return };
    // Of 8 cells with the header of any line.
    let packet = build::udp(build::server(true), own.into(), 1800);
    let frame = build::down(&sample.config, &packet);
    for _ in 0..sample.config.buffer_kib / 4 + 5 {
        sample.frame_at_once(CORE, "a frame for a queue that is near its share", frame.clone());
    }
    sample.update(Update::RemoveSession { number: session.number });
    sample.update(Update::AddSession(session));
    sample.update(Update::RemoveProfile { name: QUEUED });
}

/// Frames of several classes at once: the first ones pass, others wait, and some find no room.
fn many(sample: &mut Sample, session: &Session) {
    for dscp in [0, 0, 46, 0, 10, 46, 0, 0, 0, 0, 46] {
        let Some(own) = session.ipv4 else { continue };
        let mut packet = build::udp(build::server(true), own.into(), 500);
        model_kit::build::set(ipv4::offset::DSCP_ECN, dscp << 2)(&mut packet);
        let frame = build::down(&sample.config, &packet);
        sample.frame_at_once(CORE, "a frame near a rate", frame);
    }
}

/// The most memory of which a sample fills half.
const SHARED_KIB_MAX: u32 = 1024;

/// The first frame leaves some of it, so that the second one passes, too, and owes most of its
/// bytes: until they are earned, a frame waits for longer than a check of a real device takes.
const BURST: u32 = 600;
/// A frame is earned in this time, in seconds.
const FRAME_S: u64 = 28;

const QUEUED: Name = Name::new("visitor-queued");
const NODE: Name = Name::new("visitors");
