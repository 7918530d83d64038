//! A whole table by an unmodified FRR into a router that forwards: BGP speaks to bgpd through the
//! router's port, zebra tells the function, and datagrams flow by some of the routes meanwhile.
//!
//! A small one runs with the other tests. The Internet's runs by hand, in minutes and gigabytes,
//! with daemons that are killed, and prints what it takes. `PLUMBLINE_PREFIXES` names a file of its
//! prefixes, one a line, or is empty for made-up ones:
//!
//! ```sh
//! PLUMBLINE_PREFIXES= cargo test --release -p plumbline --test daemon full_table -- --nocapture
//! ```

mod prefixes;
mod speaker;
mod traffic;

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use daemon::client::Client;
use daemon::protocol::{Ask, View};
use netns::Namespace;
use serde_json::Value;

use crate::frr::{self, Frr};
use crate::kit::{Child, Lab};
use crate::neighbours::{host, socket};

use prefixes::prefixes;
use speaker::{Prefix, Speaker};
use traffic::Traffic;

/// How much is tried, and for how long.
struct Scale {
    ipv4: usize,
    ipv6: usize,
    /// Changes per second, and seconds of them.
    changes_per_s: usize,
    changing_s: usize,
    rate_pps: f64,
    /// Whether zebra and the daemon are killed, too.
    kills: bool,
}

#[test]
fn a_table_comes_into_a_router_that_forwards() {
    let (ipv4, ipv6, changes_per_s, changing_s, rate_pps, kills) =
        match std::env::var_os("PLUMBLINE_PREFIXES") {
            Some(_) => (901_899, 160_147, 10_000, 30, 5_000.0, true),
            None => (8_500, 1_500, 2_000, 1, 500.0, false),
        };
    try_out(&Scale { ipv4, ipv6, changes_per_s, changing_s, rate_pps, kills });
}

fn try_out(scale: &Scale) {
    let Some(mut site) = Site::new() else { return };
    let all = prefixes(scale.ipv4, scale.ipv6);
    let router = site.router();
    site.start_frr();
    let mut speaker = site.speaker();
    // What is forwarded by does not change.
    let (kept, changing) = all.split_at(KEPT);
    site.announce(&mut speaker, kept);
    site.wait_for_table(&router, "the first routes");
    let destinations = kept.iter().filter_map(|one| traffic::inside(one.address)).collect();
    let from = socket(&site.lan, (Ipv4Addr::new(10, 0, 1, 2), 7));
    let to = socket(&site.far, (Ipv4Addr::UNSPECIFIED, traffic::PORT));
    let traffic = Traffic::new(from, to, destinations, scale.rate_pps);
    thread::scope(|scope| {
        scope.spawn(|| traffic.send());
        scope.spawn(|| traffic.take());
        let _over = Over(&traffic);
        // Neighbours are asked for, and answer.
        traffic.during(|| thread::park_timeout(Duration::from_millis(500)));
        site.load(&router, &mut speaker, changing, &traffic);
        let (router, mut speaker) = match scale.kills {
            true => site.kill_router(router, &traffic),
            false => (router, speaker),
        };
        site.change(&router, &mut speaker, changing, (scale, &traffic));
        if scale.kills {
            site.save(&router, &traffic);
            site.kill_frr(&router, changing, &traffic);
        }
    });
}

/// Ends the traffic, however a test ends.
struct Over<'a>(&'a Traffic);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

struct Site {
    lab: Lab,
    lan: Namespace,
    far: Namespace,
    frr: Frr,
    /// The next hops of the routes that are announced, by number.
    announced: BTreeMap<Prefix, u8>,
}

impl Site {
    fn new() -> Option<Site> {
        if !frr::is_there() {
            return None;
        }
        if !netns::is_installed("ethtool") {
            println!("skipped: this needs ethtool");
            return None;
        }
        let lab = Lab::bare()?;
        let lan = host(&lab, "lan", &["10.0.1.2/24"], &["default via 10.0.1.1"]);
        let far = host(&lab, "core", &["10.0.2.2/24", "2001:db8:2::2/64"], &[]);
        for number in 0..NEXT_HOPS {
            let (ipv4, ipv6) = next_hops(number);
            far.ip(&format!("addr add {ipv4}/24 dev eth")).expect("an address");
            far.ip(&format!("addr add {ipv6}/64 dev eth nodad")).expect("an address");
        }
        // Whatever is forwarded has come to its host.
        far.ip("route add local 0.0.0.0/0 dev lo table main").expect("a route");
        let off = ["-K", "eth", "tx", "off", "tso", "off", "gso", "off"];
        far.command("ethtool", &off, None).expect("features of veth");
        far.ip("route add 10.0.1.0/24 via 10.0.2.1").expect("a route");
        for near in ["lan", "core"] {
            lab.namespace.ip(&format!("link set {near} arp off")).expect("an interface");
        }
        let (frr, announced) = (Frr::without_daemons(), BTreeMap::new());
        Some(Site { lab, lan, far, frr, announced })
    }

