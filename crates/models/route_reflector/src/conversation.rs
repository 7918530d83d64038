//! A session with a reflector over TCP: what is said, and what has been heard.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

use crate::oracle::Peer;
use crate::path::{Attributes, Prefix};
use crate::wire::{self, Said};

/// A session that stands.
#[derive(Debug)]
pub(crate) struct Conversation {
    stream: TcpStream,
    /// Bytes that are no whole message yet.
    bytes: Vec<u8>,
    /// What the reflector has told.
    pub(crate) heard: BTreeMap<Prefix, Attributes>,
    kept_alive: Instant,
}

impl Conversation {
    /// Opens a session as a peer. A reflector that is not ready yet is asked again until `patience`
    /// is over.
    ///
    /// # Errors
    /// Why there is no session, in words.
    pub(crate) fn open(
        to: SocketAddr,
        peer: Peer,
        (asn, hold_time_s): (u32, u16),
        patience: Duration,
    ) -> Result<Conversation, String> {
        let deadline = Instant::now() + patience;
        loop {
            match Conversation::try_open(to, peer, (asn, hold_time_s), deadline) {
                Err(why) if Instant::now() >= deadline => {
                    return Err(format!("no session from {}: {why}", peer.address));
                }
                Err(_) => std::thread::park_timeout(PAUSE),
                Ok(conversation) => return Ok(conversation),
            }
        }
    }

    fn try_open(
        to: SocketAddr,
        peer: Peer,
        (asn, hold_time_s): (u32, u16),
        deadline: Instant,
    ) -> Result<Conversation, String> {
        let stream = connected(to, peer).map_err(|error| error.to_string())?;
        let mut conversation = Conversation {
            stream,
            bytes: Vec::new(),
            heard: BTreeMap::new(),
            kept_alive: Instant::now(),
        };
        conversation.say(&wire::open(asn, hold_time_s, peer.identifier))?;
        let mut is_open = false;
        while Instant::now() < deadline {
            let mut all = conversation.read()?.into_iter();
            while let Some(said) = all.next() {
                match said {
                    Said::Open => {
                        is_open = true;
                        conversation.say(&wire::keep_alive())?;
                    }
                    Said::KeepAlive if is_open => {
                        // Routes may have come along with it.
                        all.try_for_each(|said| conversation.take(said))?;
                        return Ok(conversation);
                    }
                    Said::End(why) => return Err(why),
                    Said::KeepAlive | Said::Update(..) => {
                        return Err("it says something before its OPEN".to_owned());
                    }
                }
            }
        }
        Err("it does not answer an OPEN".to_owned())
    }

    fn take(&mut self, said: Said) -> Result<(), String> {
        match said {
            Said::KeepAlive => {}
            Said::Open => return Err("a second OPEN".to_owned()),
            Said::End(why) => return Err(why),
            Said::Update(gone, there) => {
                gone.iter().for_each(|prefix| drop(self.heard.remove(prefix)));
                self.heard.extend(there);
            }
        }
        Ok(())
    }

    /// Says bytes.
    ///
    /// # Errors
    /// When the session has ended, in words.
    pub(crate) fn say(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.write_all(bytes).map_err(|error| format!("the session has ended: {error}"))
    }

    /// Takes what the reflector tells, for some milliseconds if there is nothing, and says from
    /// time to time that this peer is still there.
    ///
    /// # Errors
    /// When the session has ended, or says what it must not, in words.
    pub(crate) fn hear(&mut self) -> Result<(), String> {
        if self.kept_alive.elapsed() > KEEP_ALIVE {
            self.kept_alive = Instant::now();
            self.say(&wire::keep_alive())?;
        }
        self.read()?.into_iter().try_for_each(|said| self.take(said))
    }

    fn read(&mut self) -> Result<Vec<Said>, String> {
        let mut chunk = [0; 16 << 10];
        match self.stream.read(&mut chunk) {
            Ok(0) => return Err("the session has ended".to_owned()),
            Ok(len) => self.bytes.extend_from_slice(&chunk[..len]),
            Err(error) if is_patient(error.kind()) => {}
            Err(error) => return Err(format!("the session has ended: {error}")),
        }
        let mut said = Vec::new();
        let mut rest = &self.bytes[..];
        while let Some(len) = rest.get(LEN_AT..HEADER_LEN) {
            let len = usize::from(u16::from_be_bytes([len[0], len[1]]));
            if !(HEADER_LEN..=LEN_MAX).contains(&len) || rest[..LEN_AT] != [0xff; LEN_AT] {
                return Err(format!("a message of {len} bytes, or without its marker"));
            }
            let Some((message, behind)) = rest.split_at_checked(len) else { break };
            said.push(wire::read(message)?);
            rest = behind;
        }
        self.bytes = rest.to_vec();
        Ok(said)
    }
}

fn connected(to: SocketAddr, peer: Peer) -> std::io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd: OwnedFd = socket(family, SocketType::STREAM, None)?;
    bind(&fd, &SocketAddr::new(peer.address, 0))?;
    connect(&fd, &to)?;
    let stream = TcpStream::from(fd);
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.set_write_timeout(Some(WRITE_MAX))?;
    Ok(stream)
}

fn is_patient(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Returns an address on loopback and an identifier for a peer.
pub(crate) fn peer(number: u8, is_client: bool) -> Peer {
    let address = Ipv4Addr::new(127, 9, 9, number);
    Peer { address: address.into(), identifier: address, is_client }
}

/// Where the length of a message stands, behind its marker (RFC 4271 section 4.1).
const LEN_AT: usize = 16;
const HEADER_LEN: usize = 18 + 1;
const LEN_MAX: usize = 4096;

const WAIT: Duration = Duration::from_millis(2);
const WRITE_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);
const KEEP_ALIVE: Duration = Duration::from_secs(1);
