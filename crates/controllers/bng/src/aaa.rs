//! Servers of RADIUS: whom they let in, what they are told, and what they ask for.
//!
//! The three machines of the protocol are one here, with the file of records. Each has a range of
//! socket numbers.

use std::hash::{DefaultHasher, Hasher};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use controller_kit::keys::invalid;
use function_kit::Invalid;
use protocol_kit::{
    Arrival, Departure, Input, Machine, Neighbour, Output, Random, Secret, Socket, Time, Trace,
};
use protocol_radius::accounting::{self, Accounting, Pace};
use protocol_radius::asking::{ErrorCause, Identity, SessionKey, Wanted};
use protocol_radius::attributes::{ipv6_prefix_value, kind};
use protocol_radius::backlog::{Backlog, Limits, Restored};
use protocol_radius::dynamic::{self, Asker, Dynamic};
use protocol_radius::mapping::Mapped;
use protocol_radius::record::{Fields, Record, Status};
use protocol_radius::servers::View;
use protocol_radius::{
    Answer, Client, Command, Credentials, Dictionary, List, Mapping, Report, Request, Wall,
};

use crate::config::{Config, PoolKind, Radius, Server};
use crate::granted::v6_of;
use crate::kept::RecordsFile;
use crate::session::Session;

/// Servers and what is spoken with them.
pub(crate) struct Aaa {
    access: Client,
    accounting: Option<Accounting>,
    /// Where records wait over a restart.
    file: Option<RecordsFile>,
    dynamic: Option<Dynamic>,
    dictionary: Dictionary,
    mapping: Mapping,
    fields: Fields,
    nas: Vec<u8>,
    wall: Wall,
    /// What all sessions of this life have in their identifiers.
    life: u32,
    /// Requests and records that fit no packet.
    unwritable: u64,
}

/// What is heard of servers.
#[derive(Debug)]
pub(crate) enum Said {
    /// Whether a session is let in.
    Answer { key: u64, answer: Answer },
    /// A server is dead, or answers again.
    Server { address: SocketAddr, is_up: bool },
    /// Records wait because no server answers, or none does any more.
    Held(bool),
    /// The disk does not take records, or takes them again.
    Unwritten(bool),
    /// A server asks for a change or an end.
    Asked { number: u64, wants: Wanted, keys: Vec<SessionKey>, attributes: List },
}

impl Aaa {
    /// Creates the machines.
    ///
    /// # Errors
    /// What of the keys they cannot be made of.
    pub fn new(config: &Config, keys: &Radius, seed: u64) -> Result<Aaa, Invalid> {
        let mut random = Random::new(seed);
        let dictionary = Dictionary::standard();
        let rows: Vec<(&str, &str)> =
            keys.attributes.iter().map(|row| (&*row.attribute, &*row.pattern)).collect();
        let mapping = match rows.is_empty() {
            true => Mapping::standard(&dictionary),
            false => Mapping::read(&dictionary, &rows),
        };
        let not = |key: &str, why: String| invalid(key, why, "Look at the README of radius");
        let mapping = mapping.map_err(|why| not("radius.attributes", why.to_string()))?;
        let fields = Fields::standard(&dictionary);
        let fields = fields.map_err(|why| not("radius.attributes", why.to_string()))?;
        let of_servers = |why: protocol_radius::Unusable| not("radius.servers", why.to_string());
        let access = Client::new(&client(keys, key(&mut random), |server| server.port))
            .map_err(of_servers)?;
        let accounting = match keys.accounting {
            false => None,
            true => {
                let client =
                    Client::new(&client(keys, key(&mut random), |server| server.accounting_port));
                let records_max = keys.records_max as usize;
                let backlog = Backlog::new(Limits { records_max, bytes_max: records_max * 1024 });
                let window = WINDOW.min(keys.requests_max as usize);
                let pace = Pace { window, rate: 1000, pause: Duration::from_secs(1) };
                Some(Accounting::new(client.map_err(of_servers)?, backlog, pace))
            }
        };
        let askers = keys.servers.iter().map(|server| Asker {
            address: server.address,
            secret: Secret(server.secret.clone().into_bytes()),
        });
        let dynamic = match keys.dynamic.is_empty() {
            true => None,
            false => Some(dynamic::Config {
                locals: keys.dynamic.clone(),
                clients: askers.collect(),
                identities: vec![Identity::Name(config.nas_identifier.clone().into_bytes())],
                window: Duration::from_secs(300),
                needs_timestamp: false,
                needs_signature: false,
                kept_max: 4096,
                patience: Duration::from_secs(5),
                wall: Wall(0),
            }),
        };
        let dynamic = dynamic.map(Dynamic::new).transpose();
        let dynamic = dynamic.map_err(|why| not("radius.servers", why.to_string()))?;
        Ok(Aaa {
            access,
            accounting,
            file: keys.records_file.as_deref().map(RecordsFile::new),
            dynamic,
            dictionary,
            mapping,
            fields,
            nas: config.nas_identifier.clone().into_bytes(),
            wall: Wall(0),
            life: one_way(random.bits()),
            unwritable: 0,
        })
    }

