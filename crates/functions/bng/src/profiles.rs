//! Profiles and access nodes as packets meet them: which policer and which queue of a session a
//! class has.

use std::collections::BTreeMap;

use engine::Refusal;

use super::config::{CLASSES_MAX, Class, Name, Node, Profile};

/// What a profile says for each packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Means {
    /// By class: which policer of the session is asked first, from 1; [`OWN`] is the session's own,
    /// [`NODES`] the node's.
    pub policer: [u8; CLASSES_MAX],
    /// By class: which queue of the session, from 0; [`NO_QUEUE`] for none.
    pub queue: [u8; CLASSES_MAX],
    /// By class: the code points of green and yellow packets; [`NO_MARK`] leaves them.
    pub marks: [[u8; 2]; CLASSES_MAX],
}

/// The session's own policer.
pub(super) const OWN: u8 = 0;
/// The access node's policer.
pub(super) const NODES: u8 = u8::MAX;
/// Packets pass at any rate.
pub(super) const NO_QUEUE: u8 = u8::MAX;
/// The code point stays.
pub(super) const NO_MARK: u8 = u8::MAX;

impl Means {
    /// What a profile means for the classes of a configuration.
    fn new(profile: &Profile, classes: &[Class]) -> Means {
        let mut means = Means::NOTHING;
        let of = |name: Name| {
            let own = |class: &Class| class.name == name;
            classes.iter().position(own)
        };
        let first = if profile.up_rate.is_some() { OWN } else { NODES };
        let others = profile.policers.len() as u8;
        means.policer = [if others > 0 { others } else { first }; CLASSES_MAX];
        let mark = |policer: &super::config::Policer| {
            [policer.mark, policer.mark_excess].map(|dscp| dscp.unwrap_or(NO_MARK))
        };
        if let Some(last) = profile.policers.last() {
            means.marks = [mark(last); CLASSES_MAX];
        }
        for (number, policer) in (1..).zip(&profile.policers) {
            if let Some(class) = of(policer.class) {
                means.policer[class] = number;
                means.marks[class] = mark(policer);
            }
        }
        if let Some(last) = profile.queues.len().checked_sub(1) {
            means.queue = [last as u8; CLASSES_MAX];
        }
        for (number, queue) in (0..).zip(&profile.queues) {
            if let Some(class) = of(queue.class) {
                means.queue[class] = number;
            }
        }
        means
    }

    /// No policers of its own, and no queues.
    const NOTHING: Means = Means {
        policer: [NODES; CLASSES_MAX],
        queue: [NO_QUEUE; CLASSES_MAX],
        marks: [[NO_MARK; 2]; CLASSES_MAX],
    };
}

/// What has a name and a number, and is there as long as anybody refers to it.
pub(super) struct Named<T> {
    names: BTreeMap<Name, u16>,
    kept: Vec<Option<(T, u32)>>,
    capacity: usize,
}

impl<T> Named<T> {
    /// Nothing, with room for so many; their numbers are from 1.
    pub fn new(capacity: u32) -> Named<T> {
        let capacity = capacity as usize;
        Named { names: BTreeMap::new(), kept: Vec::with_capacity(capacity), capacity }
    }

    /// Adds one.
    ///
    /// # Errors
    /// When its name is taken, or there is no room.
    pub fn add(&mut self, name: Name, one: T) -> Result<u16, Refusal> {
        if self.names.contains_key(&name) {
            return Err(Refusal::Exists);
        }
        let place = match self.kept.iter().position(Option::is_none) {
            Some(place) => place,
            None if self.kept.len() == self.capacity => return Err(Refusal::Full),
            None => {
                self.kept.push(None);
                self.kept.len() - 1
            }
        };
        self.kept[place] = Some((one, 0));
        let number = place as u16 + 1;
        self.names.insert(name, number);
        Ok(number)
    }

    /// Removes one to which nobody refers, and returns it with its number.
    ///
    /// # Errors
    /// When there is none, or somebody refers to it.
    pub fn remove(&mut self, name: Name) -> Result<(u16, T), Refusal> {
        let number = *self.names.get(&name).ok_or(Refusal::NotFound)?;
        let place = self.kept.get_mut(usize::from(number) - 1).ok_or(Refusal::NotFound)?;
        match place {
            Some((_, 0)) => {}
            _ => return Err(Refusal::Invalid),
        }
        self.names.remove(&name);
        let one = place.take().map(|(one, _)| one);
        one.map(|one| (number, one)).ok_or(Refusal::NotFound)
    }

