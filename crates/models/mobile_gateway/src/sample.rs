//! The functional check's sample: frames that reach every verdict and every drop reason that a
//! configuration allows, and the changes between them.
//!
//! Ordinary frames come from the workload, as the bench sends them. Everything out of the ordinary
//! is of visitors, who are added first: so a worker sees all of it whichever users are its own.
//! Between frames passes the time in which the largest one is earned back, so that the policer acts
//! where it is meant to. The size does not depend on the number of users.

use crate::section::Section;
use function_mobile_gateway::Update;
use function_mobile_gateway::config::Tunnel;
use model_kit::check::Step;

use crate::sections::Traffic;

mod build;
mod crossing;
mod fragments;
mod host;
mod inner;
mod ipv6;
mod neighbours;
mod outer;
mod own_ipv6;
mod policer;
mod steps;
mod tunnel;
mod updates;

use steps::Sample;

/// The sample for a validated configuration.
pub fn sample(config: &Section, traffic: &Traffic) -> Vec<Step<Update>> {
    let mut sample = Sample::new(config);
    sample.ordinary(traffic);
    outer::ethernet(&mut sample);
    outer::arp(&mut sample);
    outer::ipv4(&mut sample);
    outer::udp(&mut sample);
    match config.tunnel() {
        Tunnel::GtpU => tunnel::gtpu(&mut sample),
        Tunnel::Vxlan => tunnel::vxlan(&mut sample),
    }
    tunnel::truncated(&mut sample);
    fragments::fragments(&mut sample);
    host::pings(&mut sample);
    host::lengths(&mut sample);
    own_ipv6::own_ipv6(&mut sample);
    crossing::users(&mut sample);
    inner::ipv4(&mut sample);
    inner::syns(&mut sample);
    inner::routes(&mut sample);
    ipv6::ipv6(&mut sample);
    policer::policer(&mut sample);
    neighbours::neighbours(&mut sample);
    neighbours::base_station(&mut sample);
    updates::users(&mut sample);
    updates::servers(&mut sample);
    sample.steps
}

/// Drop reasons that the sample cannot reach under a configuration, each with the cause.
pub fn unreachable(config: &Section) -> Vec<(&'static str, &'static str)> {
    let mut reasons = vec![("unhandled", "every packet gets a verdict")];
    reasons.extend(fragments::unreachable(&config.fragments));
    reasons.extend(host::unreachable(config));
    reasons.extend(crossing::unreachable(config));
    if config.tunnel() == Tunnel::Vxlan {
        let names = [
            "gtp-version",
            "gtp-extension",
            "gtp-message",
            "gtp-end-marker",
            "gtp-error-indication",
        ];
        reasons.extend(names.map(|name| (name, "the tunnel is VXLAN")));
    }
    if config.fakedrop {
        let names = ["unknown-teid", "unknown-user", "no-route"];
        reasons.extend(names.map(|name| (name, "fakedrop sends unmatched frames on")));
    }
    if policer::frames_to_exceed(config).is_none() {
        reasons.push(("rate-exceeded", "the burst is larger than a sample"));
    }
    reasons
}
