//! What two speakers agree on.

use std::time::Duration;

use protocol_bgp::capabilities::{Capability, Role};
use protocol_bgp::config::{Config, Restart};
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::message::{EXTENDED_LEN_MAX, HEADER_LEN, LEN_MAX};
use protocol_bgp::negotiated::{Negotiated, negotiate};
use protocol_bgp::notification::{
    BAD_IDENTIFIER, BAD_PEER_AS, Notification, ROLE_MISMATCH, UNSUPPORTED_CAPABILITY,
};
use protocol_bgp::open::Open;

use crate::driven::{config, remote, said};

fn set<const N: usize>(families: [Family; N]) -> FamilySet {
    families.into_iter().collect()
}

/// What one agrees on with the other, whose OPEN goes over the wire.
fn agreed(own: &Config, other: &Config) -> Result<Negotiated, Notification> {
    negotiate(own, &Open::read(&said(&other.open())[HEADER_LEN..]).unwrap())
}

fn fails(own: &Config, other: &Config) -> Notification {
    agreed(own, other).expect_err("no session")
}

#[test]
fn both_sides_agree_on_the_same() {
    let families = set([Family::Ipv4Unicast, Family::Ipv6Unicast, Family::VpnV4]);
    let one = Config {
        families,
        receives_paths: set([Family::Ipv4Unicast, Family::Ipv6Unicast]),
        sends_paths: set([Family::VpnV4, Family::Ipv6Unicast]),
        extended_next_hops: set([Family::Ipv4Unicast, Family::VpnV4]),
        hold_time_s: 30,
        ..config()
    };
    let other = Config {
        families: set([Family::Ipv4Unicast, Family::Ipv6Unicast, Family::Vpls]),
        sends_paths: set([Family::Ipv4Unicast]),
        receives_paths: set([Family::Ipv6Unicast, Family::Vpls]),
        extended_next_hops: set([Family::Ipv4Unicast]),
        ..remote()
    };
    let [ours, theirs] = [agreed(&one, &other).unwrap(), agreed(&other, &one).unwrap()];
    let both = set([Family::Ipv4Unicast, Family::Ipv6Unicast]);
    for agreed in [&ours, &theirs] {
        assert_eq!((agreed.reading.families, agreed.writing.families), (both, both));
        assert_eq!(agreed.hold_time, Duration::from_secs(30));
        assert_eq!(agreed.reading.extended_next_hops, set([Family::Ipv4Unicast]));
        assert_eq!(agreed.writing.len_max, EXTENDED_LEN_MAX);
        assert!(agreed.reading.is_wide && agreed.writing.is_wide && agreed.reading.is_external);
        assert!(agreed.has_refresh && agreed.has_enhanced_refresh);
    }
    assert_eq!(ours.reading.path_ids, set([Family::Ipv4Unicast]));
    assert_eq!(ours.writing.path_ids, set([Family::Ipv6Unicast]));
    assert_eq!(theirs.reading.path_ids, ours.writing.path_ids);
    assert_eq!(theirs.writing.path_ids, ours.reading.path_ids);
    assert_eq!((ours.peer_as, ours.identifier), (other.local_as, other.identifier));
}

#[test]
fn who_offers_nothing_gets_what_there_always_was() {
    let plain = |asn: u32| Open { asn, hold_time_s: 90, identifier: 9, capabilities: vec![] };
    let agreed = negotiate(&config(), &plain(65_002)).unwrap();
    assert_eq!(agreed.reading.families, set([Family::Ipv4Unicast]));
    assert_eq!(agreed.writing.len_max, LEN_MAX);
    assert!(!agreed.reading.is_wide && !agreed.has_refresh && agreed.restart.is_none());
    // Where IPv4 is not wanted there is nothing to agree on.
    let config = Config { families: set([Family::VpnV4, Family::L2vpnEvpn]), ..config() };
    let why = negotiate(&config, &plain(65_002)).unwrap_err();
    assert_eq!(why.cause, UNSUPPORTED_CAPABILITY);
    assert_eq!(why.data, [1, 4, 0, 1, 0, 128, 1, 4, 0, 25, 0, 70]);
    // Families that this speaker does not know are none.
    let mut open = plain(65_002);
    open.capabilities.push(Capability::Multiprotocol(7, 7));
    assert_eq!(
        negotiate(&crate::driven::config(), &open).unwrap_err().cause,
        UNSUPPORTED_CAPABILITY
    );
    open.capabilities.push(Capability::Multiprotocol(1, 1));
    assert!(negotiate(&crate::driven::config(), &open).is_ok());
}