    /// The time of day is another one.
    pub fn set_wall(&mut self, wall: Wall, now: Time) {
        self.wall = wall;
        self.access.input(now, Input::Command(Command::SetWall(wall)));
        if let Some(accounting) = &mut self.accounting {
            accounting.input(now, Input::Command(accounting::Command::SetWall(wall)));
        }
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.input(now, Input::Command(dynamic::Command::SetWall(wall)));
        }
    }

    /// Takes in what has arrived.
    pub fn arrive(&mut self, arrival: Arrival<'_>, now: Time) {
        let Some((place, arrival)) = inside(arrival) else { return };
        match place {
            ACCESS => self.access.input(now, Input::Arrival(arrival)),
            ACCOUNTING => {
                if let Some(accounting) = &mut self.accounting {
                    accounting.input(now, Input::Arrival(arrival));
                }
            }
            DYNAMIC => {
                if let Some(dynamic) = &mut self.dynamic {
                    dynamic.input(now, Input::Arrival(arrival));
                }
            }
            _ => {
                if let (Some(file), Some(accounting)) = (&mut self.file, &mut self.accounting) {
                    file.arrive(&arrival, accounting.backlog(), now);
                }
            }
        }
    }

    /// What departs, and what is heard.
    pub fn poll(&mut self, now: Time) -> Option<Output<Said>> {
        match self.access.poll(now) {
            Some(Output::Departure(departure)) => return Some(outside(ACCESS, departure)),
            Some(Output::Report(Report::Answer { token: key, answer })) => {
                return Some(Output::Report(Said::Answer { key, answer }));
            }
            Some(Output::Report(Report::Server { server, is_up })) => {
                return self.server(server, is_up, self.access.views());
            }
            None => {}
        }
        match self.accounting.as_mut().and_then(|accounting| accounting.poll(now)) {
            Some(Output::Departure(departure)) => return Some(outside(ACCOUNTING, departure)),
            Some(Output::Report(accounting::Report::Server { server, is_up })) => {
                let views = self.accounting.as_ref().map(Accounting::views).unwrap_or_default();
                return self.server(server, is_up, views);
            }
            Some(Output::Report(accounting::Report::Unwritten(is_failing))) => {
                return Some(Output::Report(Said::Unwritten(is_failing)));
            }
            Some(Output::Report(accounting::Report::Held(is_held))) => {
                return Some(Output::Report(Said::Held(is_held)));
            }
            None => {}
        }
        if let (Some(file), Some(accounting)) = (&mut self.file, &mut self.accounting)
            && let Some(departure) = file.poll(accounting.backlog(), now)
        {
            return Some(outside(FILE, departure));
        }
        match self.dynamic.as_mut()?.poll(now)? {
            Output::Departure(departure) => Some(outside(DYNAMIC, departure)),
            Output::Report(dynamic::Report::Asked { number, wants, keys, attributes }) => {
                Some(Output::Report(Said::Asked { number, wants, keys, attributes }))
            }
        }
    }

    fn server(&self, server: usize, is_up: bool, views: Vec<View>) -> Option<Output<Said>> {
        let address = views.get(server)?.address;
        Some(Output::Report(Said::Server { address, is_up }))
    }

    /// When there is something to do.
    pub fn deadline(&self) -> Option<Time> {
        let accounting = self.accounting.as_ref().and_then(Machine::deadline);
        let dynamic = self.dynamic.as_ref().and_then(Machine::deadline);
        let file = self.accounting.as_ref().and(self.file.as_ref()).and_then(RecordsFile::deadline);
        [self.access.deadline(), accounting, dynamic, file].into_iter().flatten().min()
    }

    /// Asks whether a session is let in; false if that does not fit a packet.
    pub fn ask(
        &mut self,
        key: u64,
        (number, session): (u32, &Session),
        credentials: Credentials,
        now: Time,
    ) -> bool {
        let attributes = self.identity(number, session).and_then(|mut list| {
            list.put(kind::ACCT_SESSION_ID, self.id(number, session).as_bytes()).ok()?;
            list.put_number(kind::SERVICE_TYPE, FRAMED).ok()?;
            Some(list)
        });
        let Some(attributes) = attributes else {
            self.unwritable += 1;
            return false;
        };
        let request = Request::Access { credentials, attributes };
        self.access.input(now, Input::Command(Command::Ask { token: key, request }));
        true
    }

    /// Records something of a session.
    pub fn record(&mut self, number: u32, session: &Session, status: Status, now: Time) {
        let Some(identity) = self.identity(number, session) else {
            self.unwritable += 1;
            return;
        };
        let id = self.id(number, session);
        let is_start = status == Status::Start;
        let lasted = session.up_since.map(|since| now.since(since).as_secs());
        let cause = session.ending.filter(|_| status == Status::Stop);
        let record = Record {
            status,
            session: id.as_bytes(),
            event_s: self.wall.seconds(now),
            duration_s: lasted.filter(|_| !is_start),
            volumes: (!is_start).then_some(&session.volumes),
            cause: cause.map(|why| why.cause()),
            identity: identity.attributes(),
        };
        let attributes = record.attributes(&self.fields);
        self.keep(attributes.ok(), now);
    }

    /// Records that this gateway begins or ends.
    pub fn record_own(&mut self, status: Status, now: Time) {
        let id = format!("{:08x}", self.life);
        let mut identity = List::new();
        let named = identity.put(kind::NAS_IDENTIFIER, &self.nas);
        let record = Record {
            status,
            session: id.as_bytes(),
            event_s: self.wall.seconds(now),
            duration_s: None,
            volumes: None,
            cause: None,
            identity: identity.attributes(),
        };
        let attributes = record.attributes(&self.fields).and_then(|list| named.map(|()| list));
        self.keep(attributes.ok(), now);
    }

    fn keep(&mut self, attributes: Option<List>, now: Time) {
        let Some(attributes) = attributes else {
            self.unwritable += 1;
            return;
        };
        let event_s = self.wall.seconds(now);
        if let Some(accounting) = &mut self.accounting {
            let command = accounting::Command::Record { attributes, event_s };
            accounting.input(now, Input::Command(command));
        }
    }

    /// Takes over the records that wait in a file.
    ///
    /// # Errors
    /// It is none of records.
    pub fn restore(&mut self, kept: &[u8]) -> Result<Restored, Invalid> {
        let Some(accounting) = &mut self.accounting else { return Ok(Restored::default()) };
        accounting.restore(kept).map_err(|why| {
            let remedy = "Name another file: this one is left as it is";
            invalid("radius.records-file", format!("is none of records: {why}"), remedy)
        })
    }

    /// Answers what a server has asked for.
    pub fn answer(&mut self, number: u64, verdict: Result<(), ErrorCause>, now: Time) {
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.input(now, Input::Command(dynamic::Command::Answer { number, verdict }));
        }
    }

    /// What attributes give a session.
    pub fn map(&self, attributes: &List) -> Mapped {
        self.mapping.map(&self.dictionary, attributes.attributes())
    }

    /// Whether sessions are accounted.
    pub fn accounts(&self) -> bool {
        self.accounting.is_some()
    }

    /// The identifier of a session, which no other one ever has.
    pub fn id(&self, number: u32, session: &Session) -> String {
        format!("{:08x}{number:08x}{:08x}", self.life, session.generation)
    }

    /// What a person sees of each server, and for what it is.
    pub fn views(&self) -> Vec<(&'static str, View)> {
        let accounting = self.accounting.as_ref().map(Accounting::views).unwrap_or_default();
        let access = self.access.views().into_iter().map(|view| ("access", view));
        access.chain(accounting.into_iter().map(|view| ("accounting", view))).collect()
    }

    /// Records that servers have confirmed, that were lost, and that wait.
    pub fn records(&self) -> [u64; 3] {
        let Some(accounting) = &self.accounting else { return [0; 3] };
        let lost = accounting.lost() + self.unwritable;
        [accounting.confirmed(), lost, accounting.waiting() as u64]
    }

    /// What servers have asked for.
    pub fn dynamic(&self) -> dynamic::Counters {
        self.dynamic.as_ref().map(Dynamic::counters).unwrap_or_default()
    }

    pub fn neighbours(&self, now: Time) -> Vec<Neighbour> {
        self.access.neighbours(now)
    }

    pub fn trace(&self, socket: Socket) -> Option<Trace> {
        self.access.trace(socket)
    }

    /// What tells whose session it is; none if it does not fit.
    fn identity(&self, number: u32, session: &Session) -> Option<List> {
        let mut list = List::new();
        list.put(kind::NAS_IDENTIFIER, &self.nas).ok()?;
        if !session.user.is_empty() {
            list.put(kind::USER_NAME, cut(session.user.as_bytes())).ok()?;
        }
        list.put_number(kind::NAS_PORT, number).ok()?;
        let port = format!("{}.{}", session.line.outer, session.line.inner);
        list.put(kind::NAS_PORT_ID, port.as_bytes()).ok()?;
        list.put(kind::CALLING_STATION_ID, session.mac.to_string().as_bytes()).ok()?;
        let said = [
            ("ADSL-Agent-Circuit-Id", &session.circuit),
            ("ADSL-Agent-Remote-Id", &session.remote),
        ];
        for (name, value) in said {
            if let Some(key) = self.dictionary.key(name).filter(|_| !value.is_empty()) {
                let value = value.get(..value.len().min(247)).unwrap_or_default();
                list.put_key(key, self.dictionary.format(key.vendor), value).ok()?;
            }
        }
        if let Some(IpAddr::V4(address)) = session.used(PoolKind::Ipv4).map(|it| it.address()) {
            list.put(kind::FRAMED_IP_ADDRESS, &Ipv4Addr::octets(&address)).ok()?;
        }
        if let Some(address) = session.used(PoolKind::Na).and_then(v6_of) {
            list.put(kind::FRAMED_IPV6_ADDRESS, &address.octets()).ok()?;
        }
        for (kind, attribute) in [
            (PoolKind::Slaac, kind::FRAMED_IPV6_PREFIX),
            (PoolKind::Delegated, kind::DELEGATED_IPV6_PREFIX),
        ] {
            let prefix = session.used(kind);
            if let Some((prefix, address)) = prefix.and_then(|it| Some((it, v6_of(it)?))) {
                list.put(attribute, &ipv6_prefix_value(address, prefix.bits())).ok()?;
            }
        }
        if let Some(granted) = &session.granted {
            list.extend(granted.class.attributes(), |_| true).ok()?;
        }
        Some(list)
    }
}

