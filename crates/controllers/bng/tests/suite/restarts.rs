//! A controller that begins again at a gateway that has sessions.

use protocol_ppp::Method;
use protocol_radius::List;
use serde_json::json;

use crate::host::Host;
use crate::server::{START, STOP};
use crate::world::{World, keys, seconds};

#[test]
fn stations_keep_their_sessions_and_peers_dial_again() {
    let config = keys(json!({
        "ipoe": {"authentication": "radius"},
        "pppoe": {"authentication": "radius"},
    }));
    let mut world = World::new(&config, 1);
    world.server.is_open = true;
    world.server.add("user", "password", List::new());
    let [stays, goes] = [1, 2].map(|number| world.add(Host::dhcp(number.into(), number)));
    let peer = world.add(Host::dialled(3, 3, &[Method::ChapMd5], "user", "password"));
    [stays, goes, peer].iter().for_each(|host| world.begin(*host));
    world.run(seconds(20));
    let address = world.hosts[stays].address();
    assert!(world.pass(stays, 1000) && world.pass(peer, 10));
    let asked = world.server.asked;
    world.restart(&config, 2);
    world.end(goes, false);
    world.run(seconds(2));
    assert!(world.pass(stays, 1), "it forwards all the time");
    let stop = world.server.of_user("user", STOP).expect("what the peer has used is accounted");
    assert_eq!((stop.octets, stop.addresses.len()), ([10, 20], 2));
    assert!(world.dialled(peer).closed > 0, "its host was told");
    world.begin(peer);
    world.run(seconds(300));
    assert_eq!((world.hosts[stays].address(), world.dhcp(stays).naks), (address, 1));
    assert!(world.pass(stays, 1) && world.pass(peer, 1));
    assert_eq!(world.server.asked, asked + 1, "of the peer alone");
    // Who has gone meanwhile is gone after a lease's time, and volumes are those of both lives.
    assert_eq!(world.gateway.sessions.len(), 3);
    world.run(seconds(320));
    assert_eq!(world.gateway.sessions.len(), 2);
    world.end(stays, true);
    world.run(seconds(5));
    let stop = world.server.of_user("02:00:00:00:01:01", STOP).expect("a stop");
    assert_eq!(stop.octets, [1002, 2004]);
    world.end(peer, true);
    world.run(seconds(70));
    assert_eq!((world.gateway.sessions.len(), world.used()), (0, vec![0; 4]));
    let of_both_lives = world.server.sessions(START).len();
    assert_eq!((of_both_lives, world.server.sessions(STOP).len()), (7, 4));
}
