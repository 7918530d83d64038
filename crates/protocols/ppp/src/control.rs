//! What the owner of sessions says to the machine, and hears.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use md5::{Digest, Md5};
use protocol_kit::{Secret, is_equal};

use crate::config::{Config, Network, Unusable};
use crate::redact::redact;

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
    /// The peer does not answer any more, as the owner's own keepalives have shown.
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

/// What the owner decides on a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The peer is accepted, with these addresses.
    Accept(Network),
    /// The peer is refused.
    Reject {
        /// What the peer is told, at most 253 bytes.
        message: Vec<u8>,
    },
}

/// What an owner hears. In debug output the secrets of payloads are overwritten.
#[derive(Clone, PartialEq, Eq)]
pub enum Report {
    /// A payload is to be sent to the peer.
    Send {
        /// The session.
        session: u32,
        /// The Protocol field and what follows.
        payload: Vec<u8>,
    },
    /// A peer asks for access, and the session waits for the answer. The owner sets up what the
    /// session needs before it answers, because the peer counts itself as up soon after.
    Asked {
        /// The session.
        session: u32,
        /// The number of the question, which no other question has.
        question: u32,
        /// The link to the peer.
        link: Link,
        /// How the peer has authenticated.
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
        /// That of the peer; 0 if it is given none and has not asked for one.
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
    /// answered counts no more. It ends, but after [`Reason::Renegotiated`], when it begins again.
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
    /// DNS servers that the peer has given.
    pub dns: [Option<Ipv4Addr>; 2],
}

/// How a peer has authenticated. Debug output has the name alone: a weak secret can be guessed by a
/// challenge and its response.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// Not at all: it was not asked to.
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
    /// The owner has ended it.
    Closed,
    /// The owner has said that the link is gone.
    LinkDown,
    /// The peer has ended it.
    Terminated,
    /// The peer renegotiates.
    Renegotiated,
    /// The peer has renegotiated too often.
    Restless,
    /// The peer does not answer requests of LCP.
    Unanswered,
    /// Both sides do not come to an agreement.
    Diverged,
    /// What is sent comes back: the link ends in a loop.
    Looped,
    /// The peer rejects LCP, or a part of it that is needed.
    Rejected,
    /// The peer refuses each method of authentication that is required.
    Unproven,
    /// The peer has not authenticated in time.
    Unauthenticated,
    /// The owner has not answered in time.
    Unjudged,
    /// The owner has refused the peer.
    Refused,
    /// The peer has refused this side, or has not decided on it in time.
    NotWelcome,
    /// No network protocol came up, or none is left.
    NoNetwork,
    /// The peer has not answered Echo-Requests, or the owner has said that it is lost.
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
    /// One side or both authenticate, or the owner is asked.
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

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = match self {
            Credentials::None => return f.write_str("None"),
            Credentials::Pap { .. } => "Pap",
            Credentials::Chap { .. } => "Chap",
        };
        let name = String::from_utf8_lossy(self.name());
        f.debug_struct(method).field("name", &name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct(self.name());
        shown.field("session", &self.session());
        match self {
            Report::Send { payload, .. } => {
                let mut payload = payload.clone();
                redact(&mut payload);
                shown.field("payload", &payload)
            }
            Report::Asked { question, link, credentials, .. } => {
                shown.field("question", question).field("link", link);
                shown.field("credentials", credentials)
            }
            Report::V4Up { link, addresses, .. } => {
                shown.field("link", link).field("addresses", addresses)
            }
            Report::V6Up { link, local, remote, .. } => {
                shown.field("link", link).field("local", local).field("remote", remote)
            }
            Report::Down { reason, .. } | Report::Ended { reason, .. } => {
                shown.field("reason", reason)
            }
            Report::Refused { why, .. } => shown.field("why", why),
            Report::V4Down { .. } | Report::V6Down { .. } => &mut shown,
        };
        shown.finish()
    }
}

impl Report {
    /// The name of the variant, which debug output begins with.
    fn name(&self) -> &'static str {
        match self {
            Report::Send { .. } => "Send",
            Report::Asked { .. } => "Asked",
            Report::V4Up { .. } => "V4Up",
            Report::V6Up { .. } => "V6Up",
            Report::V4Down { .. } => "V4Down",
            Report::V6Down { .. } => "V6Down",
            Report::Down { .. } => "Down",
            Report::Ended { .. } => "Ended",
            Report::Refused { .. } => "Refused",
        }
    }

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

    #[test]
    fn debug_output_has_no_secret() {
        let (name, challenge, response) = (b"me".to_vec(), [0xab; 16], [0xcd; 16]);
        let chap = Credentials::Chap { name: name.clone(), id: 7, challenge, response };
        let pap = Credentials::Pap { name, password: Secret(b"secret".to_vec()) };
        let link = Link { mtu: 1492, magic: 1, peer_magic: 2 };
        let asked = |credentials| Report::Asked { session: 5, question: 1, link, credentials };
        let login = b"\xc0\x23\x01\x01\x00\x0e\x02me\x06secret";
        let rejected = [&b"\xc0\x21\x08\x01\x00\x14"[..], login].concat();
        let send = |payload| Report::Send { session: 5, payload };
        let secrets = [format!("{:?}", &b"secret"[..]), "171, 171".into(), "205, 205".into()];
        let reports = [asked(chap), asked(pap), send(login.to_vec()), send(rejected)];
        for shown in reports.map(|report| format!("{report:?}")) {
            assert!(shown.contains("session: 5"), "{shown}");
            for secret in &secrets {
                assert!(!shown.contains(secret.trim_matches(['[', ']'])), "{secret} in {shown}");
            }
        }
        let report = Report::Down { session: 5, reason: Reason::Silent };
        assert_eq!(format!("{report:?}"), "Down { session: 5, reason: Silent }");
    }
}
