//! Frames and configurations that several tests use.
use std::net::{Ipv4Addr, Ipv6Addr};

use export::{Format, Logging, Side};
use function_cgnat::Update;
use function_cgnat::config::{
    Alg, Config, DsLite, Family, Filtering, Fragments, Nat64, PortBlocks, PortForwarding, Prefixed,
    Replication, SiitConfig, StaticRule, TcpResets, Timeouts, Vrf,
};
use function_kit::Shard;
use model_cgnat::Cgnat;
use model_cgnat::Traffic;
use model_cgnat::sample::sample;
use model_kit::Model;
use model_kit::check::{Expected, Step};
use packet::PortId;
use testkit::pair::Pair;

/// Towards subscribers.
pub const INSIDE: PortId = PortId(0);
/// Towards the Internet.
pub const OUTSIDE: PortId = PortId(1);

/// A network from its text.
pub fn net(text: &str) -> Prefixed<Ipv4Addr> {
    Prefixed::try_from(text.to_owned()).expect("a prefix")
}

/// The same of IPv6.
pub fn net6(text: &str) -> Prefixed<Ipv6Addr> {
    Prefixed::try_from(text.to_owned()).expect("a prefix")
}

/// The complement of the sum of pairs of bytes (RFC 1071).
pub fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    let bytes = parts.concat();
    let pairs =
        bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | two.get(1).map_or(0, |&low| low.into()));
    let sum: u32 = pairs.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes()
}

/// An IPv4 packet with the right checksum of its header.
pub fn mended(mut packet: Vec<u8>) -> Vec<u8> {
    let header = usize::from(packet[0] & 15) * 4;
    packet[10..12].fill(0);
    let sum = checksum(&[&packet[..header]]);
    packet[10..12].copy_from_slice(&sum);
    packet
}

/// What becomes of a packet that a station sends to a port: the first frame, or the reason for
/// which there is none.
pub fn pass(
    pair: &mut Pair<Cgnat>,
    config: &Config,
    (port, station): (PortId, [u8; 6]),
    packet: &[u8],
) -> Result<(PortId, Vec<u8>), String> {
    let mac = if port == INSIDE { config.inside_mac } else { config.outside_mac };
    let kind = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    let frame = [&mac.0.0[..], &station, &kind, packet].concat();
    match pair.frame(port, &frame).unwrap_or_else(|what| panic!("{what}")) {
        Expected::Forward { port, frame } => Ok((port, frame)),
        Expected::Drop(reason) => Err(reason.to_owned()),
        other => Err(format!("{other:?}")),
    }
}

