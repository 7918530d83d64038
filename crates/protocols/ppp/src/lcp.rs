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
    /// What this side can receive, as it says; `None` if the peer does not want to hear of it.
    mru: Option<u16>,
    /// 0 if the peer does not want to hear of it.
    pub magic: u32,
    /// By what the peer has to prove who it is.
    pub asks: Option<Method>,
    /// What was accepted of the peer.
    peer: Peer,
    /// The magic number that was suggested to the peer last.
    suggested: u32,
    /// Times in a row that the own magic number came back.
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
            suggested: 0,
            loops: 0,
        }
    }

    /// The link as it is negotiated.
    pub fn link(&self) -> Link {
        let mtu = self.peer.mru.min(self.mru_max);
        Link { mtu, magic: self.magic, peer_magic: self.peer.magic }
    }

    /// By what this side has to prove who it is.
    pub fn is_asked(&self) -> Option<Method> {
        self.peer.asks
    }

    /// Judges the magic number of the peer (section 6.4): the own one says that the link ends in a
    /// loop, if it comes back again and again.
    fn judge_magic(&mut self, magic: u32, draws: &mut Draws) -> Result<Option<u32>, Reason> {
        if magic != 0 && magic != self.magic {
            self.loops = 0;
            return Ok(None);
        }
        if magic != 0 {
            self.loops += 1;
            if self.loops >= LOOPS_MAX {
                return Err(Reason::Looped);
            }
        }
        self.suggested = draws.magic();
        Ok(Some(self.suggested))
    }
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
        let mut judgement = Judgement::new(is_last);
        let mut peer = UNASKED;
        let methods = self.config.identity.as_ref().map_or(&[][..], |one| &one.methods);
        let methods = methods.to_vec();
        for option in options.iter() {
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
                kind::MAGIC => {
                    let magic = option.array().map_or(0, u32::from_be_bytes);
                    match self.judge_magic(magic, draws)? {
                        None => peer.magic = magic,
                        Some(other) => judgement.nak(option, &other.to_be_bytes()),
                    }
                }
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
        for option in options.iter() {
            match option.kind {
                kind::MRU => {
                    let mru = option.array().map(u16::from_be_bytes);
                    let can_be = self.config.mru_min..=self.mru_max;
                    self.mru = self.mru.and(mru.filter(|mru| can_be.contains(mru))).or(self.mru);
                }
                kind::AUTHENTICATION if self.asks.is_some() => {
            if judgement.reject_repeated(option) {
                continue;
            }
                    let requires = &self.config.requires;
                    let wanted = Method::of(option.data).filter(|one| requires.contains(one));
                    let behind = requires.iter().skip_while(|one| Some(**one) != self.asks).nth(1);
                    let next = wanted.or(behind.copied());
                    self.asks = Some(next.ok_or(Reason::Unproven)?);
                }
                kind::MAGIC if self.magic != 0 => {
                    let magic = option.array().map(u32::from_be_bytes);
                    // The own suggestion is no other's.
                    self.loops += u8::from(magic == Some(self.suggested));
                    if self.loops >= LOOPS_MAX {
                        return Err(Reason::Looped);
                    }
                    self.magic = draws.magic();
                }
                _ => {}
            }
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
