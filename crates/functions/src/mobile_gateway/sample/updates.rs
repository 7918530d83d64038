//! Changes, each with the frames that show it before, while and after it holds.

use std::net::Ipv4Addr;

use wire::protocol;

use super::super::catalogue::{self, User};
use super::super::config::Tunnel;
use super::super::control::Update;
use super::Sample;
use super::build::{datagram, packet};

/// Users arrive, move and depart; impossible changes change nothing.
pub(super) fn users(sample: &mut Sample) {
    let config = sample.config().clone();
    let guest = catalogue::passing_user(1, config.user, config.bst);
    both_ways(sample, &guest, "before a user arrives");
    sample.update(Update::AddUser(guest));
    both_ways(sample, &guest, "after a user arrived");
    refused_users(sample, &guest);
    both_ways(sample, &guest, "after changes that were impossible");
    for base_station in [config.bst - 1, 0] {
        sample.update(Update::Handover { teid: guest.teid, base_station });
        both_ways(sample, &guest, "after a handover");
    }
    sample.update(Update::RemoveUser { teid: guest.teid });
    both_ways(sample, &guest, "after a user departed");
    sample.update(Update::RemoveUser { teid: guest.teid });
    // The next one has the same address in another bearer.
    let heir = User { teid: guest.teid + 1, ..guest };
    sample.update(Update::AddUser(heir));
    both_ways(sample, &guest, "from a bearer that is gone");
    both_ways(sample, &heir, "after the next user arrived");
    sample.update(Update::RemoveUser { teid: heir.teid });
    configured_users(sample);
}

/// A configured user moves, departs and returns; elsewhere it is nobody's.
fn configured_users(sample: &mut Sample) {
    let config = sample.config().clone();
    let last = catalogue::user(config.user - 1, config.bst);
    both_ways(sample, &last, "a configured user");
    let base_station = (last.base_station + 1) % config.bst;
    sample.update(Update::Handover { teid: last.teid, base_station });
    both_ways(sample, &last, "a configured user after a handover");
    sample.update(Update::RemoveUser { teid: last.teid });
    both_ways(sample, &last, "a configured user who departed");
    sample.update(Update::AddUser(last));
    both_ways(sample, &last, "a configured user who returned");
}

fn refused_users(sample: &mut Sample, guest: &User) {
    let config = sample.config().clone();
    let other = catalogue::passing_user(2, config.user, config.bst);
    let mut impossible = vec![
        Update::AddUser(*guest),
        Update::AddUser(User { teid: guest.teid, ..other }),
        Update::AddUser(User { ipv4: guest.ipv4, ..other }),
        Update::AddUser(User { base_station: config.bst, ..other }),
        Update::AddUser(User { teid: 0, ..other }),
        Update::RemoveUser { teid: other.teid },
        Update::RemoveUser { teid: 0 },
        Update::RemoveUser { teid: u32::MAX },
        Update::Handover { teid: guest.teid, base_station: config.bst },
        Update::Handover { teid: other.teid, base_station: 0 },
    ];
    if config.ipv6 {
        impossible.push(Update::AddUser(User { ipv6_prefix: guest.ipv6_prefix, ..other }));
        impossible.push(Update::AddUser(User { ipv6_prefix: 0, ..other }));
    }
    if config.tunnel() == Tunnel::Vxlan {
        impossible.push(Update::AddUser(User { teid: catalogue::VNI_MAX + 1, ..other }));
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
    sample.update(Update::AddServer { prefix: network, len: 24, next_hop: last });
    to_server(sample, host, "after a route appeared");
    sample.update(Update::AddServer { prefix: wide, len: 8, next_hop: 0 });
    to_server(sample, host, "with a shorter route beside it");
    sample.update(Update::AddServer { prefix: host, len: 32, next_hop: 0 });
    to_server(sample, host, "with a longer route beside it");
    let server = catalogue::server_ipv4(0);
    let known = Ipv4Addr::from_bits(server.to_bits() & 0xffff_ff00);
    let station = catalogue::base_station_ipv4(0);
    for update in [
        Update::AddServer { prefix: network, len: 24, next_hop: 0 },
        Update::AddServer { prefix: known, len: 24, next_hop: 0 },
        Update::AddServer { prefix: station, len: 32, next_hop: 0 },
        Update::AddServer { prefix: host, len: 24, next_hop: 0 },
        Update::AddServer { prefix: host, len: 33, next_hop: 0 },
        Update::AddServer { prefix: wide, len: 9, next_hop: config.nhop },
        Update::RemoveServer { prefix: wide, len: 9 },
        Update::RemoveServer { prefix: network, len: 25 },
        Update::RemoveServer { prefix: network, len: 200 },
        Update::RemoveServer { prefix: station, len: 32 },
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
        sample.update(Update::RemoveServer { prefix, len });
        to_server(sample, host, about);
    }
    sample.update(Update::AddServer { prefix: Ipv4Addr::UNSPECIFIED, len: 0, next_hop: 0 });
    to_server(sample, Ipv4Addr::new(9, 9, 9, 9), "by a default route");
    sample.update(Update::RemoveServer { prefix: Ipv4Addr::UNSPECIFIED, len: 0 });
    to_server(sample, Ipv4Addr::new(9, 9, 9, 9), "without a default route");
    sample.update(Update::RemoveServer { prefix: known, len: 24 });
    to_server(sample, server, "after a configured route disappeared");
    sample.update(Update::AddServer { prefix: known, len: 24, next_hop: last });
    to_server(sample, server, "after it appeared again");
    sample.update(Update::RemoveUser { teid: visitor.teid });
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
