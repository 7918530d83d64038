//! A relay agent of DHCPv6 (RFC 8415 section 19) that knows sessions, as that of version 4 does.
//!
//! What it has to know for an answer travels with the message: the Interface-Id holds line and MAC
//! address of the client, and servers send it back (section 19.3).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use protocol_kit::{Input, Machine, Output, Time};
use wire::MacAddr;

use crate::access::{Heard, Line, Said};
use crate::asking::{Asking, Targets};
use crate::config::Config;
use crate::control::{Client, Command, Identifier, Report, Why};
use crate::lease::{Held, Holding, Stage};
use crate::leases::{Leases, NotMade};
use crate::machines::{self, Access, Steps};
use crate::octets::array;
use crate::pools::Return;
use crate::prefix::{Kind, Prefix};
use crate::v6::clients::{CLIENT_PORT, SERVER_PORT, check, client, words};
use crate::v6::message::{Hop, Message, RELAYS_MAX, Relayed, code, kind};
use crate::v6::writer::Writer;

/// What a relay of DHCPv6 is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Its address towards servers.
    pub own: Ipv6Addr,
    /// An address of the clients' links, by which servers choose their pools.
    pub link: Ipv6Addr,
    /// Its address on lines, a link-local one.
    pub on_lines: Ipv6Addr,
    /// The servers, by their places.
    pub servers: Vec<Ipv6Addr>,
    /// The enterprise number of remote identifiers (RFC 4649).
    pub enterprise: u32,
}

/// The relay.
#[derive(Debug)]
pub struct Relay {
    leases: Leases,
    asking: Asking,
    addresses: Addresses,
}

/// What of a message of a server a client is to have.
struct Given {
    kind: Kind,
    iaid: u32,
    prefix: Prefix,
    valid: u32,
}

impl Machine for Relay {
    type Command = Command;
    type Report = Report;

    fn input(&mut self, now: Time, input: Input<'_, Command>) {
        machines::input(self, now, input);
    }

    fn poll(&mut self, now: Time) -> Option<Output<Report>> {
        self.asking.poll(now).or_else(|| self.leases.poll(now))
    }

    fn deadline(&self) -> Option<Time> {
        self.asking.deadline().into_iter().chain(self.leases.deadline()).min()
    }
}

impl Access for Relay {
    const PORT: u16 = SERVER_PORT;

    fn table(&self) -> &Leases {
        &self.leases
    }

    fn table_mut(&mut self) -> &mut Leases {
        &mut self.leases
    }

    fn bytes(&self) -> usize {
        self.leases.bytes() + self.asking.bytes()
    }
}

impl Steps for Relay {
    fn accepts(&mut self, heard: &Heard, _now: Time) -> bool {
        let counters = &mut self.leases.counters;
        if !check(heard, self.leases.config.trusts_access_nodes, counters) {
            return false;
        }
        // Section 19.1.2.
        let is_far = Hop::parse(&heard.bytes).is_ok_and(|hop| usize::from(hop.hops) >= RELAYS_MAX);
        counters.hops += u64::from(is_far);
        !is_far
    }

    /// Passes a message of a client on, or one of a server.
    fn process(&mut self, heard: Heard, now: Time) {
        let bytes = heard.bytes.clone();
        if matches!(bytes.first(), Some(&kind::RELAY_REPLY)) {
            return self.hand_over(&bytes, heard, now);
        }
        let Ok(relayed) = Relayed::parse(&bytes) else { return };
        let message = relayed.message;
        match message.kind {
            kind::SOLICIT | kind::REQUEST | kind::RENEW | kind::REBIND => {
                let Some(client) = client(&relayed, &heard) else { return };
                let known = self.leases.known(client, || words(&relayed), heard, now);
                let Some((number, heard)) = known else { return };
                self.ask(&message, &heard, number, now);
            }
            kind::RELEASE => {
                self.give_up(&relayed, &heard, (Return::Released, Why::Released), now);
            }
            kind::DECLINE => {
                self.give_up(&relayed, &heard, (Return::Declined, Why::Declined), now);
            }
            // What needs no lease.
            _ => _ = self.forward(&message, &heard, now),
        }
    }

    fn asking_mut(&mut self) -> Option<&mut Asking> {
        Some(&mut self.asking)
    }

