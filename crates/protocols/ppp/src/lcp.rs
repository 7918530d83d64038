//! The options of the Link Control Protocol (RFC 1661 section 6) over PPPoE (RFC 2516 section 7).

use std::sync::Arc;

use crate::config::{Config, Method};
use crate::control::{Link, Reason};
use crate::draws::Draws;
use crate::layer::Layer;
use crate::options::{Judgement, Options, Verdict, put};
use crate::packet::protocol;

/// The link as one side asks for it, and as the other does.
#[derive(Debug)]
pub(crate) struct Lcp {
    config: Arc<Config>,
    /// Most bytes that the link carries.
    mru_max: u16,
    /// The MRU that this side asks for; `None` if the peer has rejected the option.
    mru: Option<u16>,
    /// 0 if the peer has rejected the option.
    pub magic: u32,
    /// The method by which the peer has to authenticate.
    pub asks: Option<Method>,
    /// What was accepted of the peer.
    peer: Peer,
    /// The magic number that was suggested to the peer last.
    suggested: Option<u32>,
    /// Times in a row that an own magic number or suggestion came back.
    loops: u8,
}

#[derive(Clone, Copy, Debug)]
struct Peer {
    mru: u16,
    magic: u32,
    asks: Option<Method>,
}

impl Lcp {
    pub fn new(config: Arc<Config>, mru_max: u16, draws: &mut Draws) -> Lcp {
        let asks = config.requires.first().copied();
        Lcp {
            config,
            mru_max,
            mru: Some(mru_max),
            magic: draws.magic(),
            asks,
            peer: UNASKED,
            suggested: None,
            loops: 0,
        }
    }

    /// The link as it is negotiated.
    pub fn link(&self) -> Link {
        let mtu = self.peer.mru.min(self.mru_max);
        Link { mtu, magic: self.magic, peer_magic: self.peer.magic }
    }

    /// The method by which this side has to authenticate.
    pub fn is_asked(&self) -> Option<Method> {
        self.peer.asks
    }

    /// Whether a request bears the own magic number (section 6.4): it may be the own request.
    ///
    /// # Errors
    /// [`Reason::Looped`] if that comes back so often that it is no chance.
    fn is_own(&mut self, options: Options<'_>) -> Result<bool, Reason> {
        let mut magics = numbers(options).filter(|magic| *magic != 0).peekable();
        if magics.peek().is_none() {
            return Ok(false);
        }
        let is_own = magics.any(|magic| magic == self.magic);
        if is_own {
            self.count_loop()?;
        } else {
            self.loops = 0;
        }
        Ok(is_own)
    }

    fn count_loop(&mut self) -> Result<(), Reason> {
        self.loops += 1;
        if self.loops >= LOOPS_MAX { Err(Reason::Looped) } else { Ok(()) }
    }

    /// A magic number for the peer.
    fn suggest(&mut self, draws: &mut Draws) -> [u8; 4] {
        let magic = draws.magic();
        self.suggested = Some(magic);
        magic.to_be_bytes()
    }

    /// The method to ask for when the peer has refused one by Nak. It may offer several: the one
    /// that this side prefers is taken, and the refused one only if there is no other. If none of
    /// them will do it is the one behind the refused one.
    fn instead(&self, offer: Options<'_>) -> Option<Method> {
        let offered = |method: Method| {
            let mut all = offer.iter().filter(|option| option.kind == kind::AUTHENTICATION);
            all.any(|option| Method::of(option.data) == Some(method))
        };
        let requires = self.config.requires.iter().copied();
        let other = requires.clone().find(|one| Some(*one) != self.asks && offered(*one));
        let same = self.asks.filter(|one| offered(*one));
        let behind = requires.skip_while(|one| Some(*one) != self.asks).nth(1);
        other.or(same).or(behind)
    }
}

/// The magic numbers of a list of options, which has one at most if its sender keeps to the rules.
fn numbers(options: Options<'_>) -> impl Iterator<Item = u32> {
    let magics = options.iter().filter(|option| option.kind == kind::MAGIC);
    magics.filter_map(|option| option.array().map(u32::from_be_bytes))
}

impl Layer for Lcp {
    const PROTOCOL: u16 = protocol::LCP;