/// Servers of access or of accounting.
fn client(keys: &Radius, key: [u8; 32], port: fn(&Server) -> u16) -> protocol_radius::Config {
    let servers = keys.servers.iter().map(|server| {
        let address = SocketAddr::new(server.address, port(server));
        let secret = Secret(server.secret.clone().into_bytes());
        protocol_radius::Server {
            timeout: Duration::from_millis(keys.timeout_ms.into()),
            tries: keys.tries,
            dead_time: Duration::from_secs(keys.dead_time_s.into()),
            ..protocol_radius::Server::new(address, server.local, secret)
        }
    });
    let mut config = protocol_radius::Config::new(servers.collect(), key);
    // Whoever waits for an answer waits a little longer than that.
    config.patience = PATIENCE;
    config.requests_max = keys.requests_max;
    config
}

/// A part of what is random that tells nothing of the rest: servers see it, and must not see by it
/// what authenticators follow from.
fn one_way(bits: u64) -> u32 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(bits);
    hasher.finish() as u32
}

/// 32 bytes that follow from the seed.
pub(crate) fn key(random: &mut Random) -> [u8; 32] {
    let mut key = [0; 32];
    for part in key.chunks_exact_mut(8) {
        part.copy_from_slice(&random.bits().to_be_bytes());
    }
    key
}

