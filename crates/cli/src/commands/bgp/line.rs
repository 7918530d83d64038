//! A route or a message as a line: fields between bars, or a JSON object.

use std::fmt;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};

use protocol_bgp::attribute_text::Community;
use protocol_bgp::attributes::{
    AGGREGATOR, AS_PATH, ATOMIC_AGGREGATE, Attribute, Attributes, CLUSTER_LIST, COMMUNITIES,
    EXTENDED_COMMUNITIES, LARGE_COMMUNITIES, LOCAL_PREF, MED, MP_REACH, NEXT_HOP, ORIGIN,
    ORIGINATOR_ID,
};
use protocol_bgp::families::Family;
use protocol_bgp::notification::Notification;
use protocol_bgp::open::Open;
use protocol_bgp::path::{CONFEDERATION_SEQUENCE, CONFEDERATION_SET, SET, Segments};
use protocol_bgp::refresh::Refresh;
use protocol_bgp::text::{Carried, ExtendedCommunity, NextHop, Route};
use protocol_mrt::Stamp;
use protocol_mrt::session::State;
use serde_json::{Map, Value, json};

/// A line.
pub struct Line<'a> {
    /// Of whom and when.
    pub about: &'a About,
    /// What.
    pub what: &'a What<'a>,
}

/// Of whom a line is, and when that was.
pub struct About {
    /// The type of the record.
    pub kind: &'static str,
    /// When it was written.
    pub at: Stamp,
    /// The address of the peer.
    pub peer: IpAddr,
    /// The AS of the peer.
    pub asn: u32,
}

/// A route: its family, key, what it has beside that, and its path identifier.
pub type Told<'a> = (Family, &'a [u8], &'a [u8], u32);

/// What a line tells.
pub enum What<'a> {
    /// A route with its attributes.
    Announced {
        /// The route.
        route: Told<'a>,
        /// Its attributes.
        attributed: &'a Attributed<'a>,
        /// Since when it is known, in seconds since 1970, in a table.
        since: Option<u32>,
        /// Whether it is of a table.
        is_table: bool,
    },
    /// A route that is withdrawn.
    Withdrawn {
        /// The route.
        route: Told<'a>,
    },
    /// All routes of a family were told.
    EndOfRib(Family),
    /// The first message of a session.
    Open(&'a Open),
    /// The last message of a session.
    Notification(&'a Notification),
    /// A sign of life.
    Keepalive,
    /// Routes are wanted again, or told again.
    Refresh(Option<Family>, Option<Refresh>),
    /// A session changes its state.
    State(State, State),
}

/// The attributes of a route, by their bytes.
#[derive(Default)]
pub struct Attributed<'a> {
    /// The next hop.
    pub next_hop: &'a [u8],
    /// Whether all of them could be read.
    pub is_whole: bool,
    known: [Option<&'a [u8]>; KNOWN],
    is_atomic: bool,
    others: Vec<Attribute<'a>>,
}

impl<'a> Attributed<'a> {
    /// Reads attributes of a table or of a block.
    pub fn read(bytes: &'a [u8], next_hop: &'a [u8]) -> Attributed<'a> {
        let mut attributed = Attributed { next_hop, ..Attributed::default() };
        let mut attributes = Attributes::new(bytes);
        for attribute in &mut attributes {
            match attribute.code {
                NEXT_HOP | MP_REACH => {}
                ATOMIC_AGGREGATE => attributed.is_atomic = true,
                code => match ORDER.iter().position(|known| *known == code) {
                    Some(place) => attributed.known[place] = Some(attribute.value),
                    None => attributed.others.push(attribute),
                },
            }
        }
        attributed.is_whole = attributes.rest().is_empty();
        attributed
    }

    fn of(&self, code: u8) -> Option<&'a [u8]> {
        self.known[ORDER.iter().position(|known| *known == code)?]
    }

    fn number(&self, code: u8) -> Option<u32> {
        self.of(code)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
    }

    fn origin(&self) -> &'static str {
        match self.of(ORIGIN) {
            Some([0]) => "IGP",
            Some([1]) => "EGP",
            _ => "INCOMPLETE",
        }
    }

    fn path(&self) -> Path<'a> {
        Path(self.of(AS_PATH).unwrap_or(&[]))
    }

    /// The AS and the address of who has aggregated.
    fn aggregator(&self) -> Option<String> {
        let (asn, address) = self.of(AGGREGATOR)?.split_first_chunk::<4>()?;
        let address: [u8; 4] = address.try_into().ok()?;
        Some(format!("{} {}", u32::from_be_bytes(*asn), Ipv4Addr::from(address)))
    }

    /// Values of a list attribute as words.
    fn words(&self, code: u8) -> Vec<String> {
        let value = self.of(code).unwrap_or(&[]);
        let numbers = |bytes: &[u8]| -> Vec<u32> {
            let words = bytes.as_chunks::<4>().0.iter();
            words.map(|word| u32::from_be_bytes(*word)).collect()
        };
        match code {
            COMMUNITIES => {
                numbers(value).into_iter().map(|one| Community(one).to_string()).collect()
            }
            CLUSTER_LIST | ORIGINATOR_ID => {
                numbers(value).into_iter().map(|one| Ipv4Addr::from(one).to_string()).collect()
            }
            EXTENDED_COMMUNITIES => {
                let all = value.as_chunks::<8>().0.iter();
                all.map(|one| ExtendedCommunity(*one).to_string()).collect()
            }
            _ => {
                let all = value.chunks_exact(12).map(numbers);
                all.map(|one| format!("{}:{}:{}", one[0], one[1], one[2])).collect()
            }
        }
    }

    fn others(&self) -> Vec<String> {
        self.others.iter().map(|one| one.to_string().replace('|', "/")).collect()
    }
}

