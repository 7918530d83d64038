//! A server of DHCPv4 for lines (RFC 2131 section 4.3).
//!
//! A client that is not known is offered nothing before the owner has accepted it, and its request
//! is acknowledged when the owner has said that its packets pass: the first packet of a client
//! finds its session.

use std::net::{IpAddr, Ipv4Addr};

use protocol_kit::{Input, Machine, Output, Time};
use wire::MacAddr;

use crate::access::{Heard, Said};
use crate::config::{Class, Config};
use crate::control::{Client, Command, Report, Why, Words};
use crate::lease::{Held, Stage};
use crate::leases::{Leases, NotMade};
use crate::machines::{self, Access, Steps};
use crate::pools::Return;
use crate::prefix::Prefix;
use crate::v4::clients::{ADDRESS, CLIENT_PORT, SERVER_PORT, check, client, destination, words};
use crate::v4::message::{Message, code, kind};
use crate::v4::writer::{Fields, Writer};

/// The server.
#[derive(Debug)]
pub struct Server {
    leases: Leases,
    /// Its identifier, an address that clients reach it by.
    address: Ipv4Addr,
}

impl Machine for Server {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        machines::input(self, now, input);
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        self.leases.poll(now)
    }

    fn deadline(&self) -> Option<Time> {
        self.leases.deadline()
    }
}

impl Access for Server {
    const PORT: u16 = SERVER_PORT;

    fn table(&self) -> &Leases {
        &self.leases
    }

    fn table_mut(&mut self) -> &mut Leases {
        &mut self.leases
    }
}

impl Steps for Server {
    fn accepts(&mut self, heard: &Heard, _now: Time) -> bool {
        check(heard, self.leases.config.trusts_access_nodes, &mut self.leases.counters)
    }

    fn process(&mut self, heard: Heard, now: Time) {
        let bytes = heard.bytes.clone();
        let Ok(message) = Message::parse(&bytes) else { return };
        let Some(client) = client(&message, &heard) else { return };
        match message.kind() {
            kind::DISCOVER => self.discover(&message, client, heard, now),
            kind::REQUEST => self.request(&message, client, heard, now),
            kind::DECLINE => self.decline(&message, &client, now),
            kind::RELEASE => self.let_go(&message, &client, now),
            _ => self.inform(&message, &client, &heard),
        }
    }

    fn refuse(&mut self, heard: &Heard) {
        if let Ok(message) = Message::parse(&heard.bytes)
            && message.kind() == kind::REQUEST
        {
            self.deny(&message, heard, "not accepted");
        }
    }
}

impl Server {
    /// Creates a server with an address of its own.
    ///
    /// # Errors
    /// [`NotMade`].
    pub fn new(config: Config, address: Ipv4Addr) -> Result<Server, NotMade> {
        Ok(Server { leases: Leases::new(config, false)?, address })
    }

    fn discover(&mut self, message: &Message<'_>, client: Client, heard: Heard, now: Time) {
        let known = self.leases.known(client, || words(message), heard, now);
        let Some((number, heard)) = known else { return };
        let wish = message.address(code::REQUESTED_ADDRESS);
        let wish = wish.map(|address| Prefix::host(address.into()));
        if let Some(prefix) = self.leases.offer(number, ADDRESS, wish, now) {
            self.answer(message, &heard, kind::OFFER, number, Some(prefix));
        }
    }

