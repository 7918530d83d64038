//! Standard output: results only, and a reader that has seen enough is no error.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::problem::Problem;

/// Writes a result to standard output.
///
/// # Errors
/// When it cannot be written, unless the reader closed its end (`| head`).
pub fn print(text: &str) -> Result<(), Problem> {
    print_bytes(text.as_bytes())
}

/// Writes a result of any bytes to standard output.
///
/// # Errors
/// When standard output cannot be written, unless the reader closed its end (`| head`).
pub fn print_bytes(bytes: &[u8]) -> Result<(), Problem> {
    let mut out = io::stdout().lock();
    settle(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes a result to standard output as indented JSON.
///
/// # Errors
/// When standard output cannot be written, unless the reader closed its end (`| head`).
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Problem> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from);
    settle(written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// Writes a result to standard output as it is made.
///
/// # Errors
/// When standard output cannot be written, unless the reader closed its end (`| head`).
pub fn pour(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Problem> {
    let mut out = io::BufWriter::with_capacity(POURED_BYTES, io::stdout().lock());
    settle(write(&mut out).and_then(|()| out.flush()))
}

fn settle(written: io::Result<()>) -> Result<(), Problem> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Problem::of_writing(Path::new("standard output"), &error)),
        Ok(()) => Ok(()),
    }
}

/// Bytes that are written at once.
const POURED_BYTES: usize = 64 << 10;

/// Writes a message to standard error. A failure is ignored: there is nowhere to report it.
pub fn tell(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Wraps a text at spaces into lines of at most `width` characters; lines after the first are
/// indented by `indent`.
pub fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in text.split(' ') {
        let more = word.chars().count() + 1;
        if length > indent.len() && length + more > width {
            lines.push(indent.to_owned());
            length = indent.len();
        } else if length > 0 {
            lines.last_mut().into_iter().for_each(|line| line.push(' '));
        }
        lines.last_mut().into_iter().for_each(|line| line.push_str(word));
        length += more;
    }
    lines.join("\n")
}

/// The width of the terminal in columns from the variable `COLUMNS`, or 100 if it is not set; at
/// least 60 and at most 200.
pub fn width() -> u16 {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    told.unwrap_or(100_u16).clamp(60, 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_at_blanks() {
        assert_eq!(wrap("one two three", 8, "  "), "one two\n  three");
        assert_eq!(wrap("one", 8, "  "), "one");
        assert_eq!(wrap("averyveryverylongword and", 8, "  "), "averyveryverylongword\n  and");
    }
}
