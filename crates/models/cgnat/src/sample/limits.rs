//! Limits of subscribers, pools, blocks and tables.
use function_cgnat::config::Prefixed;
use function_cgnat::control::Update;
use function_cgnat::types::sides::{INSIDE, OUTSIDE};

use super::build::datagram;
use super::steps::Sample;

/// The limit of sessions, set and lifted, and sessions that control ends.
pub(super) fn sessions_of_a_subscriber(sample: &mut Sample) {
    let (visitor, server) = ((sample.visitor(6), 5000), (sample.server(0), 53));
    let sent = sample.inside("a first session", &datagram(visitor, server));
    sample.update(Update::SetSessionLimit { sessions: 1 });
    sample.inside("a further packet of it", &datagram(visitor, server));
    let other = (sample.server(1), 53);
    sample.inside("a second session of the mapping", &datagram(visitor, other));
    sample.unanswerable(INSIDE, &datagram(visitor, other));
    sample.inside("a second mapping", &datagram((visitor.0, 5002), server));
    sample.answer_to((OUTSIDE, sent), "one that another opens", &datagram(other, visitor));
    let sessions = sample.config.session_limit();
    sample.update(Update::SetSessionLimit { sessions });
    sample.inside("a second session after that", &datagram(visitor, other));
    sample.clear(visitor.0);
    sample.answer_to((OUTSIDE, sent), "an answer to what is cleared", &datagram(server, visitor));
    sample.clear(visitor.0);
    sample.inside("a session after that", &datagram(visitor, server));
}

/// Pools that are drained and come back.
pub(super) fn pools(sample: &mut Sample) {
    let server = (sample.server(0), 53);
    if let Some(address) = sample.places.poolless {
        let packet = datagram((address, 5000), server);
        sample.inside("a subscriber without rule, and no pool", &packet);
        sample.unanswerable(INSIDE, &packet);
    }
    let (old, new) = ((sample.visitor(7), 5000), (sample.visitor(8), 5000));
    let sent = sample.inside("before the pools are drained", &datagram(old, server));
    sample.change_pools(|pool| Update::DrainPool { pool });
    sample.inside("a session goes on", &datagram(old, server));
    sample.answer_to((OUTSIDE, sent), "and is answered", &datagram(server, old));
    sample.inside("a new subscriber", &datagram(new, server));
    sample.unanswerable(INSIDE, &datagram(new, server));
    sample.change_pools(|pool| Update::AddPool { pool });
    sample.inside("a new subscriber, the pools being back", &datagram(new, server));
    let pool = Prefixed { address: sample.server(4000), len: 32 };
    sample.update(Update::DrainPool { pool });
}

/// All ports of a subscriber, with pools and without.
pub(super) fn blocks(sample: &mut Sample) {
    let size = u32::from(sample.config.port_block.size);
    let most = u32::from(sample.config.port_block.per_subscriber);
    without_limit(sample, |sample| {
        if sample.reach.ports_exhausted {
            mappings(sample, 9, 1);
            sample.change_pools(|pool| Update::DrainPool { pool });
            mappings(sample, 9, size + 1);
            sample.change_pools(|pool| Update::AddPool { pool });
            sample.forget();
        }
        if sample.reach.block_limit {
            mappings(sample, 10, size * most + 2);
        }
    });
}

/// Tables that are full, if they are small.
pub(super) fn tables(sample: &mut Sample) {
    let server = (sample.server(0), 53);
    without_limit(sample, |sample| {
        if sample.reach.sessions_full {
            let visitor = (sample.visitor(0), 5000);
            let last = sample.reach.sessions + 1;
            for number in 0..=last {
                let server = (sample.server(number), 53);
                sample.inside("sessions until there is no room", &datagram(visitor, server));
            }
            sample.unanswerable(INSIDE, &datagram(visitor, (sample.server(last), 53)));
            sample.inside("one that is there", &datagram(visitor, server));
            sample.forget();
        }
        if sample.reach.mappings_full {
            let size = u32::from(sample.config.port_block.size);
            let of_one = match size * u32::from(sample.config.port_block.per_subscriber) {
                0 => u32::MAX,
                all => all,
            };
            let mut left = sample.reach.mappings + 2;
            let mut visitor = 0;
            while left > 0 {
                mappings(sample, visitor, left.min(of_one));
                left -= left.min(of_one);
                visitor += 1;
            }
            sample.forget();
        }
        if sample.reach.subscribers_full {
            for number in 0..sample.places.visitors.len() {
                let visitor = (sample.visitor(number), 5000);
                sample.inside("subscribers until there is no room", &datagram(visitor, server));
            }
            let last = sample.visitor(sample.places.visitors.len() - 1);
            sample.unanswerable(INSIDE, &datagram((last, 5000), server));
        }
    });
}

/// Mappings of one visitor.
fn mappings(sample: &mut Sample, visitor: usize, count: u32) {
    let server = (sample.server(0), 53);
    let packet = |sample: &Sample, number: u32| {
        datagram((sample.visitor(visitor), 2000 + number as u16), server)
    };
    for number in 0..count {
        sample.inside("one more mapping", &packet(sample, number));
    }
    sample.unanswerable(INSIDE, &packet(sample, count.saturating_sub(1)));
}

pub(super) fn without_limit(sample: &mut Sample, fill: impl FnOnce(&mut Sample)) {
    sample.update(Update::SetSessionLimit { sessions: 0 });
    fill(sample);
    let sessions = sample.config.session_limit();
    sample.update(Update::SetSessionLimit { sessions });
}
