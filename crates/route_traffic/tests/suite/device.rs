//! A plain route reflector over threads and blocking sockets, which does what it is told to do
//! wrong. It reads and writes by the product's codec, of which the tester has nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use protocol_bgp::attributes::{
    Attributes, CLUSTER_LIST, EXTENDED_COMMUNITIES, LOCAL_PREF, ORIGINATOR_ID, rewrite,
};
use protocol_bgp::capabilities::Capability;
use protocol_bgp::framing::Framing;
use protocol_bgp::message::{Kind, LEN_MAX, write_keepalive};
use protocol_bgp::open::Open;
use protocol_bgp::{Builder, Family, FamilySet, Reading, Scan, Writing};
use route_traffic::{Device, Usage};

pub const AS: u32 = 65000;
pub const CLUSTER: u32 = 0x0a00_00fe;

pub const FAMILIES: [Family; 5] =
    [Family::Ipv4Unicast, Family::Ipv6Unicast, Family::VpnV4, Family::VpnV6, Family::L2vpnEvpn];

/// What a reflector does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// It does not pass one of n routes on.
    Loses(usize),
    /// It passes one of n routes on with another LOCAL_PREF.
    Alters(usize),
    /// It sends routes back to their source.
    SendsBack,
    /// It tells each client in an order of its own.
    Shuffles,
    /// It tells everything twice, with withdrawals of what is not there between.
    Repeats,
    /// It closes the sessions of some clients after their first routes.
    Closes,
    /// It sends what is no message.
    Babbles,
    /// It sends UPDATEs whose lengths lie.
    Lies,
}

type Key = (Family, Vec<u8>);

#[derive(Clone)]
struct Route {
    block: Vec<u8>,
    next_hop: Vec<u8>,
    rest: Vec<u8>,
}

#[derive(Default)]
struct State {
    /// By key, then by the source's identifier: the first one is the best.
    table: BTreeMap<Key, BTreeMap<u32, Route>>,
    peers: HashMap<u32, Sender<Vec<u8>>>,
    /// The route targets of those that have told some.
    targets: HashMap<u32, Vec<Vec<u8>>>,
    /// Those that are told nothing yet, because they are about to tell some (RFC 4684 section 5).
    waiting: HashSet<u32>,
    streams: Vec<TcpStream>,
}

struct Running {
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    address: SocketAddr,
    listener: Option<JoinHandle<()>>,
}

/// A device for tests.
pub struct Reflector {
    fault: Fault,
    running: Option<Running>,
}

impl Reflector {
    pub fn new(fault: Fault) -> Reflector {
        Reflector { fault, running: None }
    }

    fn run(&mut self) -> Result<SocketAddr, String> {
        self.running = None;
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let (state, stop) =
            (Arc::new(Mutex::new(State::default())), Arc::new(AtomicBool::new(false)));
        let (shared, stopped, fault) = (Arc::clone(&state), Arc::clone(&stop), self.fault);
        let accept = move || {
            let mut sessions = Vec::new();
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&shared);
                lock(&shared).streams.push(stream.try_clone().expect("a socket"));
                sessions.push(thread::spawn(move || serve(stream, &shared, fault)));
            }
            sessions.into_iter().for_each(|session| session.join().expect("no panic"));
        };
        let listener = Some(thread::spawn(accept));
        self.running = Some(Running { state, stop, address, listener });
        Ok(address)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for stream in &lock(&self.state).streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // The listener wakes for a last connection.
        let _ = TcpStream::connect(self.address);
        for stream in &lock(&self.state).streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
        lock(&self.state).peers.clear();
        self.listener.take().into_iter().for_each(|one| one.join().expect("no panic"));
    }
}

impl Device for Reflector {
    fn start(&mut self) -> Result<SocketAddr, String> {
        self.run()
    }

    fn restart(&mut self) -> Result<SocketAddr, String> {
        self.run()
    }

    fn usage(&mut self) -> Usage {
        Usage { cpu_ns: Some(1), cpu_of: "a test".into(), resident_bytes: None }
    }

