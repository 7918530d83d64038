//! A record of any type.

use protocol_bgp::bytes::Reader;

use crate::framing::Frame;
use crate::header::{BGP4MP, BGP4MP_ET, Malformed, Stamp, TABLE_DUMP_V2};
use crate::session::{self, Message, Read, StateChange};
use crate::table::{
    PEER_INDEX_TABLE, PeerTable, RIB_GENERIC, RIB_GENERIC_ADDPATH, RIB_IPV4_UNICAST,
    RIB_IPV4_UNICAST_ADDPATH, RIB_IPV6_UNICAST, RIB_IPV6_UNICAST_ADDPATH, Table,
};

/// A record.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// The peers of the table that follows.
    Peers(PeerTable<'a>),
    /// A route of a table.
    Table(Table<'a>),
    /// A message of a session.
    Message(Message<'a>),
    /// A change of a session's state.
    StateChange(StateChange),
    /// One of a type or subtype that is not read.
    Other,
}

impl<'a> Frame<'a> {
    /// Reads the record, and when it was written.
    ///
    /// # Errors
    /// What is wrong with it; others can be read.
    pub fn read(&self) -> Result<(Stamp, Record<'a>), Malformed> {
        let (kind, subtype, body) = (self.header.kind, self.header.subtype, self.body);
        let mut stamp = Stamp::of(self.header.seconds, 0);
        let record = match kind {
            TABLE_DUMP_V2 => match subtype {
                PEER_INDEX_TABLE => Record::Peers(PeerTable::read(body)?),
                RIB_IPV4_UNICAST
                | RIB_IPV6_UNICAST
                | RIB_GENERIC
                | RIB_IPV4_UNICAST_ADDPATH
                | RIB_IPV6_UNICAST_ADDPATH
                | RIB_GENERIC_ADDPATH => Record::Table(Table::read(body, subtype)?),
                _ => Record::Other,
            },
            BGP4MP | BGP4MP_ET => {
                let mut from = Reader(body);
                if kind == BGP4MP_ET {
                    let micros = from.u32().ok_or(Malformed("its microseconds are cut"))?;
                    if micros >= 1_000_000 {
                        return Err(Malformed("its microseconds are more than a second"));
                    }
                    stamp = Stamp::of(self.header.seconds, micros);
                }
                match session::read(from.0, subtype)? {
                    Read::Message(message) => Record::Message(message),
                    Read::StateChange(change) => Record::StateChange(change),
                    Read::Other => Record::Other,
                }
            }
            _ => Record::Other,
        };
        Ok((stamp, record))
    }
}
