//! Hosts of subscribers: a client of DHCPv4, written from RFC 2131, and one of PPPoE.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use function_bng::config::Line;
use protocol_kit::{Input, Machine, Output, Secret, Time};
use protocol_ppp::{self as ppp, Ppp};
use protocol_pppoe::client::{self, Client, Wanted};
use protocol_pppoe::packet::Packet;
use wire::MacAddr;

use crate::host6::Dhcp6;

/// What a host does.
pub enum Kind {
    Dhcp(Dhcp),
    Dhcp6(Dhcp6),
    Dialled(Box<Dialled>),
    /// One whose frames a test makes, with those that came to it.
    Bare(Vec<Vec<u8>>),
}

/// A host on a line.
pub struct Host {
    pub line: Line,
    pub mac: [u8; 6],
    pub kind: Kind,
}

/// A client of DHCPv4.
#[derive(Default)]
pub struct Dhcp {
    state: State,
    xid: u32,
    pub address: Option<Ipv4Addr>,
    server: Option<Ipv4Addr>,
    /// When it says something again.
    next: Option<Time>,
    until: Time,
    pub naks: u32,
    /// How often it was acknowledged.
    pub acks: u32,
    pub options: Vec<(u8, Vec<u8>)>,
    /// Option 82, as an access node adds it.
    pub circuit: Option<Vec<u8>>,
    pub identifier: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Off,
    Looks,
    Asks(Ipv4Addr),
    Bound,
    Renews,
}

/// A client of PPPoE.
pub struct Dialled {
    client: Client,
    ppp: Ppp,
    config: Arc<ppp::Config>,
    id: Option<u16>,
    pub address: Option<Ipv4Addr>,
    pub v6: Option<u64>,
    pub ended: Vec<ppp::Reason>,
    pub closed: u32,
}

impl Host {
    /// A client of DHCPv4.
    pub fn dhcp(vlan: u16, mac: u8) -> Host {
        let kind = Kind::Dhcp(Dhcp::default());
        Host { line: Line { outer: 100, inner: vlan }, mac: [2, 0, 0, 0, 1, mac], kind }
    }

    /// A client of DHCPv6.
    pub fn dhcp6(vlan: u16, mac: u8) -> Host {
        Host { kind: Kind::Dhcp6(Dhcp6::default()), ..Host::dhcp(vlan, mac) }
    }

    /// A client of PPPoE, with its name and password.
    pub fn dialled(vlan: u16, mac: u8, methods: &[ppp::Method], name: &str, secret: &str) -> Host {
        let wanted = Wanted {
            service: Vec::new(),
            concentrator: Vec::new(),
            host_uniq: vec![mac],
            max_payload: 1492,
            line: None,
            retry: Duration::from_secs(1),
            tries: 8,
        };
        let identity = ppp::Identity {
            methods: methods.to_vec(),
            name: name.as_bytes().to_vec(),
            secret: Secret(secret.as_bytes().to_vec()),
        };
        let config = ppp::Config {
            requires: Vec::new(),
            identity: (!methods.is_empty()).then_some(identity),
            network: Some(ppp::Network {
                v4: Some(ppp::V4 { asks_dns: true, ..ppp::V4::default() }),
                v6: Some(ppp::V6::default()),
            }),
            ..ppp::Config::new()
        };
        let kind = Kind::Dialled(Box::new(Dialled {
            client: Client::new(wanted),
            ppp: Ppp::new(1, [mac; 32]),
            config: Arc::new(config),
            id: None,
            address: None,
            v6: None,
            ended: Vec::new(),
            closed: 0,
        }));
        Host { line: Line { outer: 0, inner: vlan }, mac: [2, 0, 0, 0, 2, mac], kind }
    }

    /// One whose frames a test makes.
    pub fn bare(vlan: u16, mac: u8) -> Host {
        let line = Line { outer: 100, inner: vlan };
        Host { line, mac: [2, 0, 0, 0, 1, mac], kind: Kind::Bare(Vec::new()) }
    }

