//! The functional check's sample: frames that reach every verdict and every drop reason that a
//! configuration allows, and the changes between them.
//!
//! Ordinary frames come from the workload, as the bench sends them. What is out of the ordinary
//! goes to a network of a visitor, which is added first and removed last, so that the router is
//! then as it was. The size does not depend on the number of routes, and no frame waits for
//! another.

use function_l3_router::control::Said;
use model_kit::check::Step;

use self::steps::{Sample, stranger};
use crate::generated::{self, Section};
use crate::sections::Traffic;

mod ethernet;
mod groups;
mod headers;
mod host;
mod hosted;
mod interfaces;
mod ipv4;
mod ipv6;
mod neighbours;
mod reassembly;
mod rules;
mod services;
mod steps;
mod tunnels;
mod updates;

/// The sample for a validated configuration.
pub fn sample(section: &Section, traffic: &Traffic) -> Vec<Step<Said>> {
    let mut sample = Sample::new(section);
    sample.ordinary(traffic);
    rules::configured(&mut sample);
    services::open(&mut sample);
    sample.arrive();
    ethernet::ethernet(&mut sample);
    ethernet::arp(&mut sample);
    ipv4::ipv4(&mut sample);
    ipv6::ipv6(&mut sample);
    updates::routes(&mut sample);
    updates::next_hops(&mut sample);
    groups::groups(&mut sample);
    if !sample.config.is_plain() {
        interfaces::interfaces(&mut sample);
    }
    if !sample.config.is_plain() {
        host::host(&mut sample);
        hosted::hosted(&mut sample);
    }
    tunnels::tunnels(&mut sample);
    if sample.config.resolve {
        neighbours::neighbours(&mut sample);
    }
    reassembly::reassembly(&mut sample);
    services::lists(&mut sample);
    services::policers(&mut sample);
    sample.depart();
    services::close(&mut sample);
    sample.steps
}

/// Drop reasons that the sample cannot reach under a configuration, each with the cause.
pub fn unreachable(section: &Section) -> Vec<(&'static str, &'static str)> {
    let config = &generated::config(section);
    let mut reasons = vec![("unhandled", "every packet gets a verdict")];
    if config.fakedrop {
        reasons.push(("no-route", "fakedrop sends packets without a route on"));
    } else if stranger(config).is_none() {
        reasons.push(("no-route", "the routes cover all addresses that a sample would try"));
    }
    if config.is_plain() {
        reasons.push(("unknown-vlan", "without interfaces and a host's part, no tag is looked at"));
    }
    if !config.interfaces.iter().any(|one| !one.urpf.is_none()) {
        reasons.push(("reverse-path", "no interface asks for a route to the source"));
    }
    if !config.interfaces.iter().any(|one| one.vxlan.is_some()) {
        reasons.push(("unknown-tunnel", "no interface has a tunnel"));
    }
    for reason in ["bfd-heard", "bfd-ignored"] {
        reasons.push((reason, "the far end of BFD is silent in the sample"));
    }
    reasons.push(("told-by-worker", "one worker alone sees the sample"));
    reasons.extend(host::unreachable(config));
    reasons.extend(neighbours::unreachable(config));
    reasons.extend(services::unreachable(config));
    reasons.extend(reassembly::unreachable(config));
    reasons
}