    /// A client selects an offer, or asks for the address that it had or has (section 4.3.2).
    fn request(&mut self, message: &Message<'_>, client: Client, heard: Heard, now: Time) {
        let server = message.address(code::SERVER);
        let ciaddr = Some(message.ciaddr()).filter(|address| !address.is_unspecified());
        let asked = message.address(code::REQUESTED_ADDRESS).or(ciaddr);
        let asked = asked.map(|address| Prefix::host(address.into()));
        let found = self.leases.find(&client);
        if server.is_some_and(|server| server != self.address) {
            self.leases.counters.foreign += 1;
            self.leases.refuse_offer(&client, now);
            return;
        }
        let Some(asked) = asked else {
            self.leases.counters.malformed += 1;
            return;
        };
        let lease = found.and_then(|number| self.leases.lease(number));
        let Some((number, lease)) = found.zip(lease) else {
            return match self.leases.config.is_authoritative || server.is_some() {
                true => self.deny(message, &heard, "no such lease"),
                false => self.leases.counters.unknown += 1,
            };
        };
        let holding = lease.holding(ADDRESS.0, ADDRESS.1);
        let has_asked = holding.map(|one| one.prefix) == Some(asked);
        // An offer is taken with the server's identifier; without it the address was the client's.
        let is_taken =
            has_asked && (server.is_some() || lease.held(ADDRESS.0, ADDRESS.1).is_some());
        let stage = lease.stage;
        match stage {
            Stage::Asked => _ = self.leases.known(client, Words::default, heard, now),
            // The last one is answered, because the client may have begun anew.
            Stage::Starting if has_asked => self.leases.wait(number, heard),
            _ if !is_taken => self.deny(message, &heard, "another address"),
            _ => {
                if let Some(heard) = self.leases.start(number, &[ADDRESS], heard, now) {
                    self.acknowledge(message, &heard, number, asked, now);
                }
            }
        }
    }

    fn acknowledge(
        &mut self,
        message: &Message<'_>,
        heard: &Heard,
        number: u32,
        prefix: Prefix,
        now: Time,
    ) {
        // A message that was repeated meanwhile finds its session starting.
        let held = self.leases.lease(number).and_then(|lease| lease.held(ADDRESS.0, ADDRESS.1));
        if held != Some(prefix) {
            return;
        }
        let valid = Class::seconds(self.leases.class(number).valid);
        self.leases.renew(number, ADDRESS, None, valid, now);
        self.leases.renewed(number);
        self.answer(message, heard, kind::ACK, number, Some(prefix));
    }

    /// Somebody else uses the address (section 4.3.3).
    fn decline(&mut self, message: &Message<'_>, client: &Client, now: Time) {
        let asked = message.address(code::REQUESTED_ADDRESS);
        self.give_up(message, client, asked, (Return::Declined, Why::Declined), now);
    }

    /// The client needs its address no more (section 4.3.4).
    fn let_go(&mut self, message: &Message<'_>, client: &Client, now: Time) {
        let ciaddr = Some(message.ciaddr());
        self.give_up(message, client, ciaddr, (Return::Released, Why::Released), now);
    }

    fn give_up(
        &mut self,
        message: &Message<'_>,
        client: &Client,
        address: Option<Ipv4Addr>,
        how: (Return, Why),
        now: Time,
    ) {
        if message.address(code::SERVER).is_some_and(|server| server != self.address) {
            self.leases.counters.foreign += 1;
            return;
        }
        let prefix = address.map(|address| Prefix::host(address.into()));
        let found = self.leases.find(client).filter(|number| {
            let lease = self.leases.lease(*number);
            let holding = lease.and_then(|lease| lease.holding(ADDRESS.0, ADDRESS.1));
            // What was only offered is nobody's to give up.
            holding.is_some_and(|one| one.stage != Held::Offered && Some(one.prefix) == prefix)
        });
        match found {
            None => self.leases.counters.unknown += 1,
            Some(number) => self.leases.end(number, how.0, how.1, now),
        }
    }

    /// A client that has an address otherwise wants options (section 4.3.5).
    fn inform(&mut self, message: &Message<'_>, client: &Client, heard: &Heard) {
        if message.ciaddr().is_unspecified() {
            self.leases.counters.malformed += 1;
            return;
        }
        let Some(class) = self.leases.stateless(Some(client)) else { return };
        let fields = Fields { ciaddr: message.ciaddr().octets(), ..Fields::default() };
        let mut writer = Writer::reply(message, kind::ACK, self.address, fields);
        put_options(&mut writer, message, self.leases.class_of(class));
        let bytes = writer.finish();
        self.say(message, heard, bytes, None);
    }

