//! From routes that have changed to chunks of UPDATEs: sorted by attributes, so that as many as
//! possible share a message.

use protocol_bgp::builder::Builder;
use protocol_bgp::families::Family;

use crate::groups::export::{Exported, Identity};
use crate::groups::stream::{Draft, Readers, Stream};
use crate::known::Known;
use crate::own::{Own, Source};
use crate::table::{Interned, Routes};

/// What is read to tell a group of routes.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The reflector.
    pub own: &'a Own,
    /// The routes of the family.
    pub routes: &'a Routes,
    /// Attributes of all families.
    pub attributes: &'a Interned<Known>,
    /// What NLRI have beside their keys.
    pub rests: &'a Interned<()>,
    /// Who has told paths, by the number of the peer.
    pub sources: &'a [Source],
}

/// Room to work in, which the groups of all families share.
#[derive(Debug, Default)]
pub struct Encoder {
    /// Routes that are announced: attributes, peer, route.
    announced: Vec<(u32, u16, u32)>,
    /// Routes that are withdrawn from these readers.
    withdrawn: Vec<(Readers, u32)>,
    exported: Exported,
    draft: Draft,
}

impl Encoder {
    /// Adds a route in its present state. To `first` readers it is new: what is not there is not
    /// told.
    #[inline]
    pub fn add(&mut self, view: View<'_>, identity: &Identity, number: u32, is_first: bool) {
        let route = view.routes.route(number);
        let teller = route.teller();
        let several = route.had_several_tellers();
        let path = route.best().filter(|path| {
            let known = view.attributes.known(path.attributes);
            let source = &view.sources[usize::from(path.peer)];
            known.is_some_and(|known| identity.takes(view.own, source, known))
        });
        match path {
            Some(path) => {
                self.announced.push((path.attributes, path.peer, number));
                // It may have been told another one's path before.
                if several && !is_first {
                    self.withdrawn.push((Readers::Only(path.peer), number));
                }
            }
            None if is_first => {}
            // Who has told the only path that there was has heard nothing of it.
            None if route.best().is_none() && !several => {
                self.withdrawn.push((Readers::AllBut(teller), number));
            }
            None => self.withdrawn.push((Readers::All, number)),
        }
    }

    /// Writes what was added behind a stream, as chunks with numbers from `next` on and a mark.
    pub fn write(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        (next, mark): (&mut u64, u64),
        stream: &mut Stream,
    ) {
        self.announced.sort_unstable();
        let announced = std::mem::take(&mut self.announced);
        let mut rest = &announced[..];
        while let Some(&(attributes, peer, _)) = rest.first() {
            let same = rest.partition_point(|one| (one.0, one.1) <= (attributes, peer));
            let (run, behind) = rest.split_at(same);
            rest = behind;
            let Some(known) = view.attributes.known(attributes) else { continue };
            let source = &view.sources[usize::from(peer)];
            let bytes = view.attributes.bytes_of(attributes);
            let mut exported = std::mem::take(&mut self.exported);
            identity.export(view.own, source, (known, bytes), &mut exported);
            let mut left = run;
            while !left.is_empty() {
                let told = self.announce(view, identity, &exported, (left, peer));
                left = &left[told..];
                self.end_chunk(CHUNK_BYTES, (&mut *next, mark), stream);
            }
            self.exported = exported;
        }
        self.announced = announced;
        self.announced.clear();
        self.withdrawn.sort_unstable();
        let withdrawn = std::mem::take(&mut self.withdrawn);
        let mut rest = &withdrawn[..];
        while let Some(&(readers, _)) = rest.first() {
            let same = rest.partition_point(|one| one.0 <= readers);
            let numbers = rest[..same].iter().map(|one| one.1);
            rest = &rest[self.withdraw(view, identity, numbers, readers)..];
            self.end_chunk(CHUNK_BYTES, (&mut *next, mark), stream);
        }
        self.withdrawn = withdrawn;
        self.withdrawn.clear();
        self.end_chunk(1, (next, mark), stream);
        self.shrink();
    }

    /// Appends messages that are the same for all readers.
    pub fn append(&mut self, messages: &[u8], (next, mark): (&mut u64, u64), stream: &mut Stream) {
        self.draft.bytes.extend(messages);
        self.draft.end_part(Readers::All);
        self.end_chunk(1, (next, mark), stream);
    }

    /// Announces routes with the same attributes until a chunk is full; returns how many.
    fn announce(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        exported: &Exported,
        (run, peer): (&[(u32, u16, u32)], u16),
    ) -> usize {
        let Exported { next_hop, block, .. } = exported;
        let Identity { family, writing, .. } = identity;
        let mut builder =
            Builder::announce(&mut self.draft.bytes, writing, (*family, next_hop), block);
        let (mut refused, mut told, mut len) = (Vec::new(), 0, 0);
        for &(_, _, number) in run {
            if len >= CHUNK_BYTES {
                break;
            }
            told += 1;
            let path = view.routes.route(number).best();
            let rest = path.map(|path| path.rest).unwrap_or_default();
            let (short, short_len) = rest.bytes();
            let string = rest.string().map(|number| view.rests.bytes_of(number));
            let rest = string.unwrap_or(&short[..short_len]);
            let is_refused = view.routes.with_key(number, |key| {
                len += key.len() + rest.len();
                builder.push(0, key, rest).is_err()
            });
            if is_refused {
                refused.push(number);
            }
        }
        builder.finish();
        self.draft.end_part(Readers::AllBut(peer));
        if !refused.is_empty() {
            self.withdraw(view, identity, refused.into_iter(), Readers::AllBut(peer));
        }
        told
    }

    /// Withdraws routes until a chunk is full; returns how many.
    fn withdraw(
        &mut self,
        view: View<'_>,
        identity: &Identity,
        numbers: impl Iterator<Item = u32>,
        readers: Readers,
    ) -> usize {
        let Identity { family, writing, .. } = identity;
        let mut builder = Builder::withdraw(&mut self.draft.bytes, writing, *family);
        let rest: &[u8] = if *family == Family::Vpls { &[0; VPLS_REST] } else { &[] };
        let (mut told, mut len) = (0, 0);
        for number in numbers {
            if len >= CHUNK_BYTES {
                break;
            }
            told += 1;
            // A key that has no room alone is longer than any message: nobody was told of it.
            let _ = view.routes.with_key(number, |key| {
                len += key.len();
                builder.push(0, key, rest)
            });
        }
        builder.finish();
        self.draft.end_part(readers);
        told
    }

    /// Ends a chunk that has this many bytes or more.
    fn end_chunk(&mut self, least: usize, (next, mark): (&mut u64, u64), stream: &mut Stream) {
        if self.draft.bytes.len() < least {
            return;
        }
        if let Some(chunk) = self.draft.finish(*next, mark) {
            *next += 1;
            stream.push(chunk);
        }
    }

    /// Keeps no more room than is often needed.
    fn shrink(&mut self) {
        self.announced.shrink_to(KEPT_MAX);
        self.withdrawn.shrink_to(KEPT_MAX);
        self.draft.bytes.shrink_to(4 * CHUNK_BYTES);
    }
}

/// Bytes after which a chunk is whole: its copies to many peers come from the cache. It has room
/// in a stream that has taken all before it.
const CHUNK_BYTES: usize = 64 << 10;

/// Routes for which there stays room.
const KEPT_MAX: usize = 64 << 10;

/// What follows the key of an NLRI of VPLS: its value means nothing in a withdrawal.
const VPLS_REST: usize = 5;
