//! Archives: tar in POSIX's ustar form, and gzip. Both depend on nothing but their content.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Result, bail};
use flate2::{Compression, GzBuilder};

/// A file in an archive, owned by root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path from the archive's top, without `/` or `./` before it; of a folder, with `/` behind it.
    pub path: String,
    /// Permissions: `0o644` …
    pub mode: u32,
    /// Content; of a folder, nothing.
    pub content: Vec<u8>,
}

impl File {
    /// A file that everybody reads.
    pub fn plain(path: impl Into<String>, content: impl Into<Vec<u8>>) -> File {
        File { path: path.into(), mode: 0o644, content: content.into() }
    }

    /// A file that everybody runs.
    pub fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> File {
        File { mode: 0o755, ..File::plain(path, content) }
    }

    /// A folder with nothing in it.
    pub fn folder(path: impl Into<String>, mode: u32) -> File {
        File { path: format!("{}/", path.into()), mode, content: Vec::new() }
    }
}

/// Files as a tar archive, with the folders above each, by path.
///
/// # Errors
/// When a path is too long for the form.
pub fn tar(files: &[File], time: u64) -> Result<Vec<u8>> {
    let mut sorted: Vec<&File> = files.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    let own: BTreeSet<&str> = sorted.iter().map(|file| file.path.as_str()).collect();
    let mut made = BTreeSet::new();
    let mut out = Vec::new();
    for file in sorted {
        for (at, _) in file.path.match_indices('/').filter(|(at, _)| at + 1 < file.path.len()) {
            let folder = &file.path[..=at];
            if !own.contains(folder) && made.insert(folder) {
                out.extend(header(folder, 0o755, 0, time)?);
            }
        }
        out.extend(header(&file.path, file.mode, file.content.len(), time)?);
        out.extend(&file.content);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    // Two blocks of nothing are the end.
    out.resize(out.len() + 2 * BLOCK, 0);
    Ok(out)
}

/// A header: name, mode, owner, group, size, time, sum, type, and the mark of the form.
fn header(path: &str, mode: u32, size: usize, time: u64) -> Result<[u8; BLOCK]> {
    let path = format!("./{path}");
    let (prefix, name) = match path.len() {
        0..=NAME_BYTES_MAX => ("", path.as_str()),
        // The prefix ends before a separator, which is not written.
        long => match path[..path.len() - 1]
            .match_indices('/')
            .find(|(at, _)| long - at - 1 <= NAME_BYTES_MAX)
        {
            Some((at, _)) if at <= PREFIX_BYTES_MAX => (&path[..at], &path[at + 1..]),
            _ => bail!("the path is too long for a tar archive: {path}"),
        },
    };
    let mut block = [0; BLOCK];
    let mut put =
        |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, &format!("{:07o}", 0));
    put(116, &format!("{:07o}", 0));
    put(124, &format!("{size:011o}"));
    put(136, &format!("{time:011o}"));
    put(148, &" ".repeat(8));
    put(156, if path.ends_with('/') { "5" } else { "0" });
    put(257, "ustar\0");
    put(263, "00");
    put(265, "root");
    put(297, "root");
    put(345, prefix);
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(block)
}

/// The same bytes in less room, for an effort from 0 to 9; no name and no time are told.
///
/// # Errors
/// None that memory does not have.
pub fn gzip(content: &[u8], effort: u32) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::new(effort));
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

const BLOCK: usize = 512;
const NAME_BYTES_MAX: usize = 100;
const PREFIX_BYTES_MAX: usize = 155;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_its_folders_once_and_the_sums_that_readers_check() {
        let long = format!("{}/{}/{}", "d".repeat(60), "e".repeat(60), "f".repeat(90));
        let files = [
            File::plain("a/b/c", "text"),
            File::program("a/b/d", vec![0; 513]),
            File::folder("a/e", 0o1777),
            File::plain(long.as_str(), "x"),
        ];
        let bytes = tar(&files, 1).expect("it is written");
        assert_eq!(bytes.len() % BLOCK, 0);
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a.tar"), bytes).expect("written");
        let listed = std::process::Command::new("tar")
            .args(["--list", "--file", "a.tar"])
            .current_dir(folder.path())
            .output()
            .expect("tar is everywhere");
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let names: Vec<&str> = text.lines().collect();
        let above = format!("./{}/", "d".repeat(60));
        let below = format!("{above}{}/", "e".repeat(60));
        let long = format!("./{long}");
        let short = ["./a/", "./a/b/", "./a/b/c", "./a/b/d", "./a/e/"];
        assert_eq!(names, [&short[..], &[&above, &below, &long]].concat());
        assert!(tar(&[File::plain("x".repeat(300), "")], 1).is_err());
    }
}
