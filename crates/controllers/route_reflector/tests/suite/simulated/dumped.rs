//! The last dump of the tables, which is of a time at which everything is at rest.

use std::collections::BTreeMap;
use std::net::IpAddr;

use controller_route_reflector::fuzz::model::{Attributes, Model, Prefix};
use controller_route_reflector::fuzz::wire::{Table, learn};
use protocol_bgp::attributes::{Attributes as Wire, MP_REACH, push};
use protocol_bgp::families::{Family, FamilySet};
use protocol_bgp::rules::Reading;
use protocol_bgp::update::Scan;
use protocol_mrt::table::{self, Entry, Peer};
use protocol_mrt::{Framing, Record};
use simulation::World;

use super::{Machine, Reflection};

/// Where dumps are.
pub const FOLDER: &str = "/dumps";

/// What a table says, by family, prefix and peer.
type Paths = BTreeMap<(Family, Prefix, u16), Attributes>;

impl Reflection {
    /// What the last dump says, where there are dumps, is what peers have told; and what was told
    /// on the way can be read.
    pub(super) fn compare_dump(
        &self,
        world: &World<Machine>,
        models: &[(Family, Model)],
    ) -> Result<(), String> {
        let files = world.files(0);
        for (path, file) in files {
            read(file, |_| Ok(())).map_err(|why| format!("{path}: {why}"))?;
        }
        let mut tables = files.iter().filter(|(path, _)| path.contains("/rib."));
        let Some((path, file)) = tables.next_back() else { return Ok(()) };
        let (mut peers, mut found) = (Vec::new(), Paths::new());
        read(file, |record| {
            match record {
                Record::Peers(table) => peers = table.peers().collect(),
                Record::Table(table) => self.learn(&table, &peers, &mut found)?,
                _ => return Err("it is no record of a table".to_owned()),
            }
            Ok(())
        })
        .map_err(|why| format!("{path}: {why}"))?;
        let mut told = Paths::new();
        for (family, model) in models {
            let paths = model.paths.iter();
            told.extend(paths.map(|((prefix, by), it)| ((*family, *prefix, by.0), it.clone())));
        }
        let keys = found.keys().chain(told.keys());
        match keys.into_iter().find(|key| found.get(key) != told.get(key)) {
            None => Ok(()),
            Some(key) => {
                let sides = (found.get(key), told.get(key));
                Err(format!(
                    "{path}: {} paths, not {}: {key:?}: {sides:?}",
                    found.len(),
                    told.len()
                ))
            }
        }
    }

    /// Takes the paths of a route.
    fn learn(
        &self,
        table: &table::Table<'_>,
        peers: &[Peer],
        found: &mut Paths,
    ) -> Result<(), String> {
        for entry in table.entries() {
            let peer = peers.get(usize::from(entry.peer)).ok_or("there is no such peer")?;
            let IpAddr::V4(address) = peer.address else { return Err("IPv6".to_owned()) };
            let node = u16::from(address.octets()[3]);
            let has_said = self.identifiers.get(usize::from(node) - 1) == Some(&peer.identifier);
            if !has_said {
                return Err(format!("the identifier of {node} is {}", peer.identifier));
            }
            let (mut scan, mut one) = (Scan::default(), Table::new());
            learn(&mut scan, &body(table, &entry), &reading(), &mut one)?;
            let ((family, prefix), attributes) = one.into_iter().next().ok_or("no route")?;
            found.insert((family, prefix, node - 1), attributes);
        }
        Ok(())
    }
}

/// Reads all records of a file.
fn read(file: &[u8], mut each: impl FnMut(Record<'_>) -> Result<(), String>) -> Result<(), String> {
    let (mut framing, mut piece) = (Framing::default(), file);
    while let Some(frame) = framing.next(&mut piece) {
        let (_, record) = frame.read().map_err(|why| format!("{}: {why}", frame.number))?;
        if frame.skipped > 0 {
            return Err(format!("{} bytes are no record", frame.skipped));
        }
        each(record)?;
    }
    framing.finish().map_err(|ends| ends.to_string())
}

/// The body of an UPDATE that says what an entry does.
fn body(table: &table::Table<'_>, entry: &Entry<'_>) -> Vec<u8> {
    let mut attributes = Vec::new();
    for attribute in Wire::new(entry.attributes) {
        if attribute.code != MP_REACH {
            push(attribute.flags, attribute.code, attribute.value, &mut attributes);
            continue;
        }
        let (afi, safi) = table.family.numbers();
        let hop = entry.next_hop(table.family);
        let head = [&afi.to_be_bytes()[..], &[safi, hop.len() as u8], hop, &[0]].concat();
        let value = [&head[..], table.wire].concat();
        push(attribute.flags, attribute.code, &value, &mut attributes);
    }
    let is_ipv4 = table.family == Family::Ipv4Unicast;
    let len = (attributes.len() as u16).to_be_bytes();
    [&[0, 0][..], &len, &attributes, if is_ipv4 { table.wire } else { &[] }].concat()
}

fn reading() -> Reading {
    let families: FamilySet = [Family::Ipv4Unicast, Family::Ipv6Unicast].into_iter().collect();
    Reading {
        families,
        path_ids: FamilySet::NONE,
        extended_next_hops: FamilySet::NONE,
        is_wide: true,
        is_external: false,
    }
}
