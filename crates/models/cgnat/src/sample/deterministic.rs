//! A subscriber whose outside address and ports follow from its inside address (RFC 7422).
use function_cgnat::types::sides::OUTSIDE;

use super::build::datagram;
use super::limits::without_limit;
use super::reach::{exhaustible, subscriber};
use super::steps::Sample;

/// It has ports until those that are its own are used up, and what subscribers of its rule share.
pub(super) fn deterministic(sample: &mut Sample) {
    let Some(own) = subscriber(&sample.config) else { return };
    let server = (sample.server(0), 25);
    let sent = sample.inside("deterministic: a subscriber sends", &datagram((own, 9000), server));
    let answer = datagram(server, (own, 9000));
    sample.answer_to((OUTSIDE, sent), "deterministic: it is answered", &answer);
    sample.inside("deterministic: another port", &datagram((own, 9001), server));
    let Some(count) = exhaustible(&sample.config) else { return };
    without_limit(sample, |sample| {
        for number in 0..=count {
            let port = 10_000 + number as u16;
            sample.inside("deterministic: one more mapping", &datagram((own, port), server));
        }
        sample.inside("deterministic: one that is there", &datagram((own, 9000), server));
    });
}
