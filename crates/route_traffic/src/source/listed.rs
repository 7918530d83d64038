//! Routes that are listed: a table of prefixes with any attributes.

use std::collections::HashMap;

use machine::hash::Keyed;
use protocol_bgp::Family;

use crate::nlri;
use crate::routes::Routes;

/// Routes of any families that are told apart by their prefixes.
#[derive(Debug)]
pub struct Listed {
    sets: Vec<Named>,
    set_of: Vec<u32>,
    wires: Vec<u8>,
    /// Where each route begins, and where the last one ends.
    starts: Vec<u32>,
    /// Routes by the hash of family and key: a number above that of the route, 0 for none.
    index: Vec<u32>,
    keyed: Keyed,
}

/// What becomes a [`Listed`]: for each route what was said of it last.
#[derive(Debug, Default)]
pub struct Listing {
    sets: Vec<Named>,
    set_numbers: HashMap<Named, u32>,
    /// For each route its place in the order of announcements, and its set.
    routes: HashMap<Named, (u64, u32)>,
    order: u64,
}

/// Bytes of a family: a route or a set of attributes.
type Named = (Family, Box<[u8]>);

impl Listing {
    /// Sets what a route has: a set of attributes in the form of [`crate::attributes`].
    pub fn announce(&mut self, family: Family, wire: &[u8], set: &[u8]) {
        let named = (family, Box::from(set));
        let number = match self.set_numbers.get(&named) {
            Some(number) => *number,
            None => {
                let number = self.sets.len() as u32;
                self.sets.push(named.clone());
                self.set_numbers.insert(named, number);
                number
            }
        };
        self.order += 1;
        self.routes.insert((family, wire.into()), (self.order, number));
    }

    /// Takes a route out.
    pub fn withdraw(&mut self, family: Family, wire: &[u8]) {
        self.routes.remove(&(family, wire.into()));
    }

    /// Returns whether a route is there.
    pub fn has(&self, family: Family, wire: &[u8]) -> bool {
        self.routes.contains_key(&(family, wire.into()))
    }

    /// Returns how many routes there are.
    pub fn count(&self) -> usize {
        self.routes.len()
    }

    /// Lists the routes: by family, then by set in the order in which sets were named, then as they
    /// were announced. At most one of `prefixes` and `paths` of AS is taken, both in that order.
    ///
    /// # Errors
    /// In words, if there are fewer routes, or fewer different AS paths, than are asked for.
    pub fn list(self, prefixes: Option<u32>, paths: Option<u32>) -> Result<Listed, String> {
        let mut all: Vec<Entry> = self
            .routes
            .into_iter()
            .map(|((family, wire), (order, set))| Entry { family, set, order, wire })
            .collect();
        all.sort_unstable_by_key(|entry| (entry.family, entry.set, entry.order));
        if prefixes.is_some() || paths.is_some() {
            limit(&mut all, &self.sets, prefixes, paths)?;
        }
        Ok(Listed::new(&all, &self.sets))
    }
}

/// A route before it is listed.
#[derive(Debug)]
struct Entry {
    family: Family,
    set: u32,
    order: u64,
    wire: Box<[u8]>,
}

