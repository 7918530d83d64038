//! A gateway that does what the controller says, and holds it to what must never be.

use std::collections::BTreeMap;

use controller_kit::{Event, EventKind, Happening, Refusal};
use function_bng::Update;
use function_bng::config::{Line, Session};
use protocol_kit::Time;

/// Packets and bytes: up and down of IPv4, up and down of IPv6.
pub type Volumes = [(u64, u64); 4];

/// Sessions by number.
#[derive(Default)]
pub struct Gateway {
    pub sessions: BTreeMap<u32, (Session, Volumes)>,
    /// Changes that are refused on purpose, from now on.
    pub refuses: bool,
    pub applied: Vec<Update>,
    /// Bytes that have passed, of all sessions.
    pub passed: u64,
}

impl Gateway {
    /// Applies a change; what it tells comes with it.
    pub fn apply(&mut self, update: &Update, now: Time) -> Result<Vec<Event>, Refusal> {
        if self.refuses {
            return Err(Refusal::Full);
        }
        let told = match update {
            Update::AddSession(session) => {
                assert!(!self.sessions.contains_key(&session.number), "{session:?} is there");
                assert!(!self.is_taken(session), "another one has of {session:?}");
                self.sessions.insert(session.number, (*session, Volumes::default()));
                Vec::new()
            }
            Update::ChangeSession(session) => {
                assert!(!self.is_taken(session), "another one has of {session:?}");
                let known = self.sessions.get_mut(&session.number).ok_or(Refusal::NotFound)?;
                known.0 = *session;
                Vec::new()
            }
            Update::RemoveSession { number } => {
                let (_, volumes) = self.sessions.remove(number).ok_or(Refusal::NotFound)?;
                told(*number, &volumes, now)
            }
            Update::TellUsage { number } => {
                let (_, volumes) = self.sessions.get(number).ok_or(Refusal::NotFound)?;
                told(*number, volumes, now)
            }
            _ => return Err(Refusal::Invalid),
        };
        self.applied.push(update.clone());
        Ok(told)
    }

    /// Whether another session has an address, a prefix or the place of this one.
    fn is_taken(&self, one: &Session) -> bool {
        let others = self.sessions.values().map(|(other, _)| other);
        others.filter(|other| other.number != one.number).any(|other| {
            let is_place = other.line == one.line
                && match (other.pppoe, one.pppoe) {
                    (None, None) => other.mac == one.mac,
                    (Some(other), Some(one)) => other.id == one.id,
                    _ => false,
                };
            is_place
                || one.ipv4.is_some() && one.ipv4 == other.ipv4
                || one.na.is_some() && one.na == other.na
                || one.slaac.is_some() && one.slaac == other.slaac
                || one.delegated.is_some() && one.delegated == other.delegated
        })
    }

    /// The session of a station, or of a session of PPPoE.
    pub fn of(&self, line: Line, mac: [u8; 6], pppoe: Option<u16>) -> Option<&Session> {
        let mut all = self.sessions.values().map(|(session, _)| session);
        all.find(|one| one.line == line && one.mac.0.0 == mac && one.pppoe.map(|it| it.id) == pppoe)
    }

    /// A packet of a session passes.
    pub fn pass(&mut self, number: u32, which: usize, bytes: u64) {
        if let Some((_, volumes)) = self.sessions.get_mut(&number) {
            volumes[which].0 += 1;
            volumes[which].1 += bytes;
            self.passed += bytes;
        }
    }
}

fn told(number: u32, volumes: &Volumes, at: Time) -> Vec<Event> {
    let event = |(which, (packets, bytes)): (u32, &(u64, u64))| {
        let detail =
            [which, (packets >> 32) as u32, *packets as u32, (bytes >> 32) as u32, *bytes as u32];
        let (kind, subject) = (EventKind::Counted, number.into());
        Event::Happened(Happening { worker: 0, kind, subject, detail, at })
    };
    (0..).zip(volumes).map(event).collect()
}
