//! The functional check's sample: frames that reach every verdict and every drop reason that a
//! configuration allows, and the changes between them.
//!
//! Frames from outside are answers ([`Step::Answer`]): which outside address and port a subscriber
//! has is the device's choice. Visitors, subscribers from the end of the networks inside, do all
//! that is out of the ordinary. Between its parts passes the time after which every session is over
//! and every port has rested; pauses keep half a second at least from any timeout. The size does
//! not depend on numbers that are configured but for small tables, which are filled.
use function_cgnat::config::{Config, Filtering};
use function_cgnat::control::Update;
use model_kit::check::Step;

use crate::sections::Traffic;

mod build;
mod entries;
mod ipv6;
mod next_hops;
mod places;
mod reach;
mod softwires;

mod steps;

mod aging;
mod algs;
mod bypass;
mod calls;
mod deterministic;
mod fragments;
mod host;
mod limits;
mod links;
mod nat64;
mod pcp;
mod port_forwarding;
mod refusals;
mod rules;
mod sessions;
mod siit;
mod workers;

mod any_realm;

mod ds_lite;
mod interfaces;
mod vrfs;

use places::Places;
use reach::Reach;
use steps::Sample;

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
        rules::rules,
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
        ("not-active", "one NAT alone is the active one"),
        ("mapping-busy", "it takes more sessions of a mapping than a sample opens"),
        // Devices of another making are one, whatever the number of workers here.
        ("other-worker", "the device is no part of several, or one part has every outside port"),
    ];
    let mut unless = |is_reached: bool, name, cause| {
        if !is_reached {
            reasons.push((name, cause));
        }
    };
    let has_vlans = !config.vrfs.is_empty() || entries::has_ports(config);
    unless(has_vlans, "unknown-vlan", "tags are no VLAN's without VRFs and further ports");
    unless(places.stranger.is_some(), "not-inside", "every address is inside");
    unless(!config.tcp_pick_up, "tcp-no-session", "any segment opens a session");
    unless(config.pcp.is_some(), "pcp-ignored", "nobody is asked for mappings");
    unless(config.alg.pptp, "no-call", "GRE is nobody's without a gateway for PPTP");
    let to_itself = places.one_to_one.is_some() && config.hairpinning;
    let has_none = !config.pools.is_empty() || !config.port_forwarding.is_empty() || to_itself;
    unless(has_none, "no-mapping", "every outside address is one subscriber's");
    let filters = config.filtering != Filtering::EndpointIndependent;
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
    let has_few = port_forwarding::is_exhaustible(config) || rules::has_hosts(config);
    let exhausted = reach.ports_exhausted || has_few;
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
    unless(next_hops::are_asked(config), "neighbour-heard", "next hops have MAC addresses");
    for name in ["awaiting-neighbour", "pending-full", "unresolved"] {
        let cause = "next hops have MAC addresses, or no session lives without them";
        unless(next_hops::are_awaited(config), name, cause);
    }
    reasons
}