    fn router(&self) -> Child {
        let text = ROUTER.replace("STATE", &self.state().to_string_lossy());
        self.lab.start(&self.lab.write("router.yaml", &text))
    }

    fn state(&self) -> PathBuf {
        self.lab.folder.path().join("router.state")
    }

    fn start_frr(&mut self) {
        self.start_zebra();
        self.frr.run(&self.lab.namespace, "bgpd", &[], BGPD);
    }

    fn start_zebra(&mut self) {
        let fpm = "fpm address 127.0.0.1 port 2620\n";
        self.frr.run(&self.lab.namespace, "zebra", &["-M", "dplane_fpm_nl"], fpm);
    }

    fn speaker(&self) -> Speaker {
        Speaker::accept(&self.far, Ipv4Addr::new(10, 0, 2, 2), FAR)
    }

    fn announce(&mut self, speaker: &mut Speaker, prefixes: &[Prefix]) {
        for (place, chunk) in prefixes.chunks(CHUNK).enumerate() {
            self.announce_by(speaker, chunk, (place % usize::from(NEXT_HOPS)) as u8);
        }
    }

    fn announce_by(&mut self, speaker: &mut Speaker, prefixes: &[Prefix], number: u8) {
        speaker.announce(prefixes, next_hops(number), FAR);
        self.announced.extend(prefixes.iter().map(|prefix| (*prefix, number)));
    }

    fn forget(&mut self, prefixes: &[Prefix]) {
        for prefix in prefixes {
            self.announced.remove(prefix);
        }
    }

    /// The whole table, while traffic flows.
    fn load(&mut self, router: &Child, speaker: &mut Speaker, all: &[Prefix], traffic: &Traffic) {
        let begun = Instant::now();
        let ((), flowed) = traffic.during(|| {
            self.announce(speaker, all);
            println!("announced in {:.2} s", begun.elapsed().as_secs_f64());
            self.wait_for_table(router, "the table");
        });
        let taken_s = begun.elapsed().as_secs_f64();
        let rate = all.len() as f64 / taken_s;
        println!("loaded: {} routes in {taken_s:.2} s, {rate:.0} routes/s; {flowed}", all.len());
        self.print_memory(router);
    }

    /// Routes that lead elsewhere, go and come again at an even rate.
    fn change(
        &mut self,
        router: &Child,
        speaker: &mut Speaker,
        all: &[Prefix],
        (scale, traffic): (&Scale, &Traffic),
    ) {
        let before = applied(router);
        let rounds = scale.changes_per_s * scale.changing_s / CHUNK;
        let begun = Instant::now();
        let (mut sent, mut seed) = (Duration::ZERO, 1_u64);
        let ((), flowed) = traffic.during(|| {
            for round in 0..rounds {
                let chosen: Vec<Prefix> = (0..CHUNK).map(|_| *choose(all, &mut seed)).collect();
                let (gone, moved) = chosen.split_at(CHUNK / 4);
                speaker.withdraw(gone);
                self.forget(gone);
                self.announce_by(speaker, moved, (seed >> 33) as u8 % NEXT_HOPS);
                let changed = (round + 1) * CHUNK;
                let due_s = changed as f64 / scale.changes_per_s as f64;
                let due = begun + Duration::from_secs_f64(due_s);
                while let Some(left) = due.checked_duration_since(Instant::now()) {
                    thread::park_timeout(left);
                }
            }
            sent = begun.elapsed();
            self.wait_for_table(router, "the changes");
        });
        println!(
            "changed: {} routes in {:.2} s, all there {:.2} s later, {} changes; {flowed}",
            rounds * CHUNK,
            sent.as_secs_f64(),
            (begun.elapsed() - sent).as_secs_f64(),
            applied(router) - before,
        );
        self.compare(router);
        self.print_memory(router);
    }

    /// The state file is written.
    fn save(&self, router: &Child, traffic: &Traffic) {
        let begun = Instant::now();
        let (_, flowed) = traffic.during(|| ask(router, Ask::Save));
        let taken_s = begun.elapsed().as_secs_f64();
        println!("saved: in {taken_s:.2} s, {} MiB; {flowed}", mib(&self.state()));
    }