    /// It wants to be up.
    pub fn begin(&mut self, now: Time) {
        match &mut self.kind {
            Kind::Dhcp(dhcp) => {
                dhcp.xid = dhcp.xid.wrapping_add(0x0101);
                (dhcp.state, dhcp.next, dhcp.address) = (State::Looks, Some(now), None);
            }
            Kind::Dhcp6(dhcp) => dhcp.begin(now),
            Kind::Dialled(dialled) => {
                dialled.drop_link(now);
                dialled.client.input(now, Input::Command(client::Command::Begin));
            }
            Kind::Bare(_) => {}
        }
    }

    /// It is switched off, and says so or not.
    pub fn end(&mut self, says_so: bool, now: Time) -> Vec<Vec<u8>> {
        let (line, mac) = (self.line, self.mac);
        match &mut self.kind {
            Kind::Dhcp(dhcp) => {
                let address = dhcp.address.take();
                let was_bound = matches!(dhcp.state, State::Bound | State::Renews);
                (dhcp.state, dhcp.next) = (State::Off, None);
                match address.filter(|_| says_so && was_bound) {
                    Some(address) => {
                        let server = dhcp.server.expect("it is bound");
                        let option = (54, server.octets().to_vec());
                        let message = dhcp.message(mac, 7, address, vec![option]);
                        vec![ipv4_frame((line, mac), (address, server), &message)]
                    }
                    None => Vec::new(),
                }
            }
            Kind::Dhcp6(dhcp) => {
                let frames = dhcp.release((line, mac));
                if says_so { frames } else { Vec::new() }
            }
            Kind::Dialled(dialled) => {
                if says_so {
                    dialled.client.input(now, Input::Command(client::Command::End));
                } else {
                    dialled.client = Client::new(dialled.wanted());
                }
                let frames = if says_so { dialled.poll(line, mac, now) } else { Vec::new() };
                dialled.drop_link(now);
                frames
            }
            Kind::Bare(_) => Vec::new(),
        }
    }

    /// It has found its address used by somebody else, and begins anew.
    pub fn decline(&mut self, now: Time) -> Vec<Vec<u8>> {
        let place = (self.line, self.mac);
        match &mut self.kind {
            Kind::Dhcp(dhcp) => {
                let [address, server] = [dhcp.address, dhcp.server].map(|it| it.expect("it is up"));
                let options = [(50, address), (54, server)];
                let options = options.map(|(code, value)| (code, value.octets().to_vec()));
                let any = Ipv4Addr::UNSPECIFIED;
                let message = dhcp.message(place.1, 4, any, options.to_vec());
                self.begin(now);
                vec![ipv4_frame(place, (any, Ipv4Addr::BROADCAST), &message)]
            }
            Kind::Dhcp6(dhcp) => dhcp.decline(place, now),
            Kind::Dialled(_) | Kind::Bare(_) => panic!("it is no such client"),
        }
    }

    /// Its address, if it counts itself as up.
    pub fn address(&self) -> Option<Ipv4Addr> {
        match &self.kind {
            Kind::Dhcp(dhcp) => dhcp.address,
            Kind::Dialled(dialled) => dialled.address,
            Kind::Dhcp6(_) | Kind::Bare(_) => None,
        }
    }

    /// Its address of DHCPv6, if it counts itself as up.
    pub fn na(&self) -> Option<Ipv6Addr> {
        match &self.kind {
            Kind::Dhcp6(dhcp) => dhcp.address,
            Kind::Dhcp(_) | Kind::Dialled(_) | Kind::Bare(_) => None,
        }
    }

    /// Its session of PPPoE.
    pub fn pppoe(&self) -> Option<u16> {
        match &self.kind {
            Kind::Dhcp(_) | Kind::Dhcp6(_) | Kind::Bare(_) => None,
            Kind::Dialled(dialled) => dialled.id,
        }
    }

