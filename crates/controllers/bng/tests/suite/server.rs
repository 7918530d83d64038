//! A server of RADIUS: who may come in, and what it was told.

use std::collections::BTreeMap;

use protocol_kit::Secret;
use protocol_radius::attributes::kind;
use protocol_radius::seal::{answer, chap_response, check_request, reveal};
use protocol_radius::{Code, List, Packet};

/// The secret that it shares with the gateway.
pub const SECRET: &str = "between us";

/// Users, and records.
#[derive(Default)]
pub struct Server {
    /// Passwords and what users are granted.
    pub users: BTreeMap<String, (String, List)>,
    /// Whether all who give a right password that is their name come in.
    pub is_open: bool,
    /// Whether it is silent.
    pub is_dead: bool,
    /// How often it was asked for access.
    pub asked: u32,
    /// Records by session and status, the last of each.
    pub records: BTreeMap<(String, u32), Record>,
    /// Answers to requests of its own.
    pub answers: Vec<(Code, Option<u32>)>,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub user: String,
    /// Bytes up and down.
    pub octets: [u64; 2],
    pub cause: Option<u32>,
    /// Addresses and prefixes: kinds of attributes, and their values.
    pub addresses: Vec<(u8, Vec<u8>)>,
}

impl Server {
    pub fn secret() -> Secret {
        Secret(SECRET.as_bytes().to_vec())
    }

    /// Adds a user.
    pub fn add(&mut self, name: &str, password: &str, attributes: List) {
        self.users.insert(name.to_owned(), (password.to_owned(), attributes));
    }

    /// The answer to a packet of the gateway's.
    pub fn hear(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.is_dead {
            return None;
        }
        let packet = Packet::parse(bytes).expect("a packet");
        match packet.code {
            Code::AccessRequest => {
                self.asked += 1;
                let (code, list) = match self.judge(&packet) {
                    Some(list) => (Code::AccessAccept, list),
                    None => (Code::AccessReject, List::new()),
                };
                answer(code, &packet, &Server::secret(), list.attributes()).ok()
            }
            Code::AccountingRequest => {
                check_request(&packet, &Server::secret(), false).expect("the secret");
                self.record(&packet);
                let none = List::new();
                let code = Code::AccountingResponse;
                answer(code, &packet, &Server::secret(), none.attributes()).ok()
            }
            code => {
                self.answers.push((code, packet.attributes.number(kind::ERROR_CAUSE)));
                None
            }
        }
    }

    fn judge(&self, packet: &Packet<'_>) -> Option<List> {
        let attributes = packet.attributes;
        let name = text(attributes.first(kind::USER_NAME)?);
        let own = (name.clone(), List::new());
        let (password, list) = match self.is_open {
            true => self.users.get(&name).unwrap_or(&own),
            false => self.users.get(&name)?,
        };
        let is_right = match attributes.first(kind::USER_PASSWORD) {
            Some(hidden) => {
                let said = reveal(hidden, &Server::secret(), packet.authenticator)?;
                said == password.as_bytes()
            }
            None => {
                let (id, said) = attributes.first(kind::CHAP_PASSWORD)?.split_first()?;
                let challenge = attributes.first(kind::CHAP_CHALLENGE);
                let challenge = challenge.unwrap_or(packet.authenticator);
                chap_response(*id, password.as_bytes(), challenge) == said
            }
        };
        is_right.then(|| list.clone())
    }

    fn record(&mut self, packet: &Packet<'_>) {
        let attributes = packet.attributes;
        let number = |kind| u64::from(attributes.number(kind).unwrap_or(0));
        let octets = |low, high| number(high) << 32 | number(low);
        let record = Record {
            user: attributes.first(kind::USER_NAME).map(text).unwrap_or_default(),
            octets: [octets(42, 52), octets(43, 53)],
            cause: attributes.number(kind::ACCT_TERMINATE_CAUSE),
            addresses: ADDRESSES
                .iter()
                .filter_map(|kind| Some((*kind, attributes.first(*kind)?.to_vec())))
                .collect(),
        };
        let session = text(attributes.first(kind::ACCT_SESSION_ID).expect("a session"));
        let status = attributes.number(kind::ACCT_STATUS_TYPE).expect("a status");
        self.records.insert((session, status), record);
    }

    /// Sessions of which it has heard that they have begun, or ended.
    pub fn sessions(&self, status: u32) -> Vec<String> {
        let of = |((session, other), _): (&(String, u32), &Record)| {
            (*other == status).then(|| session.clone())
        };
        self.records.iter().filter_map(of).collect()
    }

    /// The last record of a status of a user.
    pub fn of_user(&self, user: &str, status: u32) -> Option<&Record> {
        let mut all = self.records.iter();
        all.find(|((_, other), record)| *other == status && record.user == user).map(|it| it.1)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Attributes that are addresses or prefixes.
const ADDRESSES: [u8; 4] = [
    kind::FRAMED_IP_ADDRESS,
    kind::FRAMED_IPV6_ADDRESS,
    kind::FRAMED_IPV6_PREFIX,
    kind::DELEGATED_IPV6_PREFIX,
];

/// Statuses of records.
pub const START: u32 = 1;
pub const STOP: u32 = 2;
pub const INTERIM: u32 = 3;
