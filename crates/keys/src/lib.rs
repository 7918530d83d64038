//! Keys of a section of a configuration, against the JSON Schema of the type that they become.
//!
//! The schema comes from the unit's own configuration type, so a name, a limit and a description of
//! a key stand once, as attributes of the field. [`read`] makes the type of a section and holds it
//! to these limits; [`Place`] tells which keys a schema has; [`Invalid`] is the one error of both,
//! and of what a unit checks beyond its schema. Nothing here knows a file or its lines: `document`
//! does.

mod place;

mod read;

mod limits;

mod invalid;

pub use invalid::Invalid;
pub use place::{Place, UnknownKey, nearest, remedy_for_unknown};
pub use read::{check, parsed, read, typed};
