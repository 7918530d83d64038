//! What a gateway does with a message, as steps on its text.

use std::net::Ipv4Addr;

use super::super::tables::End;

/// A message or line of a payload.
pub struct Message {
    /// Where it begins.
    pub at: usize,
    pub steps: Vec<Step>,
    /// A call that is connected: the subscriber's own identifier, and the other end's.
    pub call: Option<(u16, u16)>,
}

/// A step, in the order in which they are taken.
pub enum Step {
    Ask(Ask),
    Put(Put),
    /// The length of the body, if it changes: what stands behind this place.
    Length {
        from: usize,
        to: usize,
        body: usize,
        body_len: usize,
    },
    /// It is not to be understood, or not allowed.
    Fail,
}

/// A mapping that the subscriber needs.
#[derive(Clone, Copy)]
pub struct Ask {
    pub protocol: u8,
    pub port: u16,
    pub wish: Wish,
    /// Whom it is for; none for anybody.
    pub remote: Option<Ipv4Addr>,
}

/// What its outside port must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Any,
    Parity,
    /// Of the same parity, the next one being there for the next one.
    Pair,
    Port(u16),
}

/// Something in the place of a part of the text.
pub struct Put {
    pub from: usize,
    pub to: usize,
    pub what: What,
}

/// What it is; numbers are those of asks.
#[derive(Clone)]
pub enum What {
    Text(String),
    Commas(usize),
    Between(usize, char),
    /// An address, and the port where one was told or it is not this one.
    Endpoint {
        ask: usize,
        told: bool,
        default: u16,
    },
    /// The port, or one behind it.
    Number {
        ask: usize,
        plus: u16,
    },
    /// The port in two octets.
    Call(usize),
    Octets([u8; 2]),
}

impl Step {
    fn ask(&self) -> Option<&Ask> {
        match self {
            Step::Ask(ask) => Some(ask),
            _ => None,
        }
    }
}

impl Wish {
    /// Whether an inside port may have an outside one.
    pub fn fits(self, inside: u16, outside: u16) -> bool {
        match self {
            Wish::Any => true,
            Wish::Parity | Wish::Pair => inside % 2 == outside % 2,
            Wish::Port(port) => port == outside,
        }
    }
}

impl Message {
    pub fn new(at: usize) -> Message {
        Message { at, steps: Vec::new(), call: None }
    }

    /// Asks for a mapping; tells its number, or fails where the port must not be opened.
    pub fn ask(&mut self, ask: Ask) -> Option<usize> {
        if ask.port < 1024 && ask.protocol != 47 {
            return self.fail();
        }
        let number = self.steps.iter().filter(|step| matches!(step, Step::Ask(_))).count();
        self.steps.push(Step::Ask(ask));
        Some(number)
    }

    /// Whether mappings hang together, so that a port which the device drew for one may have left
    /// none for another. It took back both then, and nobody knows what it drew.
    pub fn is_chained(&self) -> bool {
        let asks: Vec<&Ask> = self.steps.iter().filter_map(Step::ask).collect();
        let last = |ask: &Ask| u32::from(ask.port) + u32::from(ask.wish == Wish::Pair);
        let meet = |one: &Ask, other: &Ask| {
            one.protocol == other.protocol
                && u32::from(one.port) <= last(other)
                && u32::from(other.port) <= last(one)
                && (one.port, one.wish) != (other.port, other.wish)
        };
        asks.iter()
            .enumerate()
            .any(|(index, one)| asks[..index].iter().any(|other| meet(one, other)))
    }

    pub fn put(&mut self, (from, to): (usize, usize), what: What) {
        self.steps.push(Step::Put(Put { from, to, what }));
    }

    /// There is nothing more to do.
    pub fn fail<T>(&mut self) -> Option<T> {
        self.steps.push(Step::Fail);
        None
    }
}

impl What {
    /// The new text, the mappings being there.
    pub fn bytes(&self, ends: &[End]) -> Vec<u8> {
        let text = match *self {
            What::Text(ref text) => text.clone(),
            What::Commas(ask) => {
                let (ip, port) = ends[ask];
                format!("{},{},{}", ip.to_string().replace('.', ","), port / 256, port % 256)
            }
            What::Between(ask, char) => format!("{}{char}{}", ends[ask].0, ends[ask].1),
            What::Endpoint { ask, told, default } => match ends[ask] {
                (ip, port) if !told && port == default => ip.to_string(),
                (ip, port) => format!("{ip}:{port}"),
            },
            What::Number { ask, plus } => (ends[ask].1 + plus).to_string(),
            What::Call(ask) => return ends[ask].1.to_be_bytes().to_vec(),
            What::Octets(octets) => return octets.to_vec(),
        };
        text.into_bytes()
    }

    /// The port of an ask that a text which left tells at its beginning, and the length of what
    /// stands there; of octets those tell it.
    pub fn told(&self, left: &str, octets: Option<[u8; 2]>) -> (Option<(usize, u16)>, usize) {
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let dotted =
            |text: &str| text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number = |at: usize| {
            let rest = left.get(at..).unwrap_or_default();
            (rest[..digits(rest)].parse::<u16>().ok(), at + digits(rest))
        };
        let (ask, (port, len)) = match *self {
            What::Text(_) => {
                let len = dotted(left);
                let port = left.get(len..).is_some_and(|rest| rest.starts_with(':'));
                return (None, if port { number(len + 1).1 } else { len });
            }
            What::Commas(ask) => {
                let end = left.find(|c: char| !c.is_ascii_digit() && c != ',');
                let end = end.unwrap_or(left.len());
                let parts: Vec<u16> =
                    left[..end].split(',').take(6).filter_map(|one| one.parse().ok()).collect();
                let port = parts.get(5).map(|low| parts[4].wrapping_mul(256).wrapping_add(*low));
                (ask, (port, end))
            }
            What::Between(ask, _) => (ask, number(dotted(left) + 1)),
            What::Endpoint { ask, default, .. } => {
                let end = dotted(left);
                match left.get(end..).is_some_and(|rest| rest.starts_with(':')) {
                    true => (ask, number(end + 1)),
                    false => (ask, (Some(default), end)),
                }
            }
            What::Number { ask, plus } => {
                let (port, end) = number(0);
                (ask, (port.and_then(|port| port.checked_sub(plus)), end))
            }
            What::Call(ask) => (ask, (octets.map(u16::from_be_bytes), 2)),
            What::Octets(_) => return (None, 2),
        };
        (port.map(|port| (ask, port)), len.min(left.len()))
    }
}

/// Four numbers with dots at the beginning of a text, where no name or number goes on.
pub fn dotted(text: &str) -> Option<(Ipv4Addr, usize)> {
    let len = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let octets: Option<Vec<u8>> = text[..len].split('.').map(octet).collect();
    let [a, b, c, d] = octets?[..] else { return None };
    let next = text[len..].chars().next();
    let goes_on = next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    (!goes_on).then_some((Ipv4Addr::new(a, b, c, d), len))
}

/// A number of one to three digits below 256.
pub fn octet(text: &str) -> Option<u8> {
    let fits = (1..=3).contains(&text.len()) && text.chars().all(|c| c.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

/// The port at the beginning of a text, and its length.
pub fn port(text: &str) -> Option<(u16, usize)> {
    let len = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let fits = (1..=5).contains(&len);
    Some((text[..len].parse().ok().filter(|_| fits)?, len))
}
