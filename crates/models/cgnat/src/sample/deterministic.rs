//! A subscriber whose outside address and ports follow from its inside address (RFC 7422).
use std::net::Ipv4Addr;

use function_cgnat::config::{Config, deterministic_plan};
use function_cgnat::types::sides::OUTSIDE;

use super::build::datagram;
use super::limits::FILL_MAX;
use super::{Sample, any_holds};

/// It has ports until those that are its own are used up, and what subscribers of its rule share.
pub(super) fn deterministic(sample: &mut Sample) {
    let Some(own) = subscriber(&sample.config) else { return };
    let server = (sample.server(0), 25);
    let sent = sample.inside("deterministic: a subscriber sends", &datagram((own, 9000), server));
    let answer = datagram(server, (own, 9000));
    sample.answer_to((OUTSIDE, sent), "deterministic: it is answered", &answer);
    sample.inside("deterministic: another port", &datagram((own, 9001), server));
    let Some(count) = exhaustible(&sample.config) else { return };
    super::limits::without_limit(sample, |sample| {
        for number in 0..=count {
            let port = 10_000 + number as u16;
            sample.inside("deterministic: one more mapping", &datagram((own, port), server));
        }
        sample.inside("deterministic: one that is there", &datagram((own, 9000), server));
    });
}

/// How many mappings use up all ports of a subscriber, where a sample has as many.
pub(super) fn exhaustible(config: &Config) -> Option<u32> {
    let plan = deterministic_plan(&config.deterministic).ok()?;
    let own = plan.forward(0, subscriber(config)?)?;
    let shared = plan.dynamic(own.outside).map_or(0, |block| u32::from(block.len));
    let count = u32::from(own.len) + shared;
    let room = config.sessions.min(config.mapping_capacity());
    (count <= FILL_MAX && count < room).then_some(count)
}

/// The first one of a rule of the main realm.
fn subscriber(config: &Config) -> Option<Ipv4Addr> {
    let rule = config.deterministic.iter().find(|rule| rule.realm == 0)?;
    let first = rule.inside.address.to_bits() + u32::from(rule.skip_boundary);
    any_holds(config.inside.iter(), first).then(|| Ipv4Addr::from_bits(first))
}
