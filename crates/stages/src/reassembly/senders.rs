//! What each sender of fragments has, in places that are all there from the start.

use std::io;

use machine::hash::Keyed;
use tables::tagged::Tagged;

/// Who sends, and of which realm.
pub type Sender = ([u64; 2], u16);

/// Senders with datagrams, each in a place of its own.
pub(crate) struct Senders {
    /// Of senders, who choose their names.
    keyed: Keyed,
    index: Tagged,
    places: Vec<(Sender, Held)>,
    /// Places that are free again.
    free: Vec<u32>,
}

/// What one sender has.
#[derive(Clone, Copy, Default)]
pub(crate) struct Held {
    pub datagrams: u32,
    pub waiting: u32,
}

impl Senders {
    /// Room for so many; the memory is taken here.
    ///
    /// # Errors
    /// When the kernel has none.
    pub fn new(count: usize, keyed: Keyed) -> io::Result<Senders> {
        let (index, places) = (Tagged::with_capacity(count)?, Vec::with_capacity(count));
        Ok(Senders { keyed, index, places, free: Vec::with_capacity(count) })
    }

    fn hash(&self, (address, realm): Sender) -> u64 {
        self.keyed.of4(address[0], address[1], realm.into(), 0)
    }

    fn find(&self, sender: Sender) -> Option<u32> {
        self.index.find(self.hash(sender), |place| self.places[place as usize].0 == sender)
    }

    /// What a sender has.
    pub fn held(&self, sender: Sender) -> Held {
        self.find(sender).map_or(Held::default(), |place| self.places[place as usize].1)
    }

    /// So many more fragments of a sender that has datagrams wait.
    pub fn wait(&mut self, sender: Sender, more: i32) {
        if let Some(place) = self.find(sender) {
            let held = &mut self.places[place as usize].1;
            held.waiting = held.waiting.saturating_add_signed(more);
        }
    }

    /// What a sender has, to be changed; none where there is no place for it.
    pub fn enter(&mut self, sender: Sender) -> Option<&mut Held> {
        let known = self.find(sender);
        let place = known.or_else(|| self.add(sender))?;
        Some(&mut self.places[place as usize].1)
    }

    fn add(&mut self, sender: Sender) -> Option<u32> {
        let place = self.free.last().copied().unwrap_or(self.places.len() as u32);
        self.index.insert(self.hash(sender), place).ok()?;
        match self.free.pop() {
            Some(place) => self.places[place as usize] = (sender, Held::default()),
            None => self.places.push((sender, Held::default())),
        }
        Some(place)
    }

    /// One datagram less; without any, the place is free.
    pub fn leave(&mut self, sender: Sender) {
        let Some(place) = self.find(sender) else { return };
        let held = &mut self.places[place as usize].1;
        held.datagrams -= 1;
        if held.datagrams == 0 {
            self.index.remove(self.hash(sender), place);
            self.free.push(place);
        }
    }
}