/// Leaves as many prefixes and AS paths: the first paths, and of their prefixes so many that each
/// path keeps one.
fn limit(
    all: &mut Vec<Entry>,
    sets: &[Named],
    prefixes: Option<u32>,
    paths: Option<u32>,
) -> Result<(), String> {
    let path = |entry: &Entry| {
        let set = &sets[entry.set as usize].1;
        crate::attributes::value(set, protocol_bgp::attributes::AS_PATH).unwrap_or(&[])
    };
    let mut counts: HashMap<&[u8], u32> = HashMap::new();
    let paths_max = paths.map_or(usize::MAX, |paths| paths as usize);
    let mut kept: Vec<bool> = Vec::with_capacity(all.len());
    for entry in all.iter() {
        let has_room = counts.len() < paths_max;
        let count = match has_room {
            true => Some(counts.entry(path(entry)).or_default()),
            false => counts.get_mut(path(entry)),
        };
        kept.push(count.is_some());
        count.into_iter().for_each(|count| *count += 1);
    }
    let there = kept.iter().filter(|kept| **kept).count();
    let wanted = prefixes.map_or(there, |prefixes| prefixes as usize);
    if let Some(paths) = paths
        && counts.len() < paths as usize
    {
        return Err(format!("the source has {} AS paths, not {paths}", counts.len()));
    }
    if there < wanted {
        return Err(format!("the source has {there} prefixes of these AS paths, not {wanted}"));
    }
    let mut surplus = there - wanted;
    for (at, entry) in all.iter().enumerate().rev() {
        let Some(count) = counts.get_mut(path(entry)).filter(|_| kept[at] && surplus > 0) else {
            continue;
        };
        // Without a number of paths it does not matter which remain.
        if *count > 1 || paths.is_none() {
            *count -= 1;
            kept[at] = false;
            surplus -= 1;
        }
    }
    if surplus > 0 {
        return Err(format!("{wanted} prefixes are fewer than the AS paths that are asked for"));
    }
    let mut at = 0;
    all.retain(|_| {
        at += 1;
        kept[at - 1]
    });
    Ok(())
}

impl Listed {
    fn new(all: &[Entry], sets: &[Named]) -> Listed {
        let mut listed = Listed {
            sets: Vec::new(),
            set_of: Vec::with_capacity(all.len()),
            wires: Vec::new(),
            starts: vec![0],
            index: vec![0; (all.len() * 2).next_power_of_two().max(2)],
            keyed: Keyed::new([0x0052_4f55, 0x5445_5321]),
        };
        let mut last = None;
        for (at, entry) in all.iter().enumerate() {
            if last != Some(entry.set) {
                last = Some(entry.set);
                listed.sets.push(sets[entry.set as usize].clone());
            }
            listed.set_of.push(listed.sets.len() as u32 - 1);
            listed.wires.extend(&entry.wire);
            listed.starts.push(listed.wires.len() as u32);
            let mut slot = listed.slot(entry.family, &nlri::key(entry.family, &entry.wire));
            while listed.index[slot] != 0 {
                slot = (slot + 1) % listed.index.len();
            }
            listed.index[slot] = at as u32 + 1;
        }
        listed
    }

    fn slot(&self, family: Family, key: &[u8]) -> usize {
        let mut hash = family as u64;
        for chunk in key.chunks(8) {
            let word = chunk.iter().fold(1, |all, byte| all << 8 | u64::from(*byte));
            hash = self.keyed.of2(hash, word);
        }
        hash as usize & (self.index.len() - 1)
    }

    fn at(&self, route: u32) -> &[u8] {
        let (start, end) = (self.starts[route as usize], self.starts[route as usize + 1]);
        &self.wires[start as usize..end as usize]
    }

    /// Returns how many different AS paths there are.
    pub fn paths(&self) -> usize {
        let path = |set: &Named| {
            crate::attributes::value(&set.1, protocol_bgp::attributes::AS_PATH).map(<[u8]>::to_vec)
        };
        self.sets.iter().map(path).collect::<std::collections::HashSet<_>>().len()
    }
}

impl Routes for Listed {
    fn count(&self) -> u32 {
        self.set_of.len() as u32
    }

    fn sets(&self) -> u32 {
        self.sets.len() as u32
    }

    fn set(&self, route: u32) -> u32 {
        self.set_of[route as usize]
    }

    fn family(&self, set: u32) -> Family {
        self.sets[set as usize].0
    }

    fn wire(&self, route: u32, out: &mut Vec<u8>) {
        out.extend(self.at(route));
    }

    fn find(&self, family: Family, key: &[u8]) -> Option<u32> {
        let mut slot = self.slot(family, key);
        loop {
            let route = self.index[slot].checked_sub(1)?;
            let is_it = self.sets[self.set_of[route as usize] as usize].0 == family;
            // A prefix without a label is its key.
            if is_it && (self.at(route) == key || nlri::key(family, self.at(route)) == key) {
                return Some(route);
            }
            slot = (slot + 1) % self.index.len();
        }
    }

    fn attributes(&self, set: u32, out: &mut Vec<u8>) {
        out.extend(&*self.sets[set as usize].1);
    }
}