    /// What it sends by now.
    pub fn poll(&mut self, now: Time) -> Vec<Vec<u8>> {
        let (line, mac) = (self.line, self.mac);
        match &mut self.kind {
            Kind::Dhcp(dhcp) => dhcp.poll(line, mac, now),
            Kind::Dhcp6(dhcp) => dhcp.poll(line, mac, now),
            Kind::Dialled(dialled) => dialled.poll(line, mac, now),
            Kind::Bare(_) => Vec::new(),
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        match &self.kind {
            Kind::Dhcp(dhcp) => dhcp.next,
            Kind::Dhcp6(dhcp) => dhcp.deadline(),
            Kind::Dialled(dialled) => {
                [dialled.client.deadline(), dialled.ppp.deadline()].into_iter().flatten().min()
            }
            Kind::Bare(_) => None,
        }
    }

    /// A frame comes to it.
    pub fn hear(&mut self, frame: &[u8], now: Time) {
        let at = 12 + 4 * (usize::from(self.line.outer > 0) + usize::from(self.line.inner > 0));
        let payload = &frame[at + 2..];
        match (&mut self.kind, &frame[at..at + 2]) {
            (Kind::Dhcp(dhcp), [0x08, 0x00]) => dhcp.hear(&payload[28..], now),
            (Kind::Dhcp6(dhcp), [0x86, 0xdd]) => dhcp.hear(payload, now),
            (Kind::Bare(heard), _) => heard.push(frame[at..].to_vec()),
            (Kind::Dialled(dialled), [0x88, 0x63]) => {
                dialled.client.receive(now, MacAddr([2, 0xb0, 0, 0, 0, 1]), payload);
            }
            (Kind::Dialled(dialled), [0x88, 0x64]) => {
                let packet = Packet::parse(payload).expect("a packet");
                if dialled.id == Some(packet.session_id) {
                    dialled.ppp.receive(now, 0, packet.payload);
                }
            }
            _ => {}
        }
    }
}

impl Dhcp {
    fn message(
        &self,
        mac: [u8; 6],
        kind: u8,
        ciaddr: Ipv4Addr,
        rest: Vec<(u8, Vec<u8>)>,
    ) -> Vec<u8> {
        let mut message = vec![1, 1, 6, 0];
        message.extend(self.xid.to_be_bytes());
        message.extend([0; 4]);
        message.extend(ciaddr.octets());
        message.extend([0; 12]);
        message.extend(mac);
        message.resize(236, 0);
        message.extend([99, 130, 83, 99, 53, 1, kind, 55, 3, 1, 3, 6]);
        let mut options = rest;
        options.extend(self.identifier.clone().map(|id| (61, id)));
        options.extend(
            self.circuit
                .clone()
                .map(|circuit| (82, [&[1, circuit.len() as u8][..], &circuit].concat())),
        );
        for (code, value) in options {
            message.extend([code, value.len() as u8]);
            message.extend(value);
        }
        message.push(255);
        message
    }

    fn poll(&mut self, line: Line, mac: [u8; 6], now: Time) -> Vec<Vec<u8>> {
        if self.next.is_none_or(|next| next > now) {
            return Vec::new();
        }
        if matches!(self.state, State::Bound | State::Renews) && now >= self.until {
            (self.state, self.address) = (State::Looks, None);
        }
        let any = Ipv4Addr::UNSPECIFIED;
        let (message, ends) = match self.state {
            State::Off => return Vec::new(),
            State::Looks => (self.message(mac, 1, any, Vec::new()), (any, Ipv4Addr::BROADCAST)),
            State::Asks(address) => {
                let server = self.server.expect("it has offered");
                let options = vec![(50, address.octets().to_vec()), (54, server.octets().to_vec())];
                (self.message(mac, 3, any, options), (any, Ipv4Addr::BROADCAST))
            }
            State::Bound | State::Renews => {
                self.state = State::Renews;
                let address = self.address.expect("it is bound");
                (self.message(mac, 3, address, Vec::new()), (address, self.server.expect("one")))
            }
        };
        self.next = Some(now.after(Duration::from_secs(4)));
        vec![ipv4_frame((line, mac), ends, &message)]
    }