/// An AS path as `bgpdump` writes it: sets with commas in braces, what is within a confederation in
/// brackets.
struct Path<'a>(&'a [u8]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in Segments::new(self.0).enumerate() {
            let [open, between, close] = match segment.kind {
                SET => ["{", ",", "}"],
                CONFEDERATION_SEQUENCE => ["(", " ", ")"],
                CONFEDERATION_SET => ["[", ",", "]"],
                _ => ["", " ", ""],
            };
            f.write_str(if at > 0 { " " } else { "" })?;
            f.write_str(open)?;
            for (at, asn) in segment.ases().enumerate() {
                write!(f, "{}{asn}", if at > 0 { between } else { "" })?;
            }
            f.write_str(close)?;
        }
        Ok(())
    }
}

impl Line<'_> {
    /// The word for what it tells.
    fn word(&self) -> &'static str {
        match self.what {
            What::Announced { is_table: true, .. } => "B",
            What::Announced { .. } => "A",
            What::Withdrawn { .. } => "W",
            What::EndOfRib(_) => "EOR",
            What::Open(_) => "OPEN",
            What::Notification(_) => "NOTIFICATION",
            What::Keepalive => "KEEPALIVE",
            What::Refresh(..) => "REFRESH",
            What::State(..) => "STATE",
        }
    }

    /// The time: with microseconds where the record has some.
    fn time(&self) -> String {
        let About { kind, at, .. } = *self.about;
        match kind {
            "BGP4MP_ET" => format!("{}.{:06}", at.seconds(), at.micros()),
            _ => at.seconds().to_string(),
        }
    }

    /// Writes it as a JSON object.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        let About { kind, at, peer, asn } = self.about;
        let mut all = Map::new();
        let mut put = |key: &str, value: Value| {
            all.insert(key.to_owned(), value);
        };
        put("type", json!(kind));
        put("time", json!(self.time()));
        put("seconds", json!(at.seconds()));
        put("what", json!(word(self.what)));
        put("peer", json!(peer));
        put("as", json!(asn));
        match self.what {
            What::Announced { route, attributed, since, .. } => {
                self.put_route(*route, &mut put);
                put("path", json!(attributed.path().to_string()));
                put("origin", json!(attributed.origin().to_lowercase()));
                put("next-hop", json!(NextHop(attributed.next_hop).to_string()));
                for (key, code) in [("local-pref", LOCAL_PREF), ("med", MED)] {
                    attributed.number(code).into_iter().for_each(|number| put(key, json!(number)));
                }
                put("atomic", json!(attributed.is_atomic));
                if let Some(aggregator) = attributed.aggregator() {
                    put("aggregator", json!(aggregator));
                }
                for (key, code) in LISTS {
                    let words = attributed.words(code);
                    if !words.is_empty() {
                        put(key, json!(words));
                    }
                }
                let others = attributed.others();
                if !others.is_empty() {
                    put("others", json!(others));
                }
                since.iter().for_each(|since| put("since", json!(since)));
            }
            What::Withdrawn { route } => self.put_route(*route, &mut put),
            What::EndOfRib(family) => put("family", json!(family.to_string())),
            What::Open(open) => {
                put("own-as", json!(open.asn));
                put("identifier", json!(Ipv4Addr::from(open.identifier)));
                put("hold-time", json!(open.hold_time_s));
            }
            What::Notification(why) => put("why", json!(why.to_string())),
            What::Keepalive => {}
            What::Refresh(family, what) => {
                put("family", json!(family.map(|family| family.to_string())));
                put("refresh", json!(refresh(*what)));
            }
            What::State(before, after) => {
                put("before", json!(before.to_string()));
                put("after", json!(after.to_string()));
            }
        }
        serde_json::to_writer(&mut *out, &all)?;
        out.write_all(b"\n")
    }

    fn put_route(&self, (family, key, rest, path_id): Told<'_>, put: &mut impl FnMut(&str, Value)) {
        put("family", json!(family.to_string()));
        put("route", json!(Route(family, key).to_string()));
        if path_id != 0 {
            put("path-id", json!(path_id));
        }
        let carried = Carried(family, key, rest).to_string();
        if !carried.is_empty() {
            put("carried", json!(carried));
        }
    }
}

