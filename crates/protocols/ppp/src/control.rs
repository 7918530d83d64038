//! What the owner of sessions says to the machine, and hears.

use std::net::Ipv4Addr;
use std::sync::Arc;

use md5::{Digest, Md5};
use protocol_kit::Secret;

use crate::config::{Config, Network, Unusable};

/// What an owner says.
#[derive(Clone, Debug)]
pub enum Command {
    /// A session begins: the link to a peer is there.
    Open {
        /// Its number, of the owner's choice, below the limit.
        session: u32,
        /// What it has in common with others.
        config: Arc<Config>,
        /// Most bytes that the link carries behind the Protocol field: over PPPoE 1,492, or what
        /// was agreed on by PPP-Max-Payload (RFC 4638).
        mru: u16,
    },
    /// The answer to a question.
    Answer {
        /// The session.
        session: u32,
        /// The number of the question.
        question: u32,
        /// The answer.
        answer: Answer,
    },
    /// The session ends: the peer is told.
    Close {
        /// The session.
        session: u32,
    },
    /// The peer does not answer any more, as whoever watches it has found out.
    Lost {
        /// The session.
        session: u32,
    },
    /// The link is gone: the session ends at once, and nothing is sent.
    Down {
        /// The session.
        session: u32,
    },
}

/// What becomes of a peer that has said who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is welcome, with these addresses.
    Accept(Network),
    /// It is not.
    Reject {
        /// What the peer is told, at most 253 bytes.
        message: Vec<u8>,
    },
}

/// What an owner hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A payload is to be sent to the peer.
    Send {
        /// The session.
        session: u32,
        /// The Protocol field and what follows.
        payload: Vec<u8>,
    },
    /// Somebody wants in. Until the answer the session waits. Whatever the owner has to set up for
    /// the session it sets up before it answers: the peer counts itself as up soon after.
    Asked {
        /// The session.
        session: u32,
        /// The number of the question, which no other question has.
        question: u32,
        /// The link to the peer.
        link: Link,
        /// How it says who it is.
        credentials: Credentials,
    },
    /// Packets of IPv4 may pass.
    V4Up {
        /// The session.
        session: u32,
        /// The link to the peer.
        link: Link,
        /// The addresses that were agreed on.
        addresses: V4Agreed,
    },
    /// Packets of IPv6 may pass.
    V6Up {
        /// The session.
        session: u32,
        /// The link to the peer.
        link: Link,
        /// The interface identifier of this side.
        local: u64,
        /// That of the peer.
        remote: u64,
    },
    /// Packets of IPv4 may not pass any more.
    V4Down {
        /// The session.
        session: u32,
    },
    /// Packets of IPv6 may not pass any more.
    V6Down {
        /// The session.
        session: u32,
    },
    /// The session is not up any more: nothing passes, an open question is void, and what was
    /// answered counts no more. With [`Reason::Renegotiated`] it begins anew, else it ends.
    Down {
        /// The session.
        session: u32,
        /// Why.
        reason: Reason,
    },
    /// The session is over, and its number is free. The link may be taken down.
    Ended {
        /// The session.
        session: u32,
        /// Why.
        reason: Reason,
    },
    /// A command had no effect.
    Refused {
        /// The session.
        session: u32,
        /// Why.
        why: Unusable,
    },
}

/// The link to a peer as LCP has negotiated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Most bytes of a packet to the peer.
    pub mtu: u16,
    /// The magic number of this side, which its Echo-Requests and Echo-Replies bear; 0 for none.
    pub magic: u32,
    /// That of the peer; 0 for none.
    pub peer_magic: u32,
}

/// What was agreed on of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V4Agreed {
    /// The address of this side; 0.0.0.0 if the peer does not want to hear of it.
    pub local: Ipv4Addr,
    /// The address of the peer; 0.0.0.0 if neither side has one for it.
    pub remote: Ipv4Addr,
    /// Servers of names that the peer has told.
    pub dns: [Option<Ipv4Addr>; 2],
}

/// How a peer says who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// Not at all: nobody has asked it.
    None,
    /// By PAP.
    Pap {
        /// Its name, at most 255 bytes.
        name: Vec<u8>,
        /// Its password, at most 255 bytes.
        password: Secret,
    },
    /// By CHAP with MD5.
    Chap {
        /// Its name, at most 255 bytes.
        name: Vec<u8>,
        /// The identifier of the challenge.
        id: u8,
        /// The challenge.
        challenge: [u8; 16],
        /// The response.
        response: [u8; 16],
    },
}