    /// All of FRR is killed, as its watchdog does without zebra; routes go, and it begins anew.
    fn kill_frr(&mut self, router: &Child, all: &[Prefix], traffic: &Traffic) {
        let before = applied(router);
        let begun = Instant::now();
        let (told_s, flowed) = traffic.during(|| {
            self.frr.kill("bgpd");
            self.frr.kill("zebra");
            wait("the end of the connection", || shown(router)["is-connected"] == false);
            self.forget(&all[..GONE]);
            self.start_frr();
            let _speaker = self.announce_anew();
            wait("the table told again", || stale(router) <= 2 * GONE as u64);
            let told_s = begun.elapsed().as_secs_f64();
            self.wait_for_table(router, "the end of what is not told again");
            self.compare(router);
            told_s
        });
        println!(
            "FRR killed: told again after {told_s:.2} s, swept after {:.2} s, {} changes; {flowed}",
            begun.elapsed().as_secs_f64(),
            applied(router) - before,
        );
    }

    /// The daemon is killed, forwards by its journal, and is told everything again.
    fn kill_router(&mut self, router: Child, traffic: &Traffic) -> (Child, Speaker) {
        let journal = self.lab.folder.path().join("router.state.journal");
        let journal_mib = mib(&journal);
        let begun = Instant::now();
        let ((router, ready_s), flowed) = traffic.during(|| {
            drop(router);
            let router = self.router();
            let ready_s = begun.elapsed().as_secs_f64();
            thread::park_timeout(Duration::from_secs(2));
            (router, ready_s)
        });
        println!(
            "daemon killed: ready after {ready_s:.2} s by a journal of {journal_mib} MiB; {flowed}"
        );
        let begun = Instant::now();
        let (speaker, flowed) = traffic.during(|| {
            let speaker = self.announce_anew();
            wait("the table told again", || {
                shown(&router)["is-connected"] == true && stale(&router) == 0
            });
            self.wait_for_table(&router, "the table");
            speaker
        });
        println!("told again after {:.2} s; {flowed}", begun.elapsed().as_secs_f64());
        self.compare(&router);
        self.print_memory(&router);
        (router, speaker)
    }

    /// A new connection, in which everything is announced that was before.
    fn announce_anew(&self) -> Speaker {
        let mut speaker = self.speaker();
        let mut by_next_hop: BTreeMap<u8, Vec<Prefix>> = BTreeMap::new();
        for (prefix, number) in &self.announced {
            by_next_hop.entry(*number).or_default().push(*prefix);
        }
        for (number, prefixes) in by_next_hop {
            speaker.announce(&prefixes, next_hops(number), FAR);
        }
        speaker
    }

    /// Waits until the router has as many routes as are announced, and is at rest.
    fn wait_for_table(&self, router: &Child, what: &str) {
        let mut last = 0;
        wait(what, || {
            let controller = shown(router);
            let (installed, applied) =
                (&controller["routes"]["installed"], &controller["changes"]["applied"]);
            let applied = applied.as_u64().unwrap_or(0);
            let is_at_rest = applied == std::mem::replace(&mut last, applied);
            is_at_rest
                && installed.as_u64() == Some(self.announced.len() as u64)
                && controller["changes"]["open"] == 0
        });
    }

    /// What the router has, what zebra has in the kernel and what is announced are the same.
    fn compare(&self, router: &Child) {
        ask(router, Ask::Save);
        let saved = fs::read(self.state()).expect("it was written");
        let saved: Value = serde_json::from_slice(&saved).expect("JSON");
        let mut next_hops = BTreeMap::new();
        let mut routes = BTreeMap::new();
        for update in saved["memory"]["updates"].as_array().expect("a list") {
            if let Some(one) = update.get("set-next-hop") {
                let hop = &one["next-hop"];
                let address = hop["ip"].as_str().or(hop["ipv6"].as_str()).expect("an address");
                next_hops.insert(one["number"].as_u64(), address.to_owned());
            } else if let Some(one) = update.get("set-route") {
                let prefix = parse(one["prefix"].as_str().expect("a prefix"));
                routes.insert(prefix, number_of(&next_hops[&one["next-hop"].as_u64()]));
            }
        }
        assert_eq!(routes.len(), self.announced.len());
        let differing = self.announced.iter().find(|(prefix, to)| routes.get(prefix) != Some(to));
        assert_eq!(differing, None, "the router");
        if !self.frr_is_whole(router) {
            return;
        }
        let mut kernel = BTreeMap::new();
        for family in ["-4", "-6"] {
            let list = format!("{family} -oneline route show proto bgp");
            for line in self.lab.namespace.ip(&list).expect("routes").lines() {
                let mut words = line.split_whitespace();
                let prefix = words.next().expect("a prefix");
                let via = words.skip_while(|word| *word != "via").nth(1).expect("a gateway");
                kernel.insert(parse(prefix), number_of(via));
            }
        }
        assert!(kernel == self.announced, "{} routes of zebra's", kernel.len());
    }

