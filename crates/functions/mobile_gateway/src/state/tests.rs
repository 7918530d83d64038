//! Users, base stations, next hops and routes come and go; what is impossible changes nothing.

use super::*;
use crate::config::Tunnel;
use function_kit::sections::Mac;

const STATIONS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 1, 0, 2)];
const HOP: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));

fn config() -> Config {
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    Config {
        base_stations: STATIONS
            .map(|address| BaseStation { address, mac: Some(Mac(mac)) })
            .to_vec(),
        next_hops: vec![config::NextHop { address: HOP, mac: Some(Mac(mac)), source_mac: None }],
        user_capacity: 20,
        base_station_capacity: 3,
        next_hop_capacity: 2,
        route_capacity: 4,
        ..Config::default()
    }
}

fn state(config: &Config) -> State {
    State::new(config, Shard::WHOLE, Clock::with_rate(1e9), 0).expect("a small state")
}

fn user(number: u32) -> User {
    let prefix = Ipv6Addr::from_bits(u128::from(number + 1) << 64);
    User {
        ipv4: Ipv4Addr::from_bits(0x0a00_0000 + number),
        ipv6: Some(Prefixed { address: prefix, len: 64 }),
        teid: number + 1,
        base_station: STATIONS[0],
        uplink_rate: None,
        downlink_rate: None,
    }
}

fn prefix(text: &str) -> Prefixed<IpAddr> {
    Prefixed::try_from(text.to_owned()).expect("a prefix")
}

#[test]
fn a_bearer_is_one_cache_line() {
    assert_eq!((size_of::<Bearer>(), align_of::<Bearer>()), (64, 64));
}

#[test]
fn a_user_costs_at_most_128_bytes_and_64_with_counters() {
    for (ipv6, user_counters, most) in
        [(false, false, 128.0), (true, false, 128.0), (true, true, 192.0)]
    {
        let config = |user_capacity| Config { user_capacity, ipv6, user_counters, ..config() };
        let bytes = |user_capacity| state(&config(user_capacity)).bytes();
        let each = (bytes(300_000) - bytes(1)) as f64 / 300_000.0;
        assert!(each <= most, "{each} bytes a user");
    }
}

#[test]
fn users_come_move_and_go() {
    let mut state = state(&Config { ipv6: true, ..config() });
    let one = user(1);
    assert_eq!(state.add_user(&one, 0), Ok(()));
    assert_eq!(state.add_user(&one, 0), Err(Refusal::Exists));
    assert_eq!(state.add_user(&User { teid: 2, ..user(2) }, 0), Err(Refusal::Exists));
    assert_eq!(state.add_user(&User { ipv4: one.ipv4, ..user(2) }, 0), Err(Refusal::Exists));
    assert_eq!(state.add_user(&User { ipv6: one.ipv6, ..user(2) }, 0), Err(Refusal::Exists));
    assert_eq!(state.users().collect::<Vec<_>>(), [one]);
    assert_eq!(state.hand_over(one.ipv4, STATIONS[1]), Ok(()));
    assert_eq!(state.users().next().map(|user| user.base_station), Some(STATIONS[1]));
    assert_eq!(state.hand_over(one.ipv4, Ipv4Addr::LOCALHOST), Err(Refusal::Invalid));
    assert_eq!(state.hand_over(user(3).ipv4, STATIONS[0]), Err(Refusal::NotFound));
    assert_eq!(state.remove_user(one.ipv4), Ok(()));
    assert_eq!(state.remove_user(one.ipv4), Err(Refusal::NotFound));
    assert_eq!(state.by_ipv6.get(2), None);
}

#[test]
fn a_user_may_have_rates_of_its_own_and_no_ipv6() {
    let mut state = state(&Config { ipv6: true, ..config() });
    let rates = User { uplink_rate: Some(BytesPerSec(1e6)), ipv6: None, ..user(1) };
    assert_eq!(state.add_user(&rates, 0), Ok(()));
    assert_eq!(state.users().collect::<Vec<_>>(), [rates]);
    let bearer = state.bearers[0];
    let of_rate = |rate| Meter::new(rate, 5000.0, 1e9).emptied_at(0);
    assert_eq!(format!("{:?}", bearer.uplink), format!("{:?}", of_rate(1e6)));
    let none = User { downlink_rate: Some(BytesPerSec(0.0)), ..user(2) };
    assert_eq!(state.add_user(&none, 0), Err(Refusal::Invalid));
}

