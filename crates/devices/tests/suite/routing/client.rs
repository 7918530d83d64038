//! A peer of a route reflector, as small as one can be: it says OPEN, tells routes, and keeps what
//! it is told.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use protocol_bgp::attributes::{self, AS_PATH, EXTENDED_COMMUNITIES, LOCAL_PREF, ORIGIN};
use protocol_bgp::builder::{Builder, write_end_of_rib};
use protocol_bgp::config::{Config, Restart};
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::framing::Framing;
use protocol_bgp::message::{Kind, write_keepalive};
use protocol_bgp::negotiated::{Negotiated, PeerRestart, negotiate};
use protocol_bgp::nlri::Nlris;
use protocol_bgp::open::Open;
use protocol_bgp::update::Scan;
use socket2::{Domain, Socket, Type};

/// The AS of the reflector.
pub const ASN: u32 = 65_000;

/// A peer with its session.
pub struct Client {
    stream: TcpStream,
    config: Config,
    framing: Framing,
    scan: Scan,
    negotiated: Option<Negotiated>,
    is_up: bool,
    /// The number of the route target of what it tells.
    pub target: u8,
    /// What it was told and not taken again, by family and key.
    pub heard: BTreeMap<(Family, Vec<u8>), Heard>,
}

/// What stands beside a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    pub originator: Option<u32>,
    pub clusters: Vec<u32>,
    pub next_hop: Vec<u8>,
}

impl Client {
    /// Connects from an address until there is a session.
    pub fn connect(address: Ipv4Addr, asn: u32, device: SocketAddr, families: FamilySet) -> Client {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(client) = Client::attempt(address, asn, device, families) {
                return client;
            }
            assert!(Instant::now() < deadline, "no session from {address} with {device}");
            std::thread::park_timeout(PAUSE);
        }
    }

    fn attempt(
        address: Ipv4Addr,
        asn: u32,
        device: SocketAddr,
        families: FamilySet,
    ) -> Option<Client> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from((address, 0)).into()).expect("an address of this host");
        socket.connect_timeout(&device.into(), PATIENCE).ok()?;
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PAUSE)).expect("a socket");
        let identifier = identifier(address);
        let config = Config {
            families,
            ..Config::new(asn, identifier, IpAddr::from(Ipv4Addr::LOCALHOST), ASN)
        };
        let mut client = Client {
            stream,
            framing: Framing::default(),
            scan: Scan::default(),
            negotiated: None,
            is_up: false,
            target: 7,
            heard: BTreeMap::new(),
            config,
        };
        let mut out = Vec::new();
        client.config.open().write(&mut out);
        client.stream.write_all(&out).ok()?;
        let deadline = Instant::now() + SESSION_MAX;
        while !client.is_up && Instant::now() < deadline {
            client.read()?;
        }
        client.is_up.then_some(client)
    }

    /// Reads what has come; none when the session has ended.
    fn read(&mut self) -> Option<()> {
        let mut buffer = [0; 65_536];
        let len = match self.stream.read(&mut buffer) {
            Ok(0) => return None,
            Ok(len) => len,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => 0,
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            Err(_) => return None,
        };
        let mut bytes = &buffer[..len];
        let mut answers = Vec::new();
        while let Some(message) = self.framing.next(&mut bytes, LEN_MAX).expect("whole messages") {
            match message.kind {
                Kind::Open => {
                    let open = Open::read(message.body).expect("an OPEN");
                    // It has not said so, and hears what the device says of its restarts.
                    let config = Config { restart: Some(restart()), ..self.config.clone() };
                    let found = negotiate(&config, &open).expect("what both can do");
                    self.negotiated = Some(found);
                    write_keepalive(&mut answers);
                }
                Kind::Keepalive if !self.is_up => self.is_up = true,
                Kind::Keepalive => write_keepalive(&mut answers),
                Kind::Update => {
                    let negotiated = self.negotiated.as_ref().expect("after OPEN");
                    take(&mut self.scan, &mut self.heard, message.body, negotiated);
                }
                Kind::Notification => return None,
                Kind::RouteRefresh => {}
            }
        }
        self.stream.write_all(&answers).ok()
    }

    /// Reads until a condition holds.
    #[track_caller]
    pub fn until(&mut self, what: &str, holds: impl Fn(&Client) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < deadline, "waited in vain for {what}");
            self.read().unwrap_or_else(|| panic!("the session ended before {what}"));
        }
    }

    /// Reads until the session has ended.
    pub fn until_ended(mut self) {
        let deadline = Instant::now() + PATIENCE;
        while self.read().is_some() {
            assert!(Instant::now() < deadline, "the session goes on");
        }
    }

    /// Returns what the device has said of its restarts.
    pub fn restart(&self) -> Option<PeerRestart> {
        self.negotiated.as_ref()?.restart
    }

    /// Says that it has told all routes of a family.
    pub fn tell_end(&mut self, family: Family) {
        let mut out = Vec::new();
        write_end_of_rib(family, &mut out);
        self.stream.write_all(&out).expect("a session");
    }

    /// Returns the number of routes of a family.
    pub fn count(&self, family: Family) -> usize {
        self.heard.keys().filter(|(of, _)| *of == family).count()
    }

    /// Tells routes of a family, as they stand on the wire.
    pub fn tell(&mut self, family: Family, routes: &[Vec<u8>]) {
        let negotiated = self.negotiated.as_ref().expect("a session");
        assert!(negotiated.writing.families.contains(family), "{family} was agreed on");
        let mut block = Vec::new();
        attributes::push(0x40, ORIGIN, &[0], &mut block);
        let neighbour = if self.config.is_external() { self.config.local_as } else { 65_010 };
        let path = [&[2, 1], &neighbour.to_be_bytes()[..]].concat();
        attributes::push(0x40, AS_PATH, &path, &mut block);
        if !self.config.is_external() {
            attributes::push(0x40, LOCAL_PREF, &100u32.to_be_bytes(), &mut block);
        }
        let target = [0, 2, 0xfd, 0xe8, 0, 0, 0, self.target];
        attributes::push(0xc0, EXTENDED_COMMUNITIES, &target, &mut block);
        let mut out = Vec::new();
        let hop = next_hop(family);
        let mut builder = Builder::announce(&mut out, &negotiated.writing, (family, &hop), &block);
        for route in routes {
            let nlri = Nlris::announced(route, family, false).next();
            let nlri = nlri.expect("a route").expect("a good one");
            builder.push(0, nlri.key.as_slice(), nlri.rest.as_slice()).expect("it fits");
        }
        builder.finish();
        self.stream.write_all(&out).expect("a session");
    }
}