/// The machine that an arrival is for, and the arrival as that one knows it.
fn inside(mut arrival: Arrival<'_>) -> Option<(u32, Arrival<'_>)> {
    let (Arrival::Datagram { socket, .. }
    | Arrival::Failed { socket }
    | Arrival::Connected { socket, .. }
    | Arrival::Taken { socket, .. }
    | Arrival::Finished { socket }) = &mut arrival
    else {
        return None;
    };
    let place = socket.0 / SOCKETS;
    *socket = Socket(socket.0 % SOCKETS);
    Some((place, arrival))
}

/// A departure as it is known outside.
fn outside(place: u32, mut departure: Departure) -> Output<Said> {
    if let Departure::Open { socket, .. }
    | Departure::Close { socket }
    | Departure::Datagram { socket, .. }
    | Departure::Bytes { socket, .. }
    | Departure::Finish { socket } = &mut departure
    {
        *socket = Socket(place * SOCKETS + socket.0);
    }
    Output::Departure(departure)
}

fn cut(bytes: &[u8]) -> &[u8] {
    bytes.get(..253).unwrap_or(bytes)
}

/// Socket numbers of a machine: 32 servers with 256 sockets have less.
const SOCKETS: u32 = 1 << 16;

const ACCESS: u32 = 0;
const ACCOUNTING: u32 = 1;
const DYNAMIC: u32 = 2;
const FILE: u32 = 3;

/// Most records on their way.
const WINDOW: usize = 1024;

/// How long a request is tried.
const PATIENCE: Duration = Duration::from_secs(20);

/// Service-Type of whoever is given addresses.
const FRAMED: u32 = 2;