    /// The number of a name.
    pub fn number(&self, name: Name) -> Option<u16> {
        self.names.get(&name).copied()
    }

    /// One by its number.
    pub fn get(&self, number: u16) -> Option<&T> {
        let place = usize::from(number).checked_sub(1)?;
        self.kept.get(place)?.as_ref().map(|(one, _)| one)
    }

    /// So many more, or fewer, refer to one.
    pub fn refer(&mut self, number: u16, more: i32) {
        let place = usize::from(number).checked_sub(1);
        let one = place.and_then(|place| self.kept.get_mut(place));
        if let Some(Some((_, count))) = one {
            *count = count.saturating_add_signed(more);
        }
    }

    /// All of them by name.
    pub fn all(&self) -> impl Iterator<Item = &T> + '_ {
        self.names.values().filter_map(|number| self.get(*number))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// How many there can be.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

/// All profiles.
pub(super) struct Profiles {
    pub named: Named<Profile>,
    /// What each means, by its number.
    means: Vec<Means>,
    classes: Vec<Class>,
}

/// All access nodes.
pub(super) type Nodes = Named<Node>;

impl Profiles {
    /// None, with room for so many.
    pub fn new(capacity: u32, classes: &[Class]) -> Profiles {
        Profiles {
            named: Named::new(capacity),
            means: vec![Means::NOTHING; capacity as usize + 1],
            classes: classes.to_vec(),
        }
    }

    /// Adds one.
    ///
    /// # Errors
    /// When its name is taken, or there is no room.
    pub fn add(&mut self, profile: &Profile) -> Result<(), Refusal> {
        let number = self.named.add(profile.name, profile.clone())?;
        self.means[usize::from(number)] = Means::new(profile, &self.classes);
        Ok(())
    }

    /// What a profile means, by its number.
    #[inline(always)]
    pub fn means(&self, number: u16) -> &Means {
        self.means.get(usize::from(number)).unwrap_or(&Means::NOTHING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Policer};

    fn profile(policers: &[&'static str], queues: &[&'static str]) -> Profile {
        let json = |class: &&str| serde_json::json!({"class": class, "rate": 1000});
        let text = serde_json::json!({
            "name": "one",
            "policers": policers.iter().map(json).collect::<Vec<_>>(),
            "queues": queues.iter().map(json).collect::<Vec<_>>(),
        });
        serde_json::from_value(text).expect("a profile")
    }

    #[test]
    fn a_class_that_a_profile_does_not_name_has_the_last_policer_and_queue() {
        let classes = Config::default().classes;
        let means = Means::new(&profile(&["ef", "be"], &["be", "af"]), &classes);
        assert_eq!(means.policer[..3], [1, 2, 2]);
        assert_eq!(means.queue[..3], [1, 1, 0]);
        let none = Means::new(&profile(&[], &[]), &classes);
        assert_eq!((none.policer[0], none.queue[0]), (NODES, NO_QUEUE));
        let own = Profile { up_rate: Some(units::BytesPerSec(1e6)), ..profile(&[], &[]) };
        assert_eq!(Means::new(&own, &classes).policer[2], OWN);
    }

    #[test]
    fn marks_go_with_the_policer_of_a_class() {
        let mut profile = profile(&["ef", "be"], &[]);
        profile.policers[0] = Policer { mark: Some(46), ..profile.policers[0] };
        profile.policers[1] = Policer { mark_excess: Some(8), ..profile.policers[1] };
        let means = Means::new(&profile, &Config::default().classes);
        assert_eq!(means.marks[..3], [[46, NO_MARK], [NO_MARK, 8], [NO_MARK, 8]]);
    }

    #[test]
    fn what_somebody_refers_to_is_not_removed() {
        let mut all = Named::new(2);
        let [one, two] = ["one", "two"].map(Name::new);
        assert_eq!((all.add(one, 'a'), all.add(two, 'b')), (Ok(1), Ok(2)));
        assert_eq!(all.add(Name::new("three"), 'c'), Err(Refusal::Full));
        all.refer(1, 1);
        assert_eq!(all.remove(one), Err(Refusal::Invalid));
        all.refer(1, -1);
        assert_eq!(all.remove(one), Ok((1, 'a')));
        assert_eq!(all.add(Name::new("three"), 'c'), Ok(1), "its number is free");
    }
}
