//! Who is told what: peers that are told the same are a group, which has one stream.
//!
//! ```text
//!  log of changes --> encode --> live stream ----+
//!  table ----------> encode --> first tables ----+--> a peer reads both in the order of their chunks
//! ```
//! The files in reading order: [`view`] is what is read, [`export`] what a group is told of a path,
//! [`stream`] what it is told in, [`encode`] makes one of the other, `several` where it is told
//! several paths of a route, [`group`] has the readers and their places.

pub mod view;

pub mod export;

pub mod stream;

pub mod encode;

mod several;

mod reader;

pub mod group;

pub use export::Identity;
pub use group::Group;
pub use stream::{Chunk, Stream};
