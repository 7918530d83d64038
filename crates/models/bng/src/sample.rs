//! The functional check's sample: frames that reach every verdict and every drop reason that a
//! configuration allows, and the changes between them.
//!
//! Ordinary frames come from the workload, as the bench sends them. Everything out of the ordinary
//! is of two visitors, one by Ethernet alone and one by PPPoE, whose sessions begin first. The size
//! does not depend on the number of subscribers.

use function_bng::Update;
use model_kit::check::Step;

use crate::section::Section;
use crate::sections::Traffic;

mod build;
mod changes;
mod control;
mod frames;
mod host;
mod lists;
mod neighbours;
mod packets;
mod queues;
mod rates;
mod steps;

use steps::Sample;

/// The sample for a validated configuration.
pub fn sample(section: &Section, traffic: &Traffic) -> Vec<Step<Update>> {
    let mut sample = Sample::new(section);
    sample.ordinary(traffic);
    frames::ethernet(&mut sample);
    frames::tags(&mut sample);
    frames::pppoe(&mut sample);
    control::arp(&mut sample);
    control::dhcp(&mut sample);
    control::discovery(&mut sample);
    packets::ipv4(&mut sample);
    packets::ipv6(&mut sample);
    packets::addresses(&mut sample);
    packets::segments(&mut sample);
    host::pings(&mut sample);
    host::lengths(&mut sample);
    lists::lists(&mut sample);
    rates::rates(&mut sample);
    queues::queues(&mut sample);
    neighbours::neighbours(&mut sample);
    changes::sessions(&mut sample);
    changes::common(&mut sample);
    sample.steps
}

/// Drop reasons that the sample cannot reach under a configuration, each with the cause.
pub fn unreachable(section: &Section) -> Vec<(&'static str, &'static str)> {
    let config = crate::generated::config(section);
    let mut reasons = vec![
        ("unhandled", "every packet gets a verdict"),
        ("too-long", "there is room in front of every packet"),
        ("buffers-full", "no queue may have all memory, nor all queues together"),
        ("queue-too-long", "no frame of the sample is that long"),
    ];
    reasons.extend(host::unreachable(&config));
    if !queues::has_share(&config) {
        reasons.push(("queue-share", "a queue of the sample holds little of so much memory"));
    }
    if config.first_packets {
        reasons.push(("unknown-session", "first packets are told to the control plane"));
    }
    if config.session_queues == 0 {
        reasons.extend(["queued", "queue-full"].map(|name| (name, "there are no queues")));
    }
    reasons
}
