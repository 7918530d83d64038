//! A lease: a client, what it was granted, and what it holds.

use protocol_kit::Time;

use crate::access::Heard;
use crate::control::{Client, Grant};
use crate::prefix::{Kind, Prefix};

/// What is known of a client.
#[derive(Debug)]
pub(crate) struct Lease {
    pub client: Client,
    pub grant: Option<Grant>,
    pub holdings: Vec<Holding>,
    /// The message that is answered when the owner has said something.
    pub waiting: Option<Box<Heard>>,
    pub stage: Stage,
    /// When the stage ends by time: that of a client that holds something never does, but what it
    /// holds.
    pub until: Time,
    pub note: Note,
}

/// What a lease waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The owner is to accept or reject the client.
    Asked,
    /// The client's turn.
    Granted,
    /// The owner is to acknowledge.
    Starting,
}

/// What a relay remembers of a client's last message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// Its transaction; `None` when nothing was asked, or was answered for good.
    pub xid: Option<u32>,
    /// The server that the client has chosen, by its place.
    pub server: Option<u16>,
}

/// An address or prefix of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    pub kind: Kind,
    /// The identity association; 0 in DHCPv4.
    pub iaid: u32,
    pub prefix: Prefix,
    pub stage: Held,
    /// For how many seconds it was given last.
    pub valid_s: u32,
    pub until: Time,
}

/// How firmly something is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Offered,
    /// The client has taken it, and the owner was told.
    Starting,
    /// The owner has acknowledged it.
    Firm,
}

impl Lease {
    /// When something is to be done.
    pub fn deadline(&self) -> Time {
        let first = self.holdings.iter().map(|holding| holding.until).min();
        match self.stage {
            Stage::Granted => first.unwrap_or(self.until),
            Stage::Asked | Stage::Starting => self.until,
        }
    }

    /// What it holds by an identity association.
    pub fn holding(&self, kind: Kind, iaid: u32) -> Option<&Holding> {
        self.holdings.iter().find(|holding| (holding.kind, holding.iaid) == (kind, iaid))
    }

    /// The same, if the owner has acknowledged it.
    pub fn held(&self, kind: Kind, iaid: u32) -> Option<Prefix> {
        let holding = self.holding(kind, iaid).filter(|holding| holding.stage == Held::Firm)?;
        Some(holding.prefix)
    }
}
