//! A server of DHCPv6 for lines (RFC 8415 section 18.3): addresses (IA_NA) and prefixes (IA_PD).
//!
//! As with version 4, a client that is not known is advertised nothing before the owner has
//! accepted it, and a Reply that gives it something leaves when the owner has said that its packets
//! pass.

use std::net::Ipv6Addr;

use protocol_kit::{Input, Machine, Output, Time};

use crate::access::{Heard, Said};
use crate::config::{Class, Config};
use crate::control::{Client, Command, Report, Why};
use crate::lease::{Held, Stage};
use crate::leases::{Leases, NotMade};
use crate::machines::{self, Access, Steps};
use crate::pools::Return;
use crate::prefix::Kind;
use crate::v6::clients::{CLIENT_PORT, SERVER_PORT, Wanted, check, client, wanted, words};
use crate::v6::message::{Ia, Message, Relayed, code, kind, status};
use crate::v6::writer::{Writer, wrapped};

/// What a server of DHCPv6 is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its identifier (DUID), of 3 to 130 bytes; it must not change over its lives.
    pub duid: Vec<u8>,
    /// Its address on lines, a link-local one.
    pub address: Ipv6Addr,
    /// How much clients should prefer it; at 255 they look no further (section 21.8).
    pub preference: u8,
    /// Whether a client gets in two messages what it would get in four (section 18.3.1).
    pub allows_rapid_commit: bool,
}

/// The server.
#[derive(Debug)]
pub struct Server {
    leases: Leases,
    identity: Identity,
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
    fn accepts(&mut self, heard: &Heard, now: Time) -> bool {
        let trusts = self.leases.config.trusts_access_nodes;
        if !check(heard, trusts, &mut self.leases.counters) {
            return false;
        }
        let Ok(relayed) = Relayed::parse(&heard.bytes) else { return false };
        let message = relayed.message;
        let server = message.server();
        let is_there = match wanted(message.kind) {
            Wanted::Own => server.is_some(),
            Wanted::None => server.is_none(),
            Wanted::Any => true,
        };
        if !is_there {
            self.leases.counters.malformed += 1;
            return false;
        }
        if server.is_none_or(|server| server == self.identity.duid) {
            return true;
        }
        self.leases.counters.foreign += 1;
        if let Some(client) = client(&relayed, heard).filter(|_| message.kind == kind::REQUEST) {
            self.leases.refuse_offer(&client, now);
        }
        false
    }

    fn process(&mut self, heard: Heard, now: Time) {
        let bytes = heard.bytes.clone();
        let Ok(relayed) = Relayed::parse(&bytes) else { return };
        let message = relayed.message;
        let is_unicast = relayed.hops.is_empty() && !heard.to.is_multicast();
        if is_unicast && wanted(message.kind) == Wanted::Own {
            return self.status(&relayed, &heard, status::USE_MULTICAST, "use multicast");
        }
        if is_unicast {
            // Section 18.4: the client was not allowed to.
            self.leases.counters.unsupported += 1;
            return;
        }
        if message.kind == kind::INFORMATION {
            return self.inform(&relayed, &heard);
        }
        let Some(client) = client(&relayed, &heard) else { return };
        let has_rapid = message.options.get(code::RAPID_COMMIT).is_some();
        match message.kind {
            kind::SOLICIT if has_rapid && self.identity.allows_rapid_commit => {
                let answer =
                    Answer { kind: kind::REPLY, has_rapid_commit: true, is_renewal: false };
                self.bind(&relayed, client, heard, answer, now);
            }
            kind::SOLICIT => self.advertise(&relayed, client, heard, now),
            kind::REQUEST => {
                let answer =
                    Answer { kind: kind::REPLY, has_rapid_commit: false, is_renewal: false };
                self.bind(&relayed, client, heard, answer, now);
            }
            kind::RENEW | kind::REBIND => self.renew(&relayed, client, heard, now),
            kind::CONFIRM => self.confirm(&relayed, &client, &heard),
            kind::RELEASE => {
                self.give_up(&relayed, &client, &heard, (Return::Released, Why::Released), now);
            }
            _ => self.give_up(&relayed, &client, &heard, (Return::Declined, Why::Declined), now),
        }
    }
}

/// What is done about a request, and what an identity association without binding is told.
#[derive(Clone, Copy)]
struct Answer {
    kind: u8,
    has_rapid_commit: bool,
    /// Whether an identity association without binding is told so, as one that is renewed is.
    is_renewal: bool,
}

impl Server {
    /// Creates a server.
    ///
    /// # Errors
    /// [`NotMade`].
    pub fn new(config: Config, identity: Identity) -> Result<Server, NotMade> {
        Ok(Server { leases: Leases::new(config, true)?, identity })
    }