    /// Whether what zebra has is what is announced.
    fn frr_is_whole(&self, router: &Child) -> bool {
        let controller = shown(router);
        controller["is-connected"] == true && controller["routes"]["stale"] == 0
    }

    fn print_memory(&self, router: &Child) {
        let of = |id: &str| {
            let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
            let kib = line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
            kib.unwrap_or(0) >> 10
        };
        let frr = |name| {
            let id = fs::read_to_string(self.frr.path(&format!("{name}.pid"))).unwrap_or_default();
            of(id.trim())
        };
        let daemon = of(&router.child.id().to_string());
        let (zebra, bgpd) = (frr("zebra"), frr("bgpd"));
        println!("memory: daemon {daemon} MiB, zebra {zebra} MiB, bgpd {bgpd} MiB");
    }
}

/// The length of a file in MiB.
fn mib(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len()) >> 20
}

fn ask(router: &Child, what: Ask) -> Value {
    let mut client = Client::connect(&router.socket).expect("it is there");
    client.ask(what).expect("an answer")
}

/// What the controller shows, at most a second old.
fn shown(router: &Child) -> Value {
    ask(router, Ask::Show(View::Protocols))["protocols"]["frr"]["controller"].clone()
}

fn applied(router: &Child) -> u64 {
    shown(router)["changes"]["applied"].as_u64().unwrap_or(0)
}

fn stale(router: &Child) -> u64 {
    shown(router)["routes"]["stale"].as_u64().unwrap_or(u64::MAX)
}

/// Waits longer than other tests do.
fn wait(what: &str, mut is_there: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !is_there() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::park_timeout(Duration::from_millis(200));
    }
}

fn parse(text: &str) -> Prefix {
    let (address, len) = text.split_once('/').unwrap_or((text, ""));
    let address: IpAddr = address.parse().expect("an address");
    let whole = if address.is_ipv4() { 32 } else { 128 };
    Prefix { address, len: len.parse().unwrap_or(whole) }
}

/// The neighbour by a number.
fn next_hops(number: u8) -> (Ipv4Addr, Ipv6Addr) {
    let last = number + FIRST;
    (Ipv4Addr::new(10, 0, 2, last), Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, last.into()))
}

/// The number of a neighbour.
fn number_of(address: &str) -> u8 {
    let last = match address.parse().expect("an address") {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(address) => address.octets()[15],
    };
    last - FIRST
}

/// One of many, by a linear congruential generator.
fn choose<'a, T>(all: &'a [T], seed: &mut u64) -> &'a T {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    &all[(*seed >> 33) as usize % all.len()]
}

const ROUTER: &str = "function:
  name: l3-router
  ipv6: true
  resolve: true
  route-capacity: 1200000
  ecmp-capacity: 64
  ports:
    - {name: lan, mac: 02:00:00:00:00:01, ip: 10.0.1.1/24, host-interface: h-lan}
    - {name: core, mac: 02:00:00:00:00:02, ip: 10.0.2.1/24, ipv6: 2001:db8:2::1/64,
       host-interface: h-core}
ports:
  lan: {type: af-packet, interface: lan}
  core: {type: af-packet, interface: core}
controller: {name: frr, settle-s: 60}
workers: {idle: sleep}
state: STATE
";

const BGPD: &str = "router bgp 65001
 bgp router-id 10.0.2.1
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor 10.0.2.2 remote-as 65002
 neighbor 10.0.2.2 timers connect 1
 address-family ipv4 unicast
  neighbor 10.0.2.2 activate
 exit-address-family
 address-family ipv6 unicast
  neighbor 10.0.2.2 activate
 exit-address-family
!
";

/// The autonomous system of the far end.
const FAR: u16 = 65_002;

/// Neighbours, and the last octet of the first one's address.
const NEXT_HOPS: u8 = 50;
const FIRST: u8 = 10;

/// Routes that do not change, by which traffic flows.
const KEPT: usize = 1_000;

/// Routes that go while zebra is away.
const GONE: usize = 1_000;

/// Routes that change together.
const CHUNK: usize = 200;