fn restart() -> Restart {
    Restart {
        time_s: 0,
        is_restarting: false,
        has_notification: false,
        families: FamilySet::NONE,
        preserved: FamilySet::NONE,
    }
}

/// Takes over what an UPDATE says.
fn take(
    scan: &mut Scan,
    heard: &mut BTreeMap<(Family, Vec<u8>), Heard>,
    body: &[u8],
    negotiated: &Negotiated,
) {
    let update = scan.read(body, &negotiated.reading).expect("a good UPDATE");
    assert_eq!(scan.findings(), [], "nothing is wrong with it");
    for field in update.withdrawn() {
        for nlri in field.nlris().map(|nlri| nlri.expect("it was read")) {
            heard.remove(&(field.family, nlri.key.as_slice().to_vec()));
        }
    }
    let summary = scan.summary();
    let one = |next_hop: &[u8]| Heard {
        originator: summary.originator_id,
        clusters: summary.clusters.numbers(scan.block()).collect(),
        next_hop: next_hop.to_vec(),
    };
    for field in update.announced() {
        for nlri in field.nlris().map(|nlri| nlri.expect("it was read")) {
            let key = (field.family, nlri.key.as_slice().to_vec());
            heard.insert(key, one(field.next_hop));
        }
    }
}

/// The identifier of the peer at an address.
pub fn identifier(address: Ipv4Addr) -> u32 {
    let [_, b, c, d] = address.octets();
    u32::from_be_bytes([198, 18 + b, c, d])
}

/// The next hop of the routes that peers tell, as it stands on the wire: one that nobody has.
pub fn next_hop(family: Family) -> Vec<u8> {
    match family {
        Family::VpnV4 => [&[0; 8], &[192, 0, 2, 77][..]].concat(),
        Family::Ipv6Unicast => {
            "2001:db8::77".parse::<std::net::Ipv6Addr>().expect("one").octets().to_vec()
        }
        _ => vec![192, 0, 2, 77],
    }
}

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a connection may take to become a session.
const SESSION_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

const LEN_MAX: usize = 65_535;