/// Who sends the packets of tests that write them by hand.
pub const STATION: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// Small NATs of every kind, whose times are no whole numbers of seconds.
pub fn kinds() -> Vec<Config> {
    let base = Config {
        inside: vec![net("10.0.0.0/8")],
        pools: vec![net("198.18.0.0/30")],
        spare_addresses: 8,
        sessions: 3000,
        subscribers: 1000,
        secret: Some(7),
        quarantine_s: 20.5,
        timeouts: Timeouts {
            udp_s: 10.5,
            tcp_established_s: 40.5,
            tcp_syn_s: 8.5,
            tcp_transitory_s: 6.5,
            icmp_s: 3.5,
        },
        port_block: PortBlocks { size: 64, per_subscriber: 4 },
        icmp_errors_per_s: 0,
        ..Config::default()
    };
    let own = StaticRule { inside: net("10.9.0.0/30"), outside: net("203.0.113.64/30") };
    vec![
        base.clone(),
        Config {
            filtering: Filtering::AddressAndPortDependent,
            port_block: PortBlocks { size: 0, per_subscriber: 1 },
            hairpinning: false,
            tcp_pick_up: true,
            timeouts: Timeouts { tcp_syn_s: 12.5, ..base.timeouts },
            ..base.clone()
        },
        Config {
            filtering: Filtering::AddressDependent,
            static_rules: vec![own],
            mss_clamp: 1300,
            timeouts: Timeouts { tcp_syn_s: 4.5, ..base.timeouts },
            icmp_errors_per_s: 3,
            icmp_error_burst: 4,
            tcp_resets: TcpResets::Both,
            fragments: FRAGMENTS,
            quarantine_s: 0.0,
            ..base.clone()
        },
        Config {
            static_rules: vec![own],
            port_block: PortBlocks { size: 128, per_subscriber: 1 },
            sessions: 700,
            sessions_per_subscriber: Some(200),
            icmp_errors_per_s: 1000,
            fragments: Fragments {
                datagrams: 6,
                datagrams_per_sender: 10,
                waiting: 100,
                waiting_per_sender: 5,
                timeout_s: 2.25,
            },
            ..base.clone()
        },
        nat64(&base),
        Config {
            alg: GATEWAYS,
            filtering: Filtering::AddressDependent,
            static_rules: vec![own],
            ..base.clone()
        },
        vrfs(Config { static_rules: vec![own], ..base.clone() }),
        Config {
            mss_clamp: 1300,
            siit: siit(SIIT),
            icmp_errors_per_s: 3,
            icmp_error_burst: 4,
            ..base.clone()
        },
        Config { siit: siit(CLAT), icmp_errors_per_s: 1000, ..base.clone() },
        Config {
            port_forwarding: port_forwarding(),
            static_rules: vec![own],
            fragments: Fragments { datagrams: 64, ..Fragments::default() },
            ..base.clone()
        },
        Config {
            port_forwarding: port_forwarding(),
            alg: Alg { pptp: false, ..GATEWAYS },
            filtering: Filtering::AddressDependent,
            icmp_errors_per_s: 1000,
            ..base.clone()
        },
        Config {
            bypass: vec![net("203.0.112.0/25"), net("45.9.9.9/32")],
            fragments: Fragments { datagrams: 64, ..Fragments::default() },
            icmp_errors_per_s: 3,
            icmp_error_burst: 4,
            ..base.clone()
        },
        ds_lite(base.clone()),
        short_links(Config { static_rules: vec![own], ..base }),
    ]
}

/// The same NAT, whose next hops are asked for their MAC addresses.
pub fn asking(base: Config) -> Config {
    let ipv6 = |last| Some(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last));
    let family = base.siit.as_ref().map(|it| it.inside_family);
    let is_inside = base.nat64.is_some() || base.ds_lite.is_some() || family == Some(Family::Ipv6);
    let is_outside = family == Some(Family::Ipv4);
    Config {
        inside_next_hop: Some(Ipv4Addr::new(100, 127, 255, 253)),
        outside_next_hop: Some(Ipv4Addr::new(203, 0, 113, 2)),
        inside_next_hop_ipv6: ipv6(0xa).filter(|_| is_inside),
        outside_next_hop_ipv6: ipv6(0xb).filter(|_| is_outside),
        ..base
    }
}

/// Fragments that nobody follows.
pub const DROPPED: Fragments = Fragments { datagrams: 0, ..FRAGMENTS };

/// Few datagrams at a time, fewer of each sender.
const FRAGMENTS: Fragments = Fragments {
    datagrams: 64,
    datagrams_per_sender: 16,
    waiting: 32,
    waiting_per_sender: 8,
    timeout_s: 2.25,
};

/// One whose links take less on each side, beside destinations to which nothing is translated.
pub fn short_links(base: Config) -> Config {
    Config {
        inside_mtu: 800,
        outside_mtu: 1301,
        bypass: vec![net("203.0.112.0/25")],
        fragments: FRAGMENTS,
        icmp_errors_per_s: 3,
        icmp_error_burst: 4,
        ..base
    }
}

/// One with softwires, whose subscribers are known by prefixes of their B4 elements' addresses,
/// beside NAT64; short links.
fn ds_lite(base: Config) -> Config {
    let ds_lite = DsLite {
        inside: vec![net6("2001:db8::/32"), net6("3fff:0:1::/48")],
        subscriber_len: 56,
        ipv6_mtu: 1400,
        ..DsLite::default()
    };
    Config { ds_lite: Some(ds_lite), ..nat64(&base) }
}