    fn request(&self, options: &mut Vec<u8>) {
        if let Some(mru) = self.mru {
            put(options, kind::MRU, &mru.to_be_bytes());
        }
        if let Some(method) = self.asks {
            put(options, kind::AUTHENTICATION, method.value());
        }
        if self.magic != 0 {
            put(options, kind::MAGIC, &self.magic.to_be_bytes());
        }
    }

    fn judge(
        &mut self,
        options: Options<'_>,
        is_last: bool,
        draws: &mut Draws,
    ) -> Result<Verdict, Reason> {
        if self.is_own(options)? {
            // A Nak with another number must be sent, whatever is wrong with other options: if it
            // comes back the link is a loop.
            let mut nak = Vec::new();
            put(&mut nak, kind::MAGIC, &self.suggest(draws));
            return Ok(Verdict::Nak(nak));
        }
        let mut judgement = Judgement::new(is_last);
        let mut peer = UNASKED;
        let methods = self.config.identity.as_ref().map_or(&[][..], |one| &one.methods);
        let methods = methods.to_vec();
        for option in options.iter() {
            if judgement.reject_repeated(option) {
                continue;
            }
            match option.kind {
                kind::MRU => match option.array().map(u16::from_be_bytes) {
                    Some(mru) if (self.config.mru_min..=self.mru_max).contains(&mru) => {
                        peer.mru = mru;
                    }
                    Some(mru) if mru < self.config.mru_min => {
                        judgement.nak(option, &self.config.mru_min.to_be_bytes());
                    }
                    _ => judgement.nak(option, &self.mru_max.to_be_bytes()),
                },
                kind::AUTHENTICATION => match (Method::of(option.data), methods.first()) {
                    (Some(method), _) if methods.contains(&method) => peer.asks = Some(method),
                    (_, Some(method)) => judgement.nak(option, method.value()),
                    (_, None) => judgement.reject(option),
                },
                kind::MAGIC => match option.array().map_or(0, u32::from_be_bytes) {
                    0 => judgement.nak(option, &self.suggest(draws)),
                    magic => peer.magic = magic,
                },
                _ => judgement.reject(option),
            }
        }
        let verdict = judgement.verdict();
        if verdict == Verdict::Ack {
            self.peer = peer;
        }
        Ok(verdict)
    }

    fn nakked(&mut self, options: Options<'_>, draws: &mut Draws) -> Result<(), Reason> {
        let (mut is_unproven, mut has_magic) = (false, false);
        for option in options.iter() {
            match option.kind {
                kind::MRU => {
                    let mru = option.array().map(u16::from_be_bytes);
                    let can_be = self.config.mru_min..=self.mru_max;
                    self.mru = self.mru.and(mru.filter(|mru| can_be.contains(mru))).or(self.mru);
                }
                kind::AUTHENTICATION => is_unproven = self.asks.is_some(),
                kind::MAGIC => has_magic = self.magic != 0,
                _ => {}
            }
        }
        if is_unproven {
            self.asks = Some(self.instead(options).ok_or(Reason::Unproven)?);
        }
        if has_magic {
            // A peer would not suggest the very number that this side has suggested.
            if numbers(options).any(|magic| Some(magic) == self.suggested) {
                self.count_loop()?;
            }
            self.magic = draws.magic();
        }
        Ok(())
    }

    fn rejected(&mut self, options: Options<'_>) -> Result<(), Reason> {
        for option in options.iter() {
            match option.kind {
                kind::MRU => self.mru = None,
                kind::AUTHENTICATION => return Err(Reason::Unproven),
                kind::MAGIC => self.magic = 0,
                _ => {}
            }
        }
        Ok(())
    }

    fn accepted(&mut self) -> Result<(), Reason> {
        Ok(())
    }
}

/// What holds of a peer that has asked for nothing.
const UNASKED: Peer = Peer { mru: 1500, magic: 0, asks: None };

/// Options that are known; over PPPoE all others are rejected, three of them by demand of RFC 2516
/// section 7 (ACCM, FCS alternatives, compression of address and control).
pub(crate) mod kind {
    /// Maximum-Receive-Unit.
    pub const MRU: u8 = 1;
    /// Authentication-Protocol.
    pub const AUTHENTICATION: u8 = 3;
    /// Magic-Number.
    pub const MAGIC: u8 = 5;
}

/// Times in a row that the own magic number comes back until that is no chance.
const LOOPS_MAX: u8 = 4;
