//! A file of rows as a stream, whether it is compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

/// Opens a file, decompresses it if it is compressed by gzip, and returns it with some of its
/// beginning.
///
/// # Errors
/// When it is no regular file (a pipe may never end), cannot be read, or is compressed otherwise
/// than by gzip.
pub fn open(path: &Path) -> io::Result<(Box<dyn BufRead>, Vec<u8>)> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    decompress(BufReader::with_capacity(BUFFER_BYTES, file))
}

/// Decompresses what is compressed by gzip, and returns it with some of its beginning.
///
/// # Errors
/// When it cannot be read, or is compressed otherwise than by gzip.
pub fn decompress(mut bytes: impl BufRead + 'static) -> io::Result<(Box<dyn BufRead>, Vec<u8>)> {
    let begin = bytes.fill_buf()?;
    for (magic, program) in COMPRESSED {
        if begin.starts_with(magic) {
            let what = format!("it is compressed; decompress it first, by `{program}`");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
    }
    if !begin.starts_with(GZIP) {
        let begin = begin[..begin.len().min(BEGIN_BYTES)].to_vec();
        return Ok((Box::new(bytes), begin));
    }
    let mut bytes = MultiGzDecoder::new(bytes);
    let mut begin = Vec::new();
    bytes.by_ref().take(BEGIN_BYTES as u64).read_to_end(&mut begin)?;
    let whole = io::Cursor::new(begin.clone()).chain(bytes);
    Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, whole)), begin))
}

const GZIP: &[u8] = &[0x1f, 0x8b];

/// How other compressed files begin, and what decompresses them.
const COMPRESSED: [(&[u8], &str); 3] = [
    (b"BZh", "bunzip2"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "unxz"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "unzstd"),
];

const BUFFER_BYTES: usize = 256 << 10;

/// By how much of its beginning the form of a file is known.
const BEGIN_BYTES: usize = 16 << 10;
