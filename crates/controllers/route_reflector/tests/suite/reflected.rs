//! Requirements of RFC 4456, message by message: who is told what of whom, and with which
//! attributes.

use controller_route_reflector::fuzz::model::{Attributes, Prefix};
use protocol_bgp::families::Family;
use protocol_bgp::speaker::Command;
use serde_json::{Value, json};

use crate::site::{Peer, Site, address, from, prefix};

const FAMILY: Family = Family::Ipv4Unicast;

/// Two clients, two other speakers of the AS, and one of another AS: nodes 1 to 5.
fn site(more: Value) -> Site {
    let mut keys = json!({
        "listen": ["0.0.0.0:179"],
        "peers": [
            {"address": address(1)}, {"address": address(2)},
            {"address": address(3), "client": false}, {"address": address(4), "client": false},
            {"address": address(5), "as": OTHER_AS, "import": "accept", "export": "accept"},
        ],
    });
    keys.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
    let own = Peer::own(&[FAMILY]);
    let other = Peer { asn: OTHER_AS, ..own.clone() };
    Site::new(keys, &[own.clone(), own.clone(), own.clone(), own, other])
}

/// The nodes that know a prefix.
fn who_knows(site: &Site, prefix: Prefix) -> Vec<usize> {
    (1..=5).filter(|node| site.knows(*node, FAMILY, prefix).is_some()).collect()
}

/// What a node tells with all attributes that count within an AS.
fn whole(node: usize) -> Attributes {
    Attributes {
        path: vec![7, 8],
        med: Some(30),
        preference: Some(200),
        communities: vec![65_536],
        ..from(node)
    }
}

/// - `route-reflector`, RFC 4456 section 6: a route of a non-client goes to clients, one of a
///   client to all others, one of another AS to all
#[test]
fn routes_go_to_those_whom_they_are_for() {
    let mut site = site(json!({}));
    for (node, others) in [
        (1, &[2, 3, 4, 5][..]),
        (2, &[1, 3, 4, 5]),
        (3, &[1, 2, 5]),
        (4, &[1, 2, 5]),
        (5, &[1, 2, 3, 4]),
    ] {
        let own = prefix(node as u32);
        site.announce(node, FAMILY, &[own], &Attributes { path: vec![OTHER_AS], ..from(node) });
        assert_eq!(who_knows(&site, own), others, "of {node}");
        site.withdraw(node, FAMILY, &[own]);
        assert!(who_knows(&site, own).is_empty(), "of {node}, which has taken it back");
    }
}

/// - `route-reflector`, RFC 4456 section 10: reflection between clients that have sessions with
///   each other can be turned off; others are told as before
#[test]
fn clients_that_tell_each_other_need_no_reflection() {
    let mut site = site(json!({"client-to-client": false}));
    site.announce(1, FAMILY, &[prefix(1)], &from(1));
    assert_eq!(who_knows(&site, prefix(1)), [3, 4, 5]);
    site.announce(3, FAMILY, &[prefix(3)], &from(3));
    assert_eq!(who_knows(&site, prefix(3)), [1, 2, 5]);
}

/// - `route-reflector`, RFC 4456 section 8: a route that is reflected has the identifier of whoever
///   brought it into the AS, where it had none, and the cluster in front of its list
#[test]
fn reflected_routes_have_their_originator_and_cluster() {
    let mut site = site(json!({"cluster": "10.0.9.9"}));
    site.announce(1, FAMILY, &[prefix(1)], &whole(1));
    let told =
        |site: &Site, node| site.knows(node, FAMILY, prefix(1)).cloned().expect("it is told");
    let expected = Attributes { originator: Some(1), clusters: vec![CLUSTER], ..whole(1) };
    assert_eq!(told(&site, 2), expected, "to a client");
    assert_eq!(told(&site, 3), expected, "to a non-client");
    // What others have made of it stays.
    let passed = Attributes { originator: Some(77), clusters: vec![5, 6], ..whole(1) };
    site.announce(1, FAMILY, &[prefix(1)], &passed);
    let expected = Attributes { clusters: vec![CLUSTER, 5, 6], ..passed };
    assert_eq!(told(&site, 2), expected);
    // Another AS hears nothing of either, nor does a route of it get them.
    let to_other = told(&site, 5);
    assert_eq!((to_other.originator, to_other.clusters), (None, vec![]));
    site.announce(5, FAMILY, &[prefix(5)], &Attributes { path: vec![OTHER_AS], ..from(5) });
    let of_other = site.knows(1, FAMILY, prefix(5)).expect("it is told");
    assert_eq!((of_other.originator, &of_other.clusters), (None, &vec![]));
}

/// - `route-reflector`, RFC 4456 section 10: NEXT_HOP, AS_PATH, LOCAL_PREF and MED of a reflected
///   route are those that it came with
#[test]
fn reflection_changes_nothing_else() {
    let mut site = site(json!({}));
    site.announce(1, FAMILY, &[prefix(1)], &whole(1));
    let told = site.knows(2, FAMILY, prefix(1)).expect("it is told");
    let own = Attributes { originator: None, clusters: Vec::new(), ..told.clone() };
    assert_eq!(own, whole(1));
}

