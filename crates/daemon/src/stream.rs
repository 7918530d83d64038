//! Many changes in one request: lines that follow it, each a change of the function.
//!
//! The lines go to the keeper in pieces of bounded size as they come, and from there to the workers
//! in bulk: a piece is a round trip, not a change. A line that is refused is counted, some of them
//! are told in words, and what follows goes on. The answer comes behind the last line.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::Value;

use crate::inbox::Remote;
use crate::piece::{Piece, Told};
use crate::protocol::REQUEST_BYTES_MAX;
use crate::unit::Refused;

/// Applies the lines of a stream up to an empty line or its end, `buffer` first; returns what
/// became of them. What follows the empty line stays in `buffer`.
///
/// # Errors
/// When the stream breaks. A refusal is of the stream as a whole: a line without end, or a daemon
/// that ends.
pub(crate) fn take(
    stream: &mut UnixStream,
    buffer: &mut Vec<u8>,
    remote: &Remote,
) -> io::Result<Result<Value, Refused>> {
    let (mut told, mut next) = (Told::default(), 1);
    let mut chunk = vec![0; CHUNK_BYTES];
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    loop {
        let (end, is_last) = whole_lines(buffer);
        let rest = buffer.split_off(end);
        let mut text = std::mem::replace(buffer, rest);
        if is_last {
            // The empty line itself.
            text.pop();
        }
        if !text.is_empty() {
            let mut lines = 0;
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                if line.len() > REQUEST_BYTES_MAX {
                    return Ok(Err(too_long(next + lines)));
                }
                lines += 1;
            }
            match remote.piece(Piece { text, first: next }) {
                Ok(further) => told.add(further),
                Err(refused) => return Ok(Err(refused)),
            }
            next += lines;
        }
        if is_last {
            tracing::info!(applied = told.applied, refused = told.refused, "changed by a stream");
            return Ok(Ok(told.value()));
        }
        if buffer.len() >= REQUEST_BYTES_MAX {
            return Ok(Err(too_long(next)));
        }
        match stream.read(&mut chunk) {
            // A last line may lack its end.
            Ok(0) => buffer.extend(if buffer.is_empty() { "\n" } else { "\n\n" }.as_bytes()),
            Ok(count) => buffer.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A line that no change needs; it ends the stream, whether it came whole or not.
fn too_long(line: u64) -> Refused {
    let what = format!("line {line} has more than {REQUEST_BYTES_MAX} bytes");
    Refused::new(what, "send one change a line; those before it may have taken effect")
}

/// Returns where whole lines end, and whether an empty one is the last of them.
fn whole_lines(buffer: &[u8]) -> (usize, bool) {
    if buffer.first() == Some(&b'\n') {
        return (1, true);
    }
    match buffer.windows(2).position(|pair| pair == b"\n\n") {
        Some(at) => (at + 2, true),
        None => (buffer.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1), false),
    }
}

/// How much is read at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Time without anything after which a client is considered gone.
const SILENCE_MAX: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_end_at_the_last_or_at_an_empty_one() {
        for (text, end, is_last) in [
            ("", 0, false),
            ("a", 0, false),
            ("a\nb", 2, false),
            ("a\nb\n", 4, false),
            ("a\n\nb\n", 3, true),
            ("\nb\n", 1, true),
        ] {
            assert_eq!(whole_lines(text.as_bytes()), (end, is_last), "{text:?}");
        }
    }
}