/// One whose subscribers have the same addresses in three realms, one of which has pools of its
/// own.
fn vrfs(base: Config) -> Config {
    let vrf = |name: &str, vlan, inside: &[&str], pools: &[&str]| Vrf {
        name: name.to_owned(),
        vlan,
        inside: inside.iter().map(|text| net(text)).collect(),
        pools: pools.iter().map(|text| net(text)).collect(),
        next_hop: None,
    };
    Config {
        vrfs: vec![
            vrf("red", 100, &["10.0.0.0/8"], &["198.18.32.0/31"]),
            vrf("blue", 4094, &["192.168.0.0/16", "10.255.0.0/16"], &[]),
            vrf("green", 1, &["10.0.0.0/8"], &[]),
        ],
        mss_clamp: 1300,
        icmp_errors_per_s: 3,
        icmp_error_burst: 4,
        fragments: FRAGMENTS,
        ..base
    }
}

/// Three hosts on two outside addresses: with ports for others than forwarded ones, without, and
/// with no others.
pub fn port_forwarding() -> Vec<PortForwarding> {
    let text = "[{outside: 203.0.113.80, hosts: [\
                  {inside: 10.255.255.250, dynamic-ports: {first-port: 2000, last-port: 2063}, \
                   forwards: [{protocol: tcp, first-port: 80, inside-port: 8080}, \
                              {protocol: udp, first-port: 5000, last-port: 5003}]}, \
                  {inside: 10.9.0.8, \
                   forwards: [{first-port: 2100, last-port: 2101, inside-port: 100}]}]}, \
                 {outside: 203.0.113.81, hosts: [{inside: 10.255.255.251, \
                   dynamic-ports: {first-port: 1024, last-port: 65535}}]}]";
    serde_saphyr::from_str(text).expect("rules")
}

/// Rules that come and go in walks, those of a configuration and others in their way: each
/// possible, refused or already so as it comes.
pub fn rule_changes(config: &Config) -> Vec<Update> {
    let own = [
        ("10.9.0.0/30", "203.0.113.64/30"),
        ("10.9.0.0/31", "203.0.113.66/31"),
        ("10.255.255.252/30", "203.0.113.64/30"),
        ("10.255.255.255/32", "203.0.113.68/32"),
        ("10.255.255.248/31", "203.0.113.80/31"),
        ("10.255.255.254/31", "198.18.0.2/31"),
    ];
    let own = own.map(|(inside, outside)| (net(inside), net(outside)));
    let mut all: Vec<Update> = own
        .into_iter()
        .flat_map(|(inside, outside)| {
            [Update::AddStatic { inside, outside }, Update::RemoveStatic { inside, outside }]
        })
        .collect();
    // The reason for a drop is one of two where logs are on and hosts anybody's.
    if config.logging.is_some() && config.port_forwarding.is_empty() {
        return all;
    }
    let other = "[{outside: 203.0.113.80, hosts: [\
                   {inside: 10.255.255.250, dynamic-ports: {first-port: 3000, last-port: 3063}, \
                    forwards: [{protocol: tcp, first-port: 80, inside-port: 8080}]}, \
                   {inside: 10.9.0.8, \
                    forwards: [{first-port: 2100, last-port: 2101, inside-port: 100}]}]}, \
                 {outside: 203.0.113.65, hosts: [{inside: 10.255.255.250, \
                   dynamic-ports: {first-port: 1024, last-port: 2000}}]}]";
    let other: Vec<PortForwarding> = serde_saphyr::from_str(other).expect("rules");
    let both = port_forwarding().into_iter().chain(other);
    all.extend(both.flat_map(|PortForwarding { outside, hosts }| {
        let removed = Update::RemovePortForwarding { outside };
        [Update::SetPortForwarding { outside, hosts }, removed]
    }));
    all
}

/// A section of this text.
pub fn siit(text: &str) -> Option<SiitConfig> {
    serde_saphyr::from_str(text).expect("a section")
}

/// IPv6 hosts inside: mapped, one of them out of a larger network, and embedded; short links.
pub const SIIT: &str = "{mappings: [\
     {ipv4: 198.51.100.0/26, ipv6: '2001:db8:aa::/64'}, \
     {ipv4: 198.51.100.5/32, ipv6: '2001:db8:bb::5/128'}, \
     {ipv4: 198.18.4.0/31, ipv6: '2001:db8:cc::/127'}, \
     {ipv4: 203.0.113.200/32, ipv6: '2001:db8:dd::/128', side: outside}], \
     prefix: '2001:db8:6400::/56', embedded: [198.51.100.128/25], ipv4-mtu: 1400}";

