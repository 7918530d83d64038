//! Files of a log, some of which are read twice.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// A file of a log, which may have to be read a second time.
pub(crate) struct Source<'a> {
    /// Its name.
    pub path: &'a Path,
    /// Reads it from a place on, in bytes; none if it can be read only once, as a pipe.
    pub again: &'a dyn Fn(u64) -> io::Result<Option<Box<dyn Read + 'a>>>,
}

/// Opens a file a second time, to read it from a place on.
pub(crate) fn reopened<'a>(path: &Path, place: u64) -> io::Result<Option<Box<dyn Read + 'a>>> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(place))?;
    Ok(Some(Box::new(file)))
}
