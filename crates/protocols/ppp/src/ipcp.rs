//! The options of the Internet Protocol Control Protocol (RFC 1332, and RFC 1877 for DNS servers).

use std::net::Ipv4Addr;

use crate::config::V4;
use crate::control::{Reason, V4Agreed};
use crate::draws::Draws;
use crate::layer::Layer;
use crate::options::{Judgement, Options, Verdict, put};
use crate::packet::protocol;

/// The addresses as one side asks for them, and as the other does.
#[derive(Debug)]
pub(crate) struct Ipcp {
    given: V4,
    /// The address of this side, also 0.0.0.0; `None` if the peer has rejected the option.
    own: Option<Ipv4Addr>,
    /// DNS servers that are asked for.
    dns: [Option<Ipv4Addr>; 2],
    /// The address that the peer has.
    peer: Ipv4Addr,
    /// Whether the peer was told to ask for its address.
    has_added: bool,
}

impl Ipcp {
    pub fn new(given: V4) -> Ipcp {
        let asked = given.asks_dns.then_some(Ipv4Addr::UNSPECIFIED);
        let (own, dns) = (Some(given.local), [asked; 2]);
        Ipcp { given, own, dns, peer: given.remote, has_added: false }
    }

    pub fn agreed(&self) -> V4Agreed {
        let is_told = |server: Option<Ipv4Addr>| server.filter(|one| !one.is_unspecified());
        V4Agreed {
            local: self.own.unwrap_or(self.given.local),
            remote: self.peer,
            dns: self.dns.map(is_told),
        }
    }
}

impl Layer for Ipcp {
    const PROTOCOL: u16 = protocol::IPCP;

    fn request(&self, options: &mut Vec<u8>) {
        if let Some(own) = self.own {
            put(options, kind::ADDRESS, &own.octets());
        }
        for (kind, server) in kind::DNS.into_iter().zip(self.dns) {
            if let Some(server) = server {
                put(options, kind, &server.octets());
            }
        }
    }

    fn judge(
        &mut self,
        options: Options<'_>,
        is_last: bool,
        _: &mut Draws,
    ) -> Result<Verdict, Reason> {
        let mut judgement = Judgement::new(is_last);
        let V4 { remote, dns, .. } = self.given;
        let (mut peer, mut has_address) = (remote, false);
        for option in options.iter() {
            if judgement.reject_repeated(option) {
                continue;
            }
            let value: Option<[u8; 4]> = option.array();
            let value = value.map_or(Ipv4Addr::UNSPECIFIED, Ipv4Addr::from);
            if option.kind == kind::ADDRESS {
                has_address = true;
                match (remote.is_unspecified(), value.is_unspecified()) {
                    (false, _) if value == remote => {}
                    (false, _) => judgement.nak(option, &remote.octets()),
                    (true, false) => peer = value,
                    // Neither side has one.
                    (true, true) => judgement.reject(option),
                }
                continue;
            }
            let place = kind::DNS.iter().position(|kind| *kind == option.kind);
            match place.and_then(|place| dns[place]) {
                Some(server) if value == server => {}
                Some(server) => judgement.nak(option, &server.octets()),
                None => judgement.reject(option),
            }
        }
        if !has_address && !remote.is_unspecified() && !self.has_added {
            self.has_added = true;
            judgement.add(kind::ADDRESS, &remote.octets());
        }
        let verdict = judgement.verdict();
        if verdict == Verdict::Ack {
            self.peer = peer;
        }
        Ok(verdict)
    }

    fn nakked(&mut self, options: Options<'_>, _: &mut Draws) -> Result<(), Reason> {
        for option in options.iter() {
            let Some(value) = option.array::<4>().map(Ipv4Addr::from) else { continue };
            let place = kind::DNS.iter().position(|kind| *kind == option.kind);
            if let Some(server) = place.and_then(|place| self.dns[place].as_mut()) {
                *server = value;
            }
            // The peer does not choose the own address, unless it was asked for one.
            let is_wanted = self.given.local.is_unspecified() && !value.is_unspecified();
            if option.kind == kind::ADDRESS && is_wanted {
                self.own = Some(value);
            }
        }
        Ok(())
    }

    fn rejected(&mut self, options: Options<'_>) -> Result<(), Reason> {
        for option in options.iter() {
            match kind::DNS.iter().position(|kind| *kind == option.kind) {
                Some(place) => self.dns[place] = None,
                None if self.given.local.is_unspecified() => return Err(Reason::NoNetwork),
                None => self.own = None,
            }
        }
        Ok(())
    }

    fn accepted(&mut self) -> Result<(), Reason> {
        match self.own.is_some_and(|own| own.is_unspecified()) {
            true => Err(Reason::NoNetwork),
            false => Ok(()),
        }
    }
}

/// Options that are known; all others are rejected.
pub(crate) mod kind {
    /// IP-Address.
    pub const ADDRESS: u8 = 3;
    /// The first and the second DNS server.
    pub const DNS: [u8; 2] = [129, 131];
}