/// A customer's IPv4 network, and the provider's prefix.
pub const CLAT: &str = "{inside-family: ipv4, prefix: '2001:db8:64::/96', \
     mappings: [{ipv4: 192.168.7.0/24, ipv6: '2001:db8:c1a7::/120'}], ipv6-mtu: 1280}";

/// One with IPv6 subscribers, whose own prefix stands for IPv4 hosts and has them around octet u.
fn nat64(base: &Config) -> Config {
    let nat64 = Nat64 {
        prefix: net6("2001:db8:6400::/56"),
        inside: vec![net6("3fff::/20"), net6("2001:db8::/32")],
        ipv4_mtu: 1400,
        ipv6_mtu: 1500,
    };
    let (icmp_errors_per_s, icmp_error_burst) = (3, 4);
    let fragments = Fragments { datagrams: 64, datagrams_per_sender: 16, ..Fragments::default() };
    Config {
        fragments,
        nat64: Some(nat64),
        mss_clamp: 1300,
        tcp_resets: TcpResets::Inside,
        icmp_errors_per_s,
        icmp_error_burst,
        ..base.clone()
    }
}

/// All application-level gateways.
pub const GATEWAYS: Alg = Alg { ftp: true, sip: true, pptp: true, connections: 64 };
/// NATs of those kinds, in their order, whose logs tell much or little, in both formats.
pub fn logged() -> Vec<Config> {
    let kinds = kinds();
    let [first, open, own, limited] = [0, 1, 2, 3].map(|index: usize| kinds[index].clone());
    let logging = |format| Logging {
        begins_at_s: Some(1_795_335_330),
        ..Logging::to(
            format,
            [203, 0, 113, 9].into(),
            [203, 0, 113, 1].into(),
            Config::default().outside_next_hop_mac.0,
        )
    };
    let (ipfix, syslog) = (logging(Format::Ipfix), logging(Format::Syslog));
    let sessions = Logging { sessions: true, destinations: true, ..ipfix.clone() };
    let all = Logging { mappings: true, ..sessions.clone() };
    let inside = Logging { sessions: true, leaves_by: Side::Inside, ..syslog.clone() };
    vec![
        Config { logging: Some(sessions.clone()), ..first.clone() },
        Config { logging: Some(inside), ..open },
        Config { logging: Some(all), ..own },
        Config { logging: Some(syslog), ..limited },
        nat64(&Config { logging: Some(sessions.clone()), ..first.clone() }),
        Config { logging: Some(ipfix), ..first },
        Config { logging: Some(sessions.clone()), ..kinds[6].clone() },
        Config { logging: Some(sessions), ..kinds[11].clone() },
    ]
}

/// The configuration as the lab would hand it on.
pub fn valid(config: &Config, traffic: &Traffic) -> (Config, Traffic) {
    let (mut config, mut traffic) = (config.clone(), traffic.clone());
    Cgnat::validate(&mut config, &mut traffic).expect("a valid configuration");
    (config, traffic)
}

/// Traffic that any of the configurations takes.
pub fn traffic() -> Traffic {
    Traffic { sessions: 1, client: 4, server: 4, client_ports: 1, ..Traffic::default() }
}

/// The steps of the functional check.
pub fn steps(config: &Config) -> Vec<Step<Update>> {
    sample(config, &traffic())
}

/// The frames of the functional check as they come in: answers are filled in by a device of the
/// same configuration, which tells no standby of its sessions.
pub fn sample_frames(config: &Config) -> Vec<(PortId, Vec<u8>)> {
    let alone = Config { replication: Replication::default(), ..config.clone() };
    let mut pair = Pair::<Cgnat>::new(&alone, Shard::WHOLE);
    let mut history = model_kit::check::History::default();
    let mut frames = Vec::new();
    for step in steps(config) {
        let (port, frame) = match step {
            Step::Frame { port, frame, .. } => (port, frame),
            Step::Answer { port, answer, .. } => (port, history.fill(&answer)),
            Step::Wait(time) => {
                pair.wait(time).expect("they agree");
                continue;
            }
            Step::Update(update) => {
                pair.update(&update).expect("they agree");
                continue;
            }
        };
        history.note(&pair.frame(port, &frame).expect("they agree"));
        frames.push((port, frame));
    }
    frames
}