#[test]
fn ases_and_identifiers() {
    assert_eq!(fails(&config(), &Config { local_as: 7, ..remote() }).cause, BAD_PEER_AS);
    // An AS of four bytes is meant where two cannot say it.
    let wide = Config { peer_as: 70_000, ..config() };
    assert!(agreed(&wide, &Config { local_as: 70_000, ..remote() }).is_ok());
    let trans = Config { local_as: 23_456, is_wide: false, ..remote() };
    assert_eq!(fails(&wide, &trans).cause, BAD_PEER_AS);
    // Within an AS identifiers are different (RFC 6286 section 2.2).
    let identifier = config().identifier;
    let internal = Config { peer_as: config().local_as, ..config() };
    let own = Config { local_as: config().local_as, identifier, ..remote() };
    assert_eq!(fails(&internal, &own).cause, BAD_IDENTIFIER);
    assert!(agreed(&config(), &Config { identifier, ..remote() }).is_ok());
    let narrow = agreed(&Config { is_wide: false, ..config() }, &remote()).unwrap();
    assert!(!narrow.reading.is_wide && !narrow.writing.is_wide);
    let short = agreed(&config(), &Config { has_extended_messages: false, ..remote() }).unwrap();
    assert_eq!((short.writing.len_max, short.len_max), (LEN_MAX, EXTENDED_LEN_MAX));
    let short = agreed(&Config { has_extended_messages: false, ..config() }, &remote()).unwrap();
    assert_eq!((short.writing.len_max, short.len_max), (LEN_MAX, LEN_MAX));
}

#[test]
fn roles_belong_together_or_there_is_no_session() {
    // RFC 9234 section 4.2.
    const ROLES: [Role; 5] =
        [Role::Provider, Role::RouteServer, Role::RouteServerClient, Role::Customer, Role::Peer];
    for own in ROLES {
        for other in ROLES {
            let pair = [own, other];
            let fits = [
                [Role::Provider, Role::Customer],
                [Role::Customer, Role::Provider],
                [Role::RouteServer, Role::RouteServerClient],
                [Role::RouteServerClient, Role::RouteServer],
                [Role::Peer, Role::Peer],
            ]
            .contains(&pair);
            let with = |config: Config, role| Config { role: Some(role), ..config };
            match agreed(&with(config(), own), &with(remote(), other)) {
                Ok(agreed) => assert!(fits && agreed.role == Some(own), "{pair:?}"),
                Err(why) => assert!(!fits && why.cause == ROLE_MISMATCH, "{pair:?}"),
            }
        }
        // Whoever says none is taken for right, unless it has to say one.
        let role = Some(own);
        assert_eq!(agreed(&Config { role, ..config() }, &remote()).unwrap().role, None);
        let strict = Config { role, is_role_strict: true, ..config() };
        assert_eq!(fails(&strict, &remote()).cause, ROLE_MISMATCH);
        // Within an AS there are none.
        let internal = Config { peer_as: config().local_as, ..strict };
        let own = Config { local_as: config().local_as, ..remote() };
        assert_eq!(agreed(&internal, &own).unwrap().role, None);
    }
    // Two different ones are wrong, whatever they are; the same one twice is one.
    let customer = Config { role: Some(Role::Customer), ..config() };
    let mut open = remote().open();
    open.capabilities.extend([Capability::Role(0), Capability::Role(0)]);
    assert_eq!(negotiate(&customer, &open).unwrap().role, Some(Role::Customer));
    open.capabilities.push(Capability::Role(4));
    assert_eq!(negotiate(&customer, &open).unwrap_err().cause, ROLE_MISMATCH);
}

#[test]
fn a_restart_is_what_both_know_of() {
    let families = set([Family::Ipv4Unicast, Family::Ipv6Unicast]);
    let restart = Restart {
        time_s: 5000,
        is_restarting: true,
        has_notification: true,
        families: set([Family::Ipv4Unicast, Family::VpnV4]),
        preserved: set([Family::Ipv4Unicast]),
    };
    let one = Config { families, restart: Some(Restart::default()), ..config() };
    let other = Config { families, restart: Some(restart), ..remote() };
    let agreed_restart = agreed(&one, &other).unwrap().restart.unwrap();
    assert!(agreed_restart.is_restarting && !agreed_restart.has_notification);
    assert_eq!(agreed_restart.time, Duration::from_secs(4095));
    assert_eq!(agreed_restart.families, set([Family::Ipv4Unicast]));
    assert_eq!(agreed_restart.preserved, set([Family::Ipv4Unicast]));
    let theirs = agreed(&other, &one).unwrap().restart.unwrap();
    assert!(!theirs.is_restarting && theirs.families.is_empty());
    let notified = Config { restart: Some(restart), ..one.clone() };
    assert!(agreed(&notified, &other).unwrap().restart.unwrap().has_notification);
    assert_eq!(agreed(&Config { restart: None, ..one }, &other).unwrap().restart, None);
    assert_eq!(agreed(&notified, &remote()).unwrap().restart, None);
}

#[test]
fn path_identifiers_in_directions_that_there_are_not() {
    let config = Config {
        receives_paths: set([Family::Ipv4Unicast]),
        sends_paths: set([Family::Ipv4Unicast]),
        ..config()
    };
    for (directions, reads, writes) in
        [(0, false, false), (1, false, true), (2, true, false), (3, true, true), (7, false, false)]
    {
        let mut open = remote().open();
        open.capabilities.push(Capability::AddPath(vec![(1, 1, directions)]));
        let agreed = negotiate(&config, &open).unwrap();
        assert_eq!(!agreed.reading.path_ids.is_empty(), reads, "{directions}");
        assert_eq!(!agreed.writing.path_ids.is_empty(), writes, "{directions}");
    }
}