    /// Section 19.2.
    fn answer(&mut self, from: SocketAddr, bytes: &[u8], now: Time) {
        let counters = &mut self.leases.counters;
        let Some(place) = self.asking.place(from) else {
            counters.stranger += 1;
            return;
        };
        let Ok(hop) = Hop::parse(bytes) else {
            counters.malformed += 1;
            return;
        };
        if hop.kind != kind::RELAY_REPLY || hop.link != self.addresses.link {
            counters.loops += 1;
            return;
        }
        let interface = hop.options.get(code::INTERFACE).filter(|id| id.len() >= PLACE_LEN);
        let Some(interface) = interface else {
            counters.unsolicited += 1;
            return;
        };
        let Ok(Relayed { message, .. }) = Relayed::parse(hop.inner) else {
            counters.malformed += 1;
            return;
        };
        self.asking.heard_of(place, message.server());
        let is_known = matches!(message.kind, kind::ADVERTISE | kind::REPLY);
        // The client would use something that no lease has.
        if !is_known || !message.options.can_be_held() {
            counters.unsupported += 1;
            return;
        }
        let heard = Heard {
            line: Line(u32::from_be_bytes(array(interface, 0))),
            mac: MacAddr(array(interface, 4)),
            from: from.ip(),
            to: self.addresses.own.into(),
            bytes: bytes.to_vec(),
        };
        let has_any = given(&message).next().is_some();
        let number = self.number(&message, &heard);
        let lease = number.and_then(|number| self.leases.lease(number));
        let is_asked = lease.is_some_and(|lease| lease.note.xid == Some(xid(&message)));
        let is_starting = lease.is_some_and(|lease| lease.stage == Stage::Starting);
        // Without anything in it, it may answer what needs no lease.
        if has_any && !is_asked {
            self.leases.counters.unsolicited += 1;
            return;
        }
        self.leases.counters.answered += 1;
        if is_starting && has_any {
            self.leases.counters.superseded += 1;
            return;
        }
        self.process(heard, now);
    }
}

impl Relay {
    /// Creates a relay. The pools of the configuration keep what servers must not give. Datagrams
    /// that come to its socket from lines are to be kept from it, as [`crate::Framed`] does.
    ///
    /// # Errors
    /// [`NotMade`].
    pub fn new(config: Config, addresses: Addresses) -> Result<Relay, NotMade> {
        let local = SocketAddr::new(addresses.own.into(), SERVER_PORT);
        let servers = addresses.servers.iter();
        let servers = servers.map(|server| SocketAddr::new((*server).into(), SERVER_PORT));
        Ok(Relay {
            leases: Leases::new(config, true)?,
            asking: Asking::new(local, servers)?,
            addresses,
        })
    }

    /// Passes on what a client gives up. It has to be its own: by another one's identifier it could
    /// have a server take what that one has. Where no server hears of it, it counts as in version
    /// 4.
    fn give_up(&mut self, relayed: &Relayed<'_>, heard: &Heard, how: (Return, Why), now: Time) {
        let message = relayed.message;
        let found = client(relayed, heard).and_then(|client| self.leases.find(&client));
        let Some((number, lease)) = found.zip(found.and_then(|it| self.leases.lease(it))) else {
            self.leases.counters.unknown += 1;
            return;
        };
        if lease.stage == Stage::Starting {
            // An answer waits, which this would overtake.
            self.leases.counters.superseded += 1;
            return;
        }
        let gone: Vec<Given> = given(&message).collect();
        let is_own = |one: &Given| {
            let mut all = lease.holdings.iter().filter(|held| held.stage == Held::Firm);
            all.any(|held| (held.kind, held.iaid, held.prefix) == (one.kind, one.iaid, one.prefix))
        };
        if gone.is_empty() || !message.options.can_be_held() || !gone.iter().all(is_own) {
            self.leases.counters.unknown += 1;
            return;
        }
        let is_gone = |held: &Holding| gone.iter().any(|one| one.prefix == held.prefix);
        if self.ask(&message, heard, number, now) || message.kind == kind::RELEASE {
            self.leases.release(number, is_gone, how, now);
        }
    }

    /// Passes on a message of a client that has a lease, or a request for one; whether it was sent.
    /// Then what answers an earlier one is not for it any more.
    fn ask(&mut self, message: &Message<'_>, heard: &Heard, number: u32, now: Time) -> bool {
        let is_sent = self.forward(message, heard, now);
        if let Some(note) = self.leases.note_mut(number).filter(|_| is_sent) {
            note.xid = Some(xid(message));
        }
        is_sent
    }