/// - `route-reflector`, RFC 4456 section 7: the cluster is the reflector's identifier where none is
///   given
#[test]
fn a_cluster_without_a_number_has_the_reflectors() {
    let mut site = site(json!({}));
    site.announce(1, FAMILY, &[prefix(1)], &from(1));
    let told = site.knows(2, FAMILY, prefix(1)).expect("it is told");
    assert_eq!(told.clusters, [IDENTIFIER]);
}

/// - `route-reflector`, RFC 4456 section 8: a route that comes back is ignored, by its originator
///   or its cluster, and takes the place of one that was there before
#[test]
fn routes_that_come_back_are_ignored() {
    let mut site = site(json!({"cluster": "10.0.9.9"}));
    for back in [
        Attributes { originator: Some(IDENTIFIER), ..from(1) },
        Attributes { clusters: vec![CLUSTER], ..from(1) },
        Attributes { clusters: vec![5, CLUSTER, 6], ..from(1) },
    ] {
        site.announce(1, FAMILY, &[prefix(1)], &from(1));
        assert_eq!(who_knows(&site, prefix(1)), [2, 3, 4, 5]);
        site.announce(1, FAMILY, &[prefix(1)], &back);
        assert!(who_knows(&site, prefix(1)).is_empty(), "{back:?}");
    }
    // The identifier of the reflector is no cluster here, nor is a client's originator its own.
    let fine = Attributes { clusters: vec![IDENTIFIER], originator: Some(CLUSTER), ..from(1) };
    site.announce(1, FAMILY, &[prefix(1)], &fine);
    assert_eq!(who_knows(&site, prefix(1)), [2, 3, 4, 5]);
}

/// - `route-reflector`, RFC 4456 section 9: ORIGINATOR_ID counts in the place of the peer's
///   identifier, and then the shorter CLUSTER_LIST, where none counts as empty
#[test]
fn originators_and_clusters_decide() {
    let mut site = site(json!({}));
    let best = |site: &Site| {
        let all = site.all("routes", &[("for", "198.51.1.0/24")]);
        (all[0]["from"].clone(), all[0]["why"].clone())
    };
    let at = |node: usize| json!(address(node).to_string());
    site.announce(1, FAMILY, &[prefix(1)], &from(1));
    site.announce(2, FAMILY, &[prefix(1)], &from(2));
    assert_eq!(best(&site), (at(1), json!("best: the lowest router identifier")));
    let by = |originator: u32, clusters: &[u32], node: usize| Attributes {
        originator: Some(originator),
        clusters: clusters.to_vec(),
        ..from(node)
    };
    site.announce(1, FAMILY, &[prefix(1)], &by(9, &[5], 1));
    assert_eq!(best(&site), (at(2), json!("best: the lowest router identifier")));
    site.announce(2, FAMILY, &[prefix(1)], &by(9, &[5, 6], 2));
    assert_eq!(best(&site), (at(1), json!("best: the shortest CLUSTER_LIST")));
    site.announce(2, FAMILY, &[prefix(1)], &by(9, &[], 2));
    assert_eq!(best(&site), (at(2), json!("best: the shortest CLUSTER_LIST")));
    site.announce(2, FAMILY, &[prefix(1)], &by(9, &[6], 2));
    assert_eq!(best(&site), (at(1), json!("best: the lowest peer address")));
}

/// - `route-reflector`, RFC 4456 section 6: what is told follows the best path as that changes
///   between peers, and goes with the session
#[test]
fn what_is_told_follows_the_best_path() {
    let mut site = site(json!({}));
    let weighed =
        |node: usize, preference: u32| Attributes { preference: Some(preference), ..from(node) };
    site.announce(3, FAMILY, &[prefix(1)], &weighed(3, 100));
    assert_eq!(who_knows(&site, prefix(1)), [1, 2, 5], "of a non-client");
    site.announce(1, FAMILY, &[prefix(1)], &weighed(1, 150));
    assert_eq!(who_knows(&site, prefix(1)), [2, 3, 4, 5], "of a client, which is taken from it");
    site.announce(3, FAMILY, &[prefix(1)], &weighed(3, 200));
    assert_eq!(who_knows(&site, prefix(1)), [1, 2, 5]);
    site.command(3, Command::Stop(0, "maintenance".to_owned()));
    site.known.remove(&3);
    assert_eq!(who_knows(&site, prefix(1)), [2, 4, 5], "the client's again");
}

const OTHER_AS: u32 = 65_001;

/// The reflector's identifier, 192.0.2.1.
const IDENTIFIER: u32 = 0xc000_0201;

/// The cluster 10.0.9.9.
const CLUSTER: u32 = 0x0a00_0909;