    /// Sends an offer or an acknowledgement.
    fn answer(
        &mut self,
        message: &Message<'_>,
        heard: &Heard,
        kind: u8,
        number: u32,
        prefix: Option<Prefix>,
    ) {
        let Some(IpAddr::V4(yiaddr)) = prefix.map(Prefix::address) else { return };
        let ciaddr = if kind == kind::ACK { message.ciaddr().octets() } else { [0; 4] };
        let fields = Fields { ciaddr, yiaddr: yiaddr.octets() };
        let mut writer = Writer::reply(message, kind, self.address, fields);
        let class = self.leases.class(number);
        let valid = Class::seconds(class.valid);
        let times = [
            (code::LEASE_TIME, valid),
            (code::RENEWAL, valid / 2),
            // Without rounding down what two seconds have of it.
            (code::REBINDING, (u64::from(valid) * 7 / 8) as u32),
        ];
        for (code, seconds) in times {
            writer.put(code, &seconds.to_be_bytes());
        }
        put_options(&mut writer, message, class);
        let bytes = writer.finish();
        self.say(message, heard, bytes, Some(yiaddr));
    }

    fn deny(&mut self, message: &Message<'_>, heard: &Heard, why: &str) {
        self.leases.counters.refused += 1;
        let mut writer = Writer::reply(message, kind::NAK, self.address, Fields::default());
        writer.put(code::MESSAGE, why.as_bytes());
        put_identifier(&mut writer, message);
        let said = Said {
            line: heard.line,
            mac: MacAddr::BROADCAST,
            from: self.address.into(),
            to: Ipv4Addr::BROADCAST.into(),
            port: CLIENT_PORT,
            bytes: writer.finish(),
        };
        self.leases.say(said);
    }

    /// Sends a message where the client takes it (section 4.1).
    fn say(
        &mut self,
        message: &Message<'_>,
        heard: &Heard,
        bytes: Vec<u8>,
        yiaddr: Option<Ipv4Addr>,
    ) {
        let (mac, to) = destination(message, heard, yiaddr);
        let (line, from) = (heard.line, self.address.into());
        self.leases.say(Said { line, mac, from, to: to.into(), port: CLIENT_PORT, bytes });
    }
}

/// The options that a client asks for, in its order, as far as there is room.
fn put_options(writer: &mut Writer, message: &Message<'_>, class: &Class) {
    put_identifier(writer, message);
    let Some(asked) = message.option(code::PARAMETERS) else {
        // Without a list the client can use its address, and no more.
        for code in [code::SUBNET_MASK, code::ROUTER, code::DNS] {
            if let Some(value) = class.options.get(&u16::from(code)) {
                writer.put(code, value);
            }
        }
        return;
    };
    let mut put = [false; 256];
    for code in asked.iter().filter(|code| !FIXED.contains(code)) {
        if !std::mem::replace(&mut put[usize::from(*code)], true)
            && let Some(value) = class.options.get(&u16::from(*code))
        {
            writer.put(*code, value);
        }
    }
}

/// The client's identifier comes back (RFC 6842).
fn put_identifier(writer: &mut Writer, message: &Message<'_>) {
    if let Some(id) = message.option(code::CLIENT) {
        writer.put(code::CLIENT, &id);
    }
}

/// Options that the server writes itself, whatever a class says.
const FIXED: [u8; 10] = [
    0,
    code::LEASE_TIME,
    code::OVERLOAD,
    code::KIND,
    code::SERVER,
    code::RENEWAL,
    code::REBINDING,
    code::CLIENT,
    code::RELAY_AGENT,
    code::END,
];