    fn hear(&mut self, message: &[u8], now: Time) {
        let xid = u32::from_be_bytes(message[4..8].try_into().expect("four"));
        let yiaddr = Ipv4Addr::from(<[u8; 4]>::try_from(&message[16..20]).expect("four"));
        if xid != self.xid {
            return;
        }
        let (mut rest, mut options) = (&message[240..], Vec::new());
        while let [code, len, behind @ ..] = rest
            && *code != 255
        {
            let (value, behind) = behind.split_at(usize::from(*len));
            options.push((*code, value.to_vec()));
            rest = behind;
        }
        let option = |code: u8| options.iter().find(|(it, _)| *it == code).map(|it| it.1.clone());
        let number = |code| option(code).map(|it| u32::from_be_bytes(it.try_into().expect("four")));
        match (option(53).as_deref(), self.state) {
            (Some([2]), State::Looks) => {
                self.server = Some(Ipv4Addr::from(number(54).expect("a server")));
                (self.state, self.next) = (State::Asks(yiaddr), Some(now));
            }
            (Some([5]), State::Asks(_) | State::Renews) => {
                let lease = Duration::from_secs(number(51).expect("a time").into());
                (self.state, self.address) = (State::Bound, Some(yiaddr));
                (self.next, self.until) = (Some(now.after(lease / 2)), now.after(lease));
                (self.options, self.acks) = (options, self.acks + 1);
            }
            (Some([6]), State::Asks(_) | State::Renews) => {
                self.naks += 1;
                (self.state, self.address, self.next) = (State::Looks, None, Some(now));
                self.xid = self.xid.wrapping_add(1);
            }
            _ => {}
        }
    }
}

impl Dialled {
    fn wanted(&self) -> Wanted {
        Wanted {
            service: Vec::new(),
            concentrator: Vec::new(),
            host_uniq: vec![7],
            max_payload: 1492,
            line: None,
            retry: Duration::from_secs(1),
            tries: 8,
        }
    }

    fn drop_link(&mut self, now: Time) {
        self.ppp.input(now, Input::Command(ppp::Command::Down { session: 0 }));
        while self.ppp.poll(now).is_some() {}
        (self.id, self.address, self.v6) = (None, None, None);
    }

    fn poll(&mut self, line: Line, mac: [u8; 6], now: Time) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        loop {
            if let Some(Output::Report(report)) = self.client.poll(now) {
                match report {
                    client::Report::Send { to, packet } => {
                        frames.push(frame((line, mac), to.0, 0x8863, &packet));
                    }
                    client::Report::Opened { session_id, .. } => {
                        self.drop_link(now);
                        self.id = Some(session_id);
                        let (config, mru) = (self.config.clone(), 1492);
                        let open = ppp::Command::Open { session: 0, config, mru };
                        self.ppp.input(now, Input::Command(open));
                    }
                    client::Report::Closed(_) => {
                        self.closed += 1;
                        self.drop_link(now);
                    }
                }
            } else if let Some(Output::Report(report)) = self.ppp.poll(now) {
                match report {
                    ppp::Report::Send { payload, .. } => {
                        let Some(session_id) = self.id else { continue };
                        let packet = Packet { code: 0, session_id, payload: &payload }.emit();
                        let to = [2, 0xb0, 0, 0, 0, 1];
                        frames.push(frame((line, mac), to, 0x8864, &packet));
                    }
                    ppp::Report::V4Up { addresses, .. } => self.address = Some(addresses.local),
                    ppp::Report::V6Up { local, .. } => self.v6 = Some(local),
                    ppp::Report::Down { .. } | ppp::Report::V4Down { .. } => self.address = None,
                    ppp::Report::Ended { reason, .. } => {
                        self.ended.push(reason);
                        self.address = None;
                    }
                    _ => {}
                }
            } else {
                return frames;
            }
        }
    }
}

/// A frame of a host.
pub fn frame((line, mac): (Line, [u8; 6]), to: [u8; 6], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = [to, mac].concat();
    if line.outer > 0 {
        frame.extend([0x88, 0xa8]);
        frame.extend(line.outer.to_be_bytes());
    }
    if line.inner > 0 {
        frame.extend([0x81, 0x00]);
        frame.extend(line.inner.to_be_bytes());
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A frame of a host with a datagram to the port of DHCP's servers.
pub fn ipv4_frame(
    from: (Line, [u8; 6]),
    (source, destination): (Ipv4Addr, Ipv4Addr),
    payload: &[u8],
) -> Vec<u8> {
    let udp = [68u16, 67, 8 + payload.len() as u16, 0].map(u16::to_be_bytes).concat();
    let len = (28 + payload.len()) as u16;
    let mut header = vec![0x45, 0];
    header.extend(len.to_be_bytes());
    header.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    header.extend(source.octets());
    header.extend(destination.octets());
    let sum: u32 = header.chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(it[1])).sum();
    let sum = !((sum >> 16) + (sum & 0xffff)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame(from, [0xff; 6], 0x0800, &[&header[..], &udp, payload].concat())
}