    /// Section 18.3.1 and 18.3.9.
    fn advertise(&mut self, relayed: &Relayed<'_>, client: Client, heard: Heard, now: Time) {
        let known = self.leases.known(client, || words(relayed), heard, now);
        let Some((number, heard)) = known else { return };
        self.offer(&relayed.message, number, now);
        let answer = Answer { kind: kind::ADVERTISE, has_rapid_commit: false, is_renewal: false };
        self.answer(relayed, &heard, number, answer);
    }

    /// Section 18.3.2: what the client wants is its own when the owner has acknowledged it.
    fn bind(
        &mut self,
        relayed: &Relayed<'_>,
        client: Client,
        heard: Heard,
        answer: Answer,
        now: Time,
    ) {
        let known = self.leases.known(client, || words(relayed), heard, now);
        let Some((number, heard)) = known else { return };
        self.offer(&relayed.message, number, now);
        let ias: Vec<(Kind, u32)> =
            relayed.message.options.ias().map(|ia| (ia.kind, ia.iaid)).collect();
        let Some(heard) = self.leases.start(number, &ias, heard, now) else { return };
        let valid = Class::seconds(self.leases.class(number).valid);
        let all = ias.into_iter().map(|ia| self.leases.renew(number, ia, None, valid, now));
        if all.fold(false, |any, is_any| any | is_any) {
            self.leases.renewed(number);
        }
        self.answer(relayed, &heard, number, answer);
    }

    fn offer(&mut self, message: &Message<'_>, number: u32, now: Time) {
        for ia in message.options.ias() {
            let wish = ia.leaves().find_map(|leaf| leaf.prefix);
            self.leases.offer(number, (ia.kind, ia.iaid), wish, now);
        }
    }

    /// Sections 18.3.4 and 18.3.5. Identity associations that a known client adds are bound.
    fn renew(&mut self, relayed: &Relayed<'_>, client: Client, heard: Heard, now: Time) {
        let answer = Answer { kind: kind::REPLY, has_rapid_commit: false, is_renewal: true };
        let found = self.leases.find(&client);
        if found.is_some() {
            return self.bind(relayed, client, heard, answer, now);
        }
        if relayed.message.kind == kind::REBIND && !self.leases.config.is_authoritative {
            self.leases.counters.unknown += 1;
            return;
        }
        let mut reply = self.reply(relayed, kind::REPLY);
        for ia in relayed.message.options.ias() {
            let mut inner = Writer::inner();
            inner.status(status::NO_BINDING, "no binding");
            reply.ia(ia.kind, ia.iaid, [0; 2], inner);
        }
        self.say(relayed, &heard, reply);
    }

    /// Section 18.3.3: whether what the client has is this link's.
    fn confirm(&mut self, relayed: &Relayed<'_>, client: &Client, heard: &Heard) {
        let found = self.leases.find(client);
        let lease = found.and_then(|number| self.leases.lease(number));
        let mut leaves = Vec::new();
        for ia in relayed.message.options.ias() {
            leaves.extend(ia.leaves().map(|leaf| (ia.kind, leaf.prefix)));
        }
        let is_any = !leaves.is_empty();
        let has_all = leaves.into_iter().all(|(kind, prefix)| {
            let mut all = lease.iter().flat_map(|lease| &lease.holdings);
            all.any(|one| one.stage == Held::Firm && (one.kind, Some(one.prefix)) == (kind, prefix))
        });
        let is_known = found.is_some();
        if !is_any || (!is_known && !self.leases.config.is_authoritative) {
            self.leases.counters.unknown += 1;
        } else if has_all {
            self.status(relayed, heard, status::SUCCESS, "all addresses are on the link");
        } else {
            self.status(relayed, heard, status::NOT_ON_LINK, "not on the link");
        }
    }

    /// Sections 18.3.7 and 18.3.8.
    fn give_up(
        &mut self,
        relayed: &Relayed<'_>,
        client: &Client,
        heard: &Heard,
        how: (Return, Why),
        now: Time,
    ) {
        let found = self.leases.find(client).filter(|number| {
            self.leases.lease(*number).is_some_and(|lease| lease.stage != Stage::Asked)
        });
        let mut reply = self.reply(relayed, kind::REPLY);
        let mut gone = Vec::new();
        for ia in relayed.message.options.ias() {
            let held =
                found.and_then(|number| self.leases.lease(number)?.holding(ia.kind, ia.iaid));
            let held = held.filter(|one| one.stage != Held::Offered).map(|one| one.prefix);
            match held {
                None => {
                    let mut inner = Writer::inner();
                    inner.status(status::NO_BINDING, "no binding");
                    reply.ia(ia.kind, ia.iaid, [0; 2], inner);
                }
                // What else it lists of the association is not its own, and is ignored.
                Some(held) if ia.leaves().any(|leaf| leaf.prefix == Some(held)) => gone.push(held),
                Some(_) => {}
            }
        }
        reply.status(status::SUCCESS, "success");
        if let Some(number) = found.filter(|_| !gone.is_empty()) {
            self.leases.release(number, |one| gone.contains(&one.prefix), how, now);
        }
        self.say(relayed, heard, reply);
    }

