//! What the reflector is, and what those are that it has routes of.

/// The reflector itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// Its AS.
    pub asn: u32,
    /// Its identifier.
    pub identifier: u32,
    /// The number of its cluster (RFC 4456 section 7).
    pub cluster: u32,
    /// Whether routes of clients go to other clients: not where those tell each other.
    pub reflects_between_clients: bool,
}

/// What a peer is to the reflector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A client of the same AS: it gets the routes of all, and all get its own.
    Client,
    /// Another speaker of the same AS: it gets the routes of clients and of other ASes.
    Internal,
    /// A speaker of another AS.
    External,
    /// A collector of BMP, no speaker: it gets all best paths as they are in the table.
    Collector,
}

impl Kind {
    /// All that peers are.
    pub const ALL: [Kind; 3] = [Kind::Client, Kind::Internal, Kind::External];

    /// Returns the name that people are shown.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Client => "client",
            Kind::Internal => "internal",
            Kind::External => "external",
            Kind::Collector => "collector",
        }
    }
}

/// Who has told a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// What it is.
    pub kind: Kind,
    /// Its identifier.
    pub identifier: u32,
    /// The order of its address among those of all peers, which decides in the end.
    pub address: u128,
    /// Which of its paths have the lowest preference.
    pub lowers: Lowers,
}

/// Which paths of a peer have the lowest preference, within this reflector and its AS (RFC 8326).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lowers {
    /// None.
    #[default]
    Nothing,
    /// Those of which it says itself that they go (section 4.1).
    Marked,
    /// All: its session is to end (section 4.2).
    All,
}

impl Source {
    /// Whether a path of it has the lowest preference that says itself so, or does not.
    #[inline]
    pub fn lowers(&self, is_marked: bool) -> bool {
        match self.lowers {
            Lowers::Nothing => false,
            Lowers::Marked => is_marked,
            Lowers::All => true,
        }
    }
}