impl fmt::Display for Line<'_> {
    /// Writes it as fields between bars.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let About { kind, peer, asn, .. } = self.about;
        write!(f, "{kind}|{}|{}|{peer}|{asn}", self.time(), self.word())?;
        match self.what {
            What::Announced { route: (family, key, rest, path_id), attributed, .. } => {
                let number = |code: u8| attributed.number(code).unwrap_or(0);
                write!(f, "|{}|{}", Route(*family, key), attributed.path())?;
                write!(f, "|{}|{}", attributed.origin(), NextHop(attributed.next_hop))?;
                write!(f, "|{}|{}", number(LOCAL_PREF), number(MED))?;
                let aggregated = if attributed.is_atomic { "AG" } else { "NAG" };
                let aggregator = attributed.aggregator().unwrap_or_default();
                let communities = attributed.words(COMMUNITIES).join(" ");
                write!(f, "|{communities}|{aggregated}|{aggregator}|")?;
                write!(f, "|{family}|{path_id}|{}", Carried(*family, key, rest))?;
                for (_, code) in &LISTS[1..] {
                    write!(f, "|{}", attributed.words(*code).join(" "))?;
                }
                write!(f, "|{}", attributed.others().join("; "))
            }
            What::Withdrawn { route: (family, key, _, path_id) } => {
                write!(f, "|{}|{family}|{path_id}", Route(*family, key))
            }
            What::EndOfRib(family) => write!(f, "|{family}"),
            What::Open(open) => {
                let identifier = Ipv4Addr::from(open.identifier);
                write!(f, "|{}|{identifier}|{}", open.asn, open.hold_time_s)
            }
            What::Notification(why) => write!(f, "|{why}"),
            What::Keepalive => Ok(()),
            What::Refresh(family, what) => {
                let family = family.map_or("unknown".into(), |family| family.to_string());
                write!(f, "|{family}|{}", refresh(*what))
            }
            What::State(before, after) => write!(f, "|{}|{}", before.0, after.0),
        }
    }
}

/// The word of a JSON object for what it tells.
fn word(what: &What<'_>) -> &'static str {
    match what {
        What::Announced { is_table: true, .. } => "table",
        What::Announced { .. } => "announced",
        What::Withdrawn { .. } => "withdrawn",
        What::EndOfRib(_) => "end-of-rib",
        What::Open(_) => "open",
        What::Notification(_) => "notification",
        What::Keepalive => "keepalive",
        What::Refresh(..) => "refresh",
        What::State(..) => "state",
    }
}

fn refresh(what: Option<Refresh>) -> &'static str {
    match what {
        Some(Refresh::Wanted) => "wanted",
        Some(Refresh::Begins) => "begins",
        Some(Refresh::Ends) => "ends",
        None => "unknown",
    }
}

/// Attributes with fields of their own.
const ORDER: [u8; KNOWN] = [
    ORIGIN,
    AS_PATH,
    MED,
    LOCAL_PREF,
    AGGREGATOR,
    COMMUNITIES,
    EXTENDED_COMMUNITIES,
    LARGE_COMMUNITIES,
    ORIGINATOR_ID,
    CLUSTER_LIST,
];
const KNOWN: usize = 10;

/// Attributes that are lists, in the order of their fields, with their keys.
const LISTS: [(&str, u8); 5] = [
    ("communities", COMMUNITIES),
    ("extended-communities", EXTENDED_COMMUNITIES),
    ("large-communities", LARGE_COMMUNITIES),
    ("originator", ORIGINATOR_ID),
    ("clusters", CLUSTER_LIST),
];
