//! The option of the IPv6 Control Protocol (RFC 5072 section 4.1): interface identifiers.

use crate::config::V6;
use crate::control::Reason;
use crate::draws::Draws;
use crate::layer::Layer;
use crate::options::{Judgement, Options, Verdict, put};
use crate::packet::protocol;

/// The identifiers of both sides.
#[derive(Debug)]
pub(crate) struct Ipv6cp {
    given: V6,
    /// That of this side, never 0.
    pub local: u64,
    /// That of the peer: the one it is given, or has asked for; 0 if there is neither.
    pub remote: u64,
    /// What the peer was told to take; 0 if it was not told.
    told: u64,
    /// Whether the peer was told to ask for one.
    has_added: bool,
}

impl Ipv6cp {
    pub fn new(given: V6, draws: &mut Draws) -> Ipv6cp {
        let local = if given.local == 0 { another(given.remote, draws) } else { given.local };
        Ipv6cp { given, local, remote: given.remote, told: 0, has_added: false }
    }

    /// The suggestion to a peer that asks for no identifier, or for one that it cannot have. It
    /// stays the same.
    fn suggest(&mut self, draws: &mut Draws) -> [u8; 8] {
        if self.given.remote != 0 {
            self.told = self.given.remote;
        } else if self.told == 0 || self.told == self.local {
            self.told = another(self.local, draws);
        }
        self.told.to_be_bytes()
    }
}

impl Layer for Ipv6cp {
    const PROTOCOL: u16 = protocol::IPV6CP;

    fn request(&self, options: &mut Vec<u8>) {
        put(options, INTERFACE_ID, &self.local.to_be_bytes());
    }

    fn judge(
        &mut self,
        options: Options<'_>,
        is_last: bool,
        draws: &mut Draws,
    ) -> Result<Verdict, Reason> {
        let mut judgement = Judgement::new(is_last);
        // The peer has the one that it is given also if it does not ask for it.
        let mut remote = self.given.remote;
        for option in options.iter() {
            if judgement.reject_repeated(option) {
                continue;
            }
            if option.kind != INTERFACE_ID {
                judgement.reject(option);
                continue;
            }
            let value = option.array().map_or(0, u64::from_be_bytes);
            let is_usable = value != 0 && value != self.local;
            match is_usable && (self.given.remote == 0 || value == self.given.remote) {
                true => remote = value,
                false => judgement.nak(option, &self.suggest(draws)),
            }
        }
        let is_absent = !options.iter().any(|option| option.kind == INTERFACE_ID);
        if is_absent && !self.has_added {
            self.has_added = true;
            judgement.add(INTERFACE_ID, &self.suggest(draws));
        }
        let verdict = judgement.verdict();
        if verdict == Verdict::Ack {
            self.remote = remote;
        }
        Ok(verdict)
    }

    fn nakked(&mut self, options: Options<'_>, draws: &mut Draws) -> Result<(), Reason> {
        for option in options.iter().filter(|option| option.kind == INTERFACE_ID) {
            let value = option.array().map_or(0, u64::from_be_bytes);
            // The peer does not choose an identifier that is given to this side, and this side does
            // not take the peer's.
            if self.given.local == 0 {
                let is_usable = value != 0 && value != self.remote && value != self.told;
                self.local = if is_usable { value } else { another(self.remote, draws) };
            }
        }
        Ok(())
    }

    fn rejected(&mut self, _: Options<'_>) -> Result<(), Reason> {
        Err(Reason::NoNetwork)
    }

    fn accepted(&mut self) -> Result<(), Reason> {
        Ok(())
    }
}

/// A random identifier that is not this one.
fn another(than: u64, draws: &mut Draws) -> u64 {
    let drawn = draws.interface_id();
    if drawn == than { (drawn ^ 2).max(1) } else { drawn }
}

/// Interface-Identifier, the only option that is known.
pub(crate) const INTERFACE_ID: u8 = 1;
