//! A list of bounded length that lives where it stands.

/// Up to `N` things.
#[derive(Clone, Copy, Debug)]
pub struct List<T, const N: usize> {
    things: [Option<T>; N],
    len: usize,
}

impl<T: Copy, const N: usize> List<T, N> {
    /// An empty one.
    pub const fn new() -> Self {
        List { things: [None; N], len: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.things[..self.len].iter().copied().flatten()
    }

    /// Adds one; none where there is no room.
    #[must_use]
    pub fn push(&mut self, thing: T) -> Option<()> {
        *self.things.get_mut(self.len)? = Some(thing);
        self.len += 1;
        Some(())
    }

    /// Keeps the first so many.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Takes the first away.
    pub fn shift(&mut self) -> Option<T> {
        let first = self.things[..self.len].first().copied()??;
        self.things[..self.len].rotate_left(1);
        self.len -= 1;
        Some(first)
    }

    /// Sorts them by a key.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.things[..self.len].sort_unstable_by_key(|thing| thing.as_ref().map(&key));
    }
}

impl<T: Copy, const N: usize> Default for List<T, N> {
    fn default() -> Self {
        List::new()
    }
}