/// Why a session went down or is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The owner wanted it.
    Closed,
    /// The owner has said that the link is gone.
    LinkDown,
    /// The peer wanted it.
    Terminated,
    /// The peer negotiates anew.
    Renegotiated,
    /// The peer has negotiated anew too often.
    Restless,
    /// The peer does not answer requests of LCP.
    Unanswered,
    /// Both sides ask, refuse and ask again without end.
    Diverged,
    /// What is sent comes back: the link ends in a loop.
    Looped,
    /// The peer does not know LCP, or not what LCP needs.
    Rejected,
    /// The peer does not want to prove who it is, by no method that is required.
    Unproven,
    /// The peer was asked who it is, and has not said it in time.
    Unauthenticated,
    /// The owner has not answered in time.
    Unjudged,
    /// The owner does not want the peer.
    Refused,
    /// The peer does not want this side, or has not asked it who it is in time.
    NotWelcome,
    /// No network protocol came up, or none is left.
    NoNetwork,
    /// The peer has not answered Echo-Requests, or is lost as the owner says.
    Silent,
}

/// What a person sees of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// What it does.
    pub phase: Phase,
    /// The link to the peer, as far as it is negotiated.
    pub link: Link,
    /// Whether packets of IPv4 may pass.
    pub is_v4_up: bool,
    /// Whether packets of IPv6 may pass.
    pub is_v6_up: bool,
}

/// What a session does (RFC 1661 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// LCP is negotiated.
    Establish,
    /// One side or both say who they are, or the owner is asked.
    Authenticate,
    /// Network protocols are negotiated, or open.
    Network,
    /// The peer is told that it ends.
    Terminate,
}

impl Credentials {
    /// The name that the peer gives.
    pub fn name(&self) -> &[u8] {
        match self {
            Credentials::None => &[],
            Credentials::Pap { name, .. } | Credentials::Chap { name, .. } => name,
        }
    }

    /// Whether they prove that the peer knows a secret. The time it takes tells nothing of it but
    /// its length.
    pub fn prove(&self, secret: &[u8]) -> bool {
        match self {
            Credentials::None => false,
            Credentials::Pap { password, .. } => is_equal(&password.0, secret),
            Credentials::Chap { id, challenge, response, .. } => {
                is_equal(response, &chap_response(*id, secret, challenge))
            }
        }
    }
}

impl Report {
    /// The session that it is about.
    pub fn session(&self) -> u32 {
        match *self {
            Report::Send { session, .. }
            | Report::Asked { session, .. }
            | Report::V4Up { session, .. }
            | Report::V6Up { session, .. }
            | Report::V4Down { session }
            | Report::V6Down { session }
            | Report::Down { session, .. }
            | Report::Ended { session, .. }
            | Report::Refused { session, .. } => session,
        }
    }
}

/// The response to a challenge (RFC 1994 section 4.1): MD5 over identifier, secret and challenge.
pub fn chap_response(id: u8, secret: &[u8], challenge: &[u8]) -> [u8; 16] {
    let mut hash = Md5::new();
    hash.update([id]);
    hash.update(secret);
    hash.update(challenge);
    hash.finalize().into()
}

fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_prove_the_secret_and_no_other() {
        let challenge = [9; 16];
        // MD5 of 0x07, "secret" and sixteen times 0x09, by `md5sum`.
        let response = [
            0xe6, 0xef, 0xf7, 0x2f, 0xd9, 0x84, 0x15, 0x2d, 0x65, 0xb5, 0xf1, 0x57, 0x4b, 0xe1,
            0x92, 0x23,
        ];
        let chap = Credentials::Chap { name: b"me".to_vec(), id: 7, challenge, response };
        let pap = Credentials::Pap { name: b"me".to_vec(), password: Secret(b"secret".to_vec()) };
        for credentials in [chap, pap] {
            assert!(credentials.prove(b"secret") && credentials.name() == b"me");
            for wrong in [&b"secreT"[..], b"secre", b"secrets", b""] {
                assert!(!credentials.prove(wrong));
            }
        }
        assert!(!Credentials::None.prove(b""));
    }
}