#[test]
fn what_no_packet_could_tell_apart_is_refused() {
    let mut state = state(&Config { ipv6: true, tunnel: Tunnel::Vxlan, ..config() });
    let with = |text: &str| User { ipv6: Prefixed::try_from(text.to_owned()).ok(), ..user(1) };
    let max = Tunnel::Vxlan.teid_max();
    for wrong in [
        with("::/64"),
        with("2001:db8::/48"),
        with("2001:db8::1/64"),
        User { teid: max + 1, ..user(1) },
        User { teid: 0, ..user(1) },
        User { base_station: Ipv4Addr::LOCALHOST, ..user(1) },
    ] {
        assert_eq!(state.add_user(&wrong, 0), Err(Refusal::Invalid), "{wrong:?}");
    }
    assert_eq!(state.add_user(&User { teid: max, ..user(1) }, 0), Ok(()));
}

#[test]
fn routes_come_and_go_and_those_to_base_stations_stay() {
    let mut state = state(&Config { ipv6: true, ..config() });
    for route in [prefix("5.0.1.0/24"), prefix("2001:db8::/32")] {
        assert_eq!(state.add_route(route, HOP), Ok(()));
        assert_eq!(state.add_route(route, HOP), Err(Refusal::Exists));
        assert_eq!(state.remove_next_hop(HOP), Err(Refusal::Invalid), "a route names it");
        assert_eq!(state.remove_route(route), Ok(()));
        assert_eq!(state.remove_route(route), Err(Refusal::NotFound));
    }
    let other = IpAddr::V4(Ipv4Addr::LOCALHOST);
    assert_eq!(state.add_route(prefix("5.0.0.0/8"), other), Err(Refusal::Invalid));
    assert_eq!(state.remove_route(prefix("10.1.0.1/32")), Err(Refusal::NotFound));
    assert_eq!(state.routes.lookup(STATIONS[0].to_bits()), Some(0));
    assert_eq!(state.remove_next_hop(HOP), Ok(()));
    assert_eq!(state.remove_next_hop(HOP), Err(Refusal::NotFound));
}

#[test]
fn a_base_station_keeps_its_slot_while_users_are_behind_it() {
    let mut state = state(&config());
    let mac = MacAddr([2, 0, 0, 0, 0, 9]);
    let station =
        |last| BaseStation { address: Ipv4Addr::new(10, 1, 0, last), mac: Some(Mac(mac)) };
    assert_eq!(state.add_base_station(station(1)), Err(Refusal::Exists));
    assert_eq!(state.add_user(&user(1), 0), Ok(()));
    assert_eq!(state.remove_base_station(STATIONS[0]), Ok(()));
    assert_eq!(state.remove_base_station(STATIONS[0]), Err(Refusal::NotFound));
    assert_eq!(state.add_user(&user(2), 0), Err(Refusal::Invalid), "it is gone");
    assert_eq!(state.add_base_station(station(3)), Ok(()));
    assert_eq!(state.add_base_station(station(4)), Err(Refusal::Full));
    assert_eq!(state.add_base_station(station(1)), Ok(()), "its slot is there");
    assert_eq!(state.remove_base_station(STATIONS[0]), Ok(()));
    assert_eq!(state.remove_user(user(1).ipv4), Ok(()));
    assert_eq!(state.add_base_station(station(4)), Ok(()), "nobody is behind it any more");
    assert_eq!(state.stations().count(), 3);
}

#[test]
fn a_full_state_refuses_and_recovers() {
    let mut state = state(&config());
    (0..20).for_each(|number| assert_eq!(state.add_user(&user(number), 0), Ok(())));
    assert_eq!(state.add_user(&user(20), 0), Err(Refusal::Full));
    assert_eq!(state.remove_user(user(3).ipv4), Ok(()));
    assert_eq!(state.add_user(&user(20), 0), Ok(()));
}

#[test]
fn workers_hold_every_user_once() {
    let users = (0..1000).map(user).collect();
    let config = Config { users, user_capacity: 1000, secret: Some(7), ..config() };
    let shares: Vec<usize> = (0..3)
        .map(|index| {
            let shard = Shard { index, count: 3 };
            let state = State::new(&config, shard, Clock::with_rate(1e9), 0).expect("small");
            state.users().count()
        })
        .collect();
    assert_eq!(shares.iter().sum::<usize>(), 1000);
    assert!(shares.iter().all(|users| (250..420).contains(users)), "{shares:?}");
}