    fn health(&mut self) -> Result<(), String> {
        Ok(())
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("no panic")
}

fn writing() -> Writing {
    let families: FamilySet = FAMILIES.into_iter().collect();
    let none = FamilySet::NONE;
    Writing { families, path_ids: none, extended_next_hops: none, is_wide: true, len_max: LEN_MAX }
}

fn serve(mut stream: TcpStream, shared: &Arc<Mutex<State>>, fault: Fault) {
    let (mut framing, mut scan) = (Framing::default(), Scan::default());
    let mut buffer = vec![0; 1 << 16];
    let mut peer = 0;
    let families: FamilySet = FAMILIES.into_iter().chain([Family::RouteTarget]).collect();
    let none = FamilySet::NONE;
    let reading = Reading {
        families,
        path_ids: none,
        extended_next_hops: none,
        is_wide: true,
        is_external: false,
    };
    let (sender, receiver) = channel::<Vec<u8>>();
    let mut out = stream.try_clone().expect("a socket");
    let writer = thread::spawn(move || {
        for bytes in receiver {
            let is_last = bytes.get(18) == Some(&(Kind::Notification as u8));
            if out.write_all(&bytes).is_err() || is_last {
                break;
            }
        }
        let _ = out.shutdown(Shutdown::Both);
    });
    'read: while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let mut bytes = &buffer[..count];
        while let Some(message) = framing.next(&mut bytes, LEN_MAX).expect("messages") {
            match message.kind {
                Kind::Open => {
                    let open = Open::read(message.body).expect("an OPEN");
                    peer = open.identifier;
                    let (afi, safi) = Family::RouteTarget.numbers();
                    if open.capabilities.contains(&Capability::Multiprotocol(afi, safi)) {
                        lock(shared).waiting.insert(peer);
                    }
                    let mut capabilities = vec![Capability::FourOctetAs(AS)];
                    let offered = FAMILIES.into_iter().chain([Family::RouteTarget]);
                    capabilities.extend(offered.map(|family| {
                        let (afi, safi) = family.numbers();
                        Capability::Multiprotocol(afi, safi)
                    }));
                    let mut hello = Vec::new();
                    Open { asn: AS, hold_time_s: 90, identifier: CLUSTER, capabilities }
                        .write(&mut hello);
                    write_keepalive(&mut hello);
                    let _ = sender.send(hello);
                }
                Kind::Keepalive => {
                    let mut state = lock(shared);
                    if !state.peers.contains_key(&peer) {
                        greet(&state, peer, &sender, fault);
                        state.peers.insert(peer, sender.clone());
                    }
                }
                Kind::Update => {
                    let update = scan.read(message.body, &reading).expect("an UPDATE");
                    let mut state = lock(shared);
                    if update.end_of_rib == Some(Family::RouteTarget) {
                        state.waiting.remove(&peer);
                        greet(&state, peer, &sender, fault);
                    }
                    for field in update.withdrawn() {
                        for nlri in field.nlris() {
                            let key = nlri.expect("checked").key.as_slice().to_vec();
                            change(&mut state, (field.family, key), peer, None, fault);
                        }
                    }
                    for field in update.announced() {
                        for nlri in field.nlris() {
                            let nlri = nlri.expect("checked");
                            let route = Route {
                                block: scan.block().to_vec(),
                                next_hop: field.next_hop.to_vec(),
                                rest: nlri.rest.as_slice().to_vec(),
                            };
                            let key = (field.family, nlri.key.as_slice().to_vec());
                            if key.0 == Family::RouteTarget {
                                // Bits, an AS, a route target.
                                let targets = state.targets.entry(peer).or_default();
                                targets.push(key.1[5..].to_vec());
                                continue;
                            }
                            change(&mut state, key, peer, Some(route), fault);
                        }
                    }
                }
                Kind::Notification => break 'read,
                Kind::RouteRefresh => {}
            }
        }
    }
    // Its routes remain: the tests that end sessions look at what others have.
    lock(shared).peers.remove(&peer);
    drop(sender);
    let _ = stream.shutdown(Shutdown::Both);
    writer.join().expect("no panic");
}

/// Tells a new peer all there is.
fn greet(state: &State, peer: u32, to: &Sender<Vec<u8>>, fault: Fault) {
    let mut all: Vec<(&Key, u32, &Route)> = Vec::new();
    for (key, routes) in &state.table {
        let (source, route) = routes.first_key_value().expect("a route");
        if *source != peer && is_wanted(state, peer, &route.block) {
            all.push((key, *source, route));
        }
    }
    if fault == Fault::Shuffles && !all.is_empty() {
        let at = peer as usize % all.len();
        all.rotate_left(at);
    }
    for (key, source, route) in all {
        let Some(route) = passed_on(key, route.clone(), fault) else { continue };
        let mut out = Vec::new();
        announce(key, source, &route, &mut out);
        let _ = to.send(out);
    }
}

/// Whether a route is one of n, the same ones in whatever order they come.
fn is_one_of(n: usize, key: &Key) -> bool {
    let number = key.1.iter().fold(0_usize, |all, byte| all.wrapping_mul(31) ^ usize::from(*byte));
    number.is_multiple_of(n)
}

