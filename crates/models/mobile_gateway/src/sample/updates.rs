//! Changes, each with the frames that show it before, while and after it holds.
use std::net::Ipv4Addr;

use crate::catalogue::{self, User, add_route, remove_route};
use function_mobile_gateway::Update;
use function_mobile_gateway::config::Tunnel;
use wire::protocol;

use super::build::{datagram, packet};
use super::steps::Sample;

/// Users arrive, move and depart; impossible changes change nothing.
pub(super) fn users(sample: &mut Sample) {
    let config = sample.config().clone();
    let guest = catalogue::passing_user(1, config.user, config.bst);
    both_ways(sample, &guest, "before a user arrives");
    sample.update(guest.added());
    both_ways(sample, &guest, "after a user arrived");
    refused_users(sample, &guest);
    both_ways(sample, &guest, "after changes that were impossible");
    for base_station in [config.bst - 1, 0] {
        sample.update(guest.moved(base_station));
        both_ways(sample, &guest, "after a handover");
    }
    sample.update(guest.removed());
    both_ways(sample, &guest, "after a user departed");
    sample.update(guest.removed());
    // The next one has the same address in another bearer.
    let heir = User { teid: guest.teid + 1, ..guest };
    sample.update(heir.added());
    both_ways(sample, &guest, "from a bearer that is gone");
    both_ways(sample, &heir, "after the next user arrived");
    sample.update(heir.removed());
    configured_users(sample);
}

/// A configured user moves, departs and returns; elsewhere it is nobody's.
fn configured_users(sample: &mut Sample) {
    let config = sample.config().clone();
    let last = catalogue::user(config.user - 1, config.bst);
    both_ways(sample, &last, "a configured user");
    let base_station = (last.base_station + 1) % config.bst;
    sample.update(last.moved(base_station));
    both_ways(sample, &last, "a configured user after a handover");
    sample.update(last.removed());
    both_ways(sample, &last, "a configured user who departed");
    sample.update(last.added());
    both_ways(sample, &last, "a configured user who returned");
}

fn refused_users(sample: &mut Sample, guest: &User) {
    let config = sample.config().clone();
    let other = catalogue::passing_user(2, config.user, config.bst);
    let mut impossible = vec![
        guest.added(),
        User { teid: guest.teid, ..other }.added(),
        User { ipv4: guest.ipv4, ..other }.added(),
        User { base_station: config.bst, ..other }.added(),
        User { teid: 0, ..other }.added(),
        other.removed(),
        Update::RemoveUser { ipv4: Ipv4Addr::UNSPECIFIED },
        Update::RemoveUser { ipv4: Ipv4Addr::BROADCAST },
        guest.moved(config.bst),
        other.moved(0),
    ];
    if config.ipv6 {
        impossible.push(User { ipv6_prefix: guest.ipv6_prefix, ..other }.added());
        impossible.push(User { ipv6_prefix: 0, ..other }.added());
    }
    if config.tunnel() == Tunnel::Vxlan {
        impossible.push(User { teid: catalogue::VNI_MAX + 1, ..other }.added());
    }
    impossible.into_iter().for_each(|update| sample.update(update));
    both_ways(sample, &other, "a user who could not be added");
}

/// Routes appear and disappear, longer ones before shorter ones.
pub(super) fn servers(sample: &mut Sample) {
    let config = sample.config().clone();
    let host = catalogue::passing_server_ipv4(0);
    let network = Ipv4Addr::from_bits(host.to_bits() & 0xffff_ff00);
    let wide = Ipv4Addr::new(5, 0, 0, 0);
    let last = config.nhop - 1;
    to_server(sample, host, "before a route appears");
    sample.update(add_route(network, 24, last));
    to_server(sample, host, "after a route appeared");
    sample.update(add_route(wide, 8, 0));
    to_server(sample, host, "with a shorter route beside it");
    sample.update(add_route(host, 32, 0));
    to_server(sample, host, "with a longer route beside it");
    let server = catalogue::server_ipv4(0);
    let known = Ipv4Addr::from_bits(server.to_bits() & 0xffff_ff00);
    let station = catalogue::base_station_ipv4(0);
    for update in [
        add_route(network, 24, 0),
        add_route(known, 24, 0),
        add_route(station, 32, 0),
        add_route(host, 24, 0),
        add_route(host, 33, 0),
        add_route(wide, 9, config.nhop),
        remove_route(wide, 9),
        remove_route(network, 25),
        remove_route(network, 200),
        remove_route(station, 32),
    ] {
        sample.update(update);
    }
    to_server(sample, host, "after changes that were impossible");
    to_server(sample, server, "a configured route after them");
    let visitor = sample.visitor;
    both_ways(sample, &visitor, "a base station's route after them");
    for (prefix, len, about) in [
        (host, 32, "after the longest route disappeared"),
        (network, 24, "after the next longest disappeared"),
        (wide, 8, "after the last one disappeared"),
    ] {
        sample.update(remove_route(prefix, len));
        to_server(sample, host, about);
    }
    sample.update(add_route(Ipv4Addr::UNSPECIFIED, 0, 0));
    to_server(sample, Ipv4Addr::new(9, 9, 9, 9), "by a default route");
    sample.update(remove_route(Ipv4Addr::UNSPECIFIED, 0));
    to_server(sample, Ipv4Addr::new(9, 9, 9, 9), "without a default route");
    sample.update(remove_route(known, 24));
    to_server(sample, server, "after a configured route disappeared");
    sample.update(add_route(known, 24, last));
    to_server(sample, server, "after it appeared again");
    sample.update(visitor.removed());
    both_ways(sample, &visitor, "after the visitor departed");
}

/// A packet from and one for a user, in each version of IP.
fn both_ways(sample: &mut Sample, user: &User, about: &'static str) {
    let mut packets = vec![[true, false].map(|uplink| sample.make.packet(user, uplink, 80))];
    if sample.config().ipv6 {
        packets.push([true, false].map(|uplink| sample.make.packet_ipv6(user, uplink, 80)));
    }
    for [up, down] in packets {
        let (up, down) = (sample.make.tunnelled(user, &up), sample.make.over_core(&down));
        sample.access(about, up);
        sample.core(about, down);
    }
}

fn to_server(sample: &mut Sample, server: Ipv4Addr, about: &'static str) {
    let user = sample.visitor;
    let packet = packet(user.ipv4, server, protocol::UDP, &datagram((40_000, 9), &[1; 40]));
    let frame = sample.make.tunnelled(&user, &packet);
    sample.access(about, frame);
}