    /// Section 18.3.6: options alone.
    fn inform(&mut self, relayed: &Relayed<'_>, heard: &Heard) {
        let message = &relayed.message;
        if message.options.ias().next().is_some() {
            self.leases.counters.malformed += 1;
            return;
        }
        let client = client(relayed, heard);
        let Some(class) = self.leases.stateless(client.as_ref()) else { return };
        let mut reply = self.reply(relayed, kind::REPLY);
        put_options(&mut reply, message, self.leases.class_of(class));
        self.say(relayed, heard, reply);
    }

    /// Tells a client what it has by its identity associations.
    fn answer(&mut self, relayed: &Relayed<'_>, heard: &Heard, number: u32, answer: Answer) {
        let message = &relayed.message;
        let mut reply = self.reply(relayed, answer.kind);
        if answer.has_rapid_commit {
            reply.put(code::RAPID_COMMIT, &[]);
        }
        if answer.kind == kind::ADVERTISE && self.identity.preference > 0 {
            reply.put(code::PREFERENCE, &[self.identity.preference]);
        }
        for ia in message.options.ias() {
            self.put_ia(&mut reply, ia, number, answer);
        }
        for (code, value) in message.options.iter().filter(|(code, _)| *code == code::IA_TA) {
            // Temporary addresses are not given.
            let mut inner = Writer::inner();
            inner.status(status::NO_ADDRESSES, "no temporary addresses");
            reply.put(code, &[&value[..4], &inner.finish()].concat());
        }
        put_options(&mut reply, message, self.leases.class(number));
        self.say(relayed, heard, reply);
    }

    fn put_ia(&self, reply: &mut Writer, ia: Ia<'_>, number: u32, answer: Answer) {
        let class = self.leases.class(number);
        let valid = Class::seconds(class.valid);
        let preferred = Class::seconds(class.preferred).min(valid);
        let lease = self.leases.lease(number);
        let holding = lease.and_then(|lease| lease.holding(ia.kind, ia.iaid));
        // What is only offered is not told to be bound.
        let is_firm = |stage| stage == Held::Firm || answer.kind == kind::ADVERTISE;
        let held = holding.filter(|one| is_firm(one.stage)).map(|one| one.prefix);
        let mut inner = Writer::inner();
        let Some(held) = held else {
            let (status, words) = match ia.kind {
                _ if answer.is_renewal => (status::NO_BINDING, "no binding"),
                Kind::Delegated => (status::NO_PREFIXES, "no prefixes"),
                _ => (status::NO_ADDRESSES, "no addresses"),
            };
            inner.status(status, words);
            return reply.ia(ia.kind, ia.iaid, [0; 2], inner);
        };
        inner.leaf(ia.kind, held, [preferred, valid]);
        if answer.is_renewal {
            // What the client thinks that it has beside it is not its own (section 18.3.4).
            for other in ia.leaves().filter_map(|leaf| leaf.prefix).filter(|one| *one != held) {
                inner.leaf(ia.kind, other, [0, 0]);
            }
        }
        let times = [preferred / 2, (u64::from(preferred) * 4 / 5) as u32];
        reply.ia(ia.kind, ia.iaid, times, inner);
    }

    fn status(&mut self, relayed: &Relayed<'_>, heard: &Heard, status: u16, words: &str) {
        let mut reply = self.reply(relayed, kind::REPLY);
        reply.status(status, words);
        self.say(relayed, heard, reply);
    }

    /// Begins an answer: both identifiers.
    fn reply(&self, relayed: &Relayed<'_>, kind: u8) -> Writer {
        let mut reply = Writer::message(kind, relayed.message.xid);
        if let Some(client) = relayed.message.client() {
            reply.put(code::CLIENT, client);
        }
        reply.put(code::SERVER, &self.identity.duid);
        reply
    }

    /// Sends an answer to the client, or to the relay agents of its line.
    fn say(&mut self, relayed: &Relayed<'_>, heard: &Heard, reply: Writer) {
        let port = if relayed.hops.is_empty() { CLIENT_PORT } else { SERVER_PORT };
        self.leases.say(Said {
            line: heard.line,
            mac: heard.mac,
            from: self.identity.address.into(),
            to: heard.from,
            port,
            bytes: wrapped(relayed, reply.finish()),
        });
    }
}

/// The options that a client asks for, in its order.
fn put_options(reply: &mut Writer, message: &Message<'_>, class: &Class) {
    let asked = message.options.get(code::REQUESTED).unwrap_or_default();
    let mut put = Vec::new();
    for code in asked.chunks_exact(2).map(|code| u16::from_be_bytes([code[0], code[1]])) {
        if let Some(value) = class.options.get(&code)
            && !put.contains(&code)
        {
            put.push(code);
            reply.put(code, value);
        }
    }
}