/// A route as it is passed on, if it is.
fn passed_on(key: &Key, mut route: Route, fault: Fault) -> Option<Route> {
    match fault {
        Fault::Loses(n) if is_one_of(n, key) => return None,
        Fault::Alters(n) if is_one_of(n, key) => {
            let mut block = Vec::new();
            rewrite(&route.block, &[(LOCAL_PREF, Some(&[0, 0, 0, 7][..]))], &mut block);
            route.block = block;
        }
        _ => {}
    }
    Some(route)
}

fn announce(key: &Key, source: u32, route: &Route, out: &mut Vec<u8>) {
    let mut block = Vec::new();
    let (source, cluster) = (source.to_be_bytes(), CLUSTER.to_be_bytes());
    let changes = [(ORIGINATOR_ID, Some(&source[..])), (CLUSTER_LIST, Some(&cluster[..]))];
    rewrite(&route.block, &changes, &mut block);
    let writing = writing();
    let mut builder = Builder::announce(out, &writing, (key.0, &route.next_hop), &block);
    builder.push(0, &key.1, &route.rest).expect("room");
    builder.finish();
}

fn withdraw(key: &Key, rest: &[u8], out: &mut Vec<u8>) {
    let writing = writing();
    let mut builder = Builder::withdraw(out, &writing, key.0);
    builder.push(0, &key.1, rest).expect("room");
    builder.finish();
}

fn change(state: &mut State, key: Key, source: u32, route: Option<Route>, fault: Fault) {
    let routes = state.table.entry(key.clone()).or_default();
    let before = routes.keys().next().copied();
    match route {
        Some(route) => routes.insert(source, route),
        None => routes.remove(&source),
    };
    let mut out = Vec::new();
    let mut best = routes.first_key_value().map(|(source, route)| (*source, route.clone()));
    if best.is_none() {
        state.table.remove(&key);
    }
    // What is not the best one is nobody's affair.
    if best.as_ref().is_some_and(|(best, _)| *best != source && before == Some(*best)) {
        return;
    }
    let is_there = best.is_some();
    best = best.and_then(|(source, route)| Some((source, passed_on(&key, route, fault)?)));
    if is_there && best.is_none() {
        return;
    }
    match &best {
        Some((source, route)) => announce(&key, *source, route, &mut out),
        None => withdraw(&key, &[], &mut out),
    }
    if fault == Fault::Repeats {
        let once = out.clone();
        withdraw(&(Family::Ipv4Unicast, vec![32, 203, 0, 113, 1]), &[], &mut out);
        write_keepalive(&mut out);
        out.extend(once);
    }
    if fault == Fault::Babbles && is_one_of(20, &key) {
        out = vec![7; 40];
    }
    if fault == Fault::Lies && is_one_of(20, &key) {
        let len = out.len();
        out[19.min(len - 1)] = 0xff;
    }
    let from = best.as_ref().map_or(source, |(source, _)| *source);
    let mut closed = Vec::new();
    let told = best.as_ref().map(|(_, route)| route.block.clone()).unwrap_or_default();
    for (peer, to) in &state.peers {
        if !is_wanted(state, *peer, &told) {
            continue;
        }
        let is_own = *peer == from && fault != Fault::SendsBack;
        if fault == Fault::Closes && peer % 3 == 0 && *peer != from {
            closed.push(*peer);
        } else if !is_own && fault != Fault::Shuffles {
            let _ = to.send(out.clone());
        } else if !is_own {
            shuffled(&out, *peer, to);
        }
    }
    // A NOTIFICATION ends a session.
    for peer in closed {
        let notification = protocol_bgp::Notification::with_text(
            protocol_bgp::notification::ADMINISTRATIVE_RESET,
            "a test",
        );
        let mut out = Vec::new();
        notification.write(&mut out);
        let _ = state.peers.remove(&peer).expect("one of them").send(out);
    }
}

/// Whether a peer is told a route with a block by its route targets.
fn is_wanted(state: &State, peer: u32, block: &[u8]) -> bool {
    let targets = state.targets.get(&peer);
    !state.waiting.contains(&peer) && targets.is_none_or(|targets| has_one(block, targets))
}

/// Whether a block has one of some route targets.
fn has_one(block: &[u8], targets: &[Vec<u8>]) -> bool {
    let mut all = Attributes::new(block).filter(|one| one.code == EXTENDED_COMMUNITIES);
    all.any(|one| one.value.chunks(8).any(|member| targets.iter().any(|target| target == member)))
}

/// Tells a client of a route with an UPDATE before it that takes it away, for some clients.
fn shuffled(out: &[u8], peer: u32, to: &Sender<Vec<u8>>) {
    if peer.is_multiple_of(2) {
        let mut before = Vec::new();
        withdraw(&(Family::Ipv4Unicast, vec![32, 203, 0, 113, peer as u8]), &[], &mut before);
        let _ = to.send(before);
    }
    let _ = to.send(out.to_vec());
}