    /// Sends a Relay-forward to every server (section 19.1); whether it was sent.
    fn forward(&mut self, message: &Message<'_>, heard: &Heard, now: Time) -> bool {
        let IpAddr::V6(peer) = heard.from else { return false };
        let hops = Hop::parse(&heard.bytes).map_or(0, |hop| hop.hops + 1);
        let mut relay = Writer::relay(kind::RELAY_FORWARD, hops, self.addresses.link, peer);
        let (circuit, remote) = self.asking.names(heard.line);
        let place = [&heard.line.0.to_be_bytes()[..], &heard.mac.0, &circuit].concat();
        relay.put(code::INTERFACE, &place);
        if !remote.is_empty() {
            let enterprise = self.addresses.enterprise.to_be_bytes();
            relay.put(code::REMOTE, &[&enterprise[..], &remote].concat());
        }
        if !relay.put(code::RELAY_MESSAGE, &heard.bytes) {
            // It leaves no room for what is put around it.
            self.leases.counters.malformed += 1;
            return false;
        }
        if !self.asking.may_send(&mut self.leases) {
            return false;
        }
        let all = self.asking.places();
        // Servers that do not know a client are silent, unless they are asked for the first time.
        let owing = match (message.server(), message.kind) {
            (Some(identifier), _) => {
                self.asking.called(identifier).map_or(0..0, |place| place..place + 1)
            }
            (None, kind::SOLICIT | kind::INFORMATION) => all.clone(),
            (None, _) => 0..0,
        };
        let bytes = relay.finish();
        let targets = Targets { to: all, owing };
        self.asking.forward(&targets, |_| bytes.clone(), &mut self.leases, now);
        true
    }

    /// Hands a message of a server to its client: a Reply when its session is up.
    fn hand_over(&mut self, bytes: &[u8], heard: Heard, now: Time) {
        let Ok(hop) = Hop::parse(bytes) else { return };
        let Ok(inner) = Relayed::parse(hop.inner) else { return };
        let message = inner.message;
        let number = self.number(&message, &heard);
        let heard = match number.filter(|_| message.kind == kind::REPLY) {
            Some(number) => match self.take_over(&message, number, heard, now) {
                Some(heard) => heard,
                None => return,
            },
            None => heard,
        };
        let port = if inner.hops.is_empty() { CLIENT_PORT } else { SERVER_PORT };
        self.leases.say(Said {
            line: heard.line,
            mac: heard.mac,
            from: self.addresses.on_lines.into(),
            to: hop.peer.into(),
            port,
            bytes: hop.inner.to_vec(),
        });
    }

    /// Has the lease hold what a Reply gives; `None` while the client must wait for it.
    fn take_over(
        &mut self,
        message: &Message<'_>,
        number: u32,
        heard: Heard,
        now: Time,
    ) -> Option<Heard> {
        let (valid, gone): (Vec<Given>, Vec<Given>) = given(message).partition(|one| one.valid > 0);
        for one in &valid {
            if !self.leases.hold(number, (one.kind, one.iaid), (one.prefix, one.valid), now) {
                return None;
            }
        }
        let ias: Vec<(Kind, u32)> = valid.iter().map(|one| (one.kind, one.iaid)).collect();
        let heard = self.leases.start(number, &ias, heard, now)?;
        for one in &valid {
            self.leases.renew(number, (one.kind, one.iaid), Some(one.prefix), one.valid, now);
        }
        if !valid.is_empty() {
            self.leases.renewed(number);
            // More answers to it were not asked for.
            if let Some(note) = self.leases.note_mut(number) {
                note.xid = None;
            }
        }
        let is_gone = |one: &Holding| {
            one.stage == Held::Firm && gone.iter().any(|given| given.prefix == one.prefix)
        };
        if !gone.is_empty() {
            self.leases.release(number, is_gone, (Return::Released, Why::Withdrawn), now);
        }
        Some(heard)
    }

    fn number(&self, message: &Message<'_>, heard: &Heard) -> Option<u32> {
        let id = Identifier::new(message.client()?.to_vec())?;
        self.leases.find(&Client { line: heard.line, mac: heard.mac, id })
    }
}

/// What the identity associations of a message have.
fn given(message: &Message<'_>) -> impl Iterator<Item = Given> {
    message.options.ias().flat_map(|ia| {
        let of_ia = ia.leaves().filter_map(move |leaf| {
            let (kind, iaid, valid) = (ia.kind, ia.iaid, leaf.valid);
            Some(Given { kind, iaid, prefix: leaf.prefix?, valid })
        });
        of_ia.collect::<Vec<_>>()
    })
}

fn xid(message: &Message<'_>) -> u32 {
    let [a, b, c] = message.xid;
    u32::from_be_bytes([0, a, b, c])
}

/// Line and MAC address at the beginning of an Interface-Id.
const PLACE_LEN: usize = 10;
