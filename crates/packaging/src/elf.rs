//! What a program needs of the system that runs it: its processor, its loader, shared libraries,
//! and the version of the C library. Read from the program itself (ELF, 64 bits, little-endian).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Names of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// As Rust's targets begin.
    pub rust: &'static str,
    /// As Debian says.
    pub debian: &'static str,
    /// As images say.
    pub oci: &'static str,
    /// The folder of its libraries on Debian.
    folder: &'static str,
}

/// What a program needs.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Its processor.
    pub machine: Machine,
    /// Path of the loader; none for a static program.
    pub loader: Option<PathBuf>,
    /// Names of shared libraries: `libc.so.6` …
    pub libraries: BTreeSet<String>,
    /// The newest version of the GNU C library of which it uses a symbol: `2.34`.
    pub glibc: Option<String>,
}

impl Needs {
    /// Reads a program.
    ///
    /// # Errors
    /// When it cannot be read, or is no program of a processor that is known.
    pub fn of(program: &Path) -> Result<Needs> {
        let bytes =
            fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
        Needs::read(&bytes).with_context(|| format!("{} is no such program", program.display()))
    }

    fn read(bytes: &[u8]) -> Result<Needs> {
        if bytes.get(..6) != Some(b"\x7fELF\x02\x01") {
            bail!("not ELF of 64 bits, little-endian");
        }
        let number = number(bytes, 18, 2)?;
        let known = MACHINES.iter().find(|(known, _)| *known == number);
        let machine = known.map(|(_, machine)| *machine).context("an unknown processor")?;
        let segments = segments(bytes)?;
        let loader = segments.iter().find(|segment| segment.kind == INTERPRETER);
        let loader = loader.map(|segment| text(bytes, segment.offset)).transpose()?;
        let (libraries, glibc) = dynamic(bytes, &segments)?;
        Ok(Needs { machine, loader: loader.map(PathBuf::from), libraries, glibc })
    }

    /// Holds that the program runs on Debian 12.
    ///
    /// # Errors
    /// When it needs a newer C library; the text tells both versions.
    pub fn run_on_debian_12(&self) -> Result<()> {
        let minor = |version: &str| version.strip_prefix("2.")?.parse::<u32>().ok();
        match &self.glibc {
            Some(needed) if minor(needed) > minor(GLIBC_OF_DEBIAN_12) => bail!(
                "the program needs the C library {needed}, and Debian 12 has {GLIBC_OF_DEBIAN_12}: \
                 build it on Debian 12, or in a container of it (rust:1-bookworm)"
            ),
            _ => Ok(()),
        }
    }

    /// Where the loader and all libraries lie on this machine, those of libraries included, by the
    /// path at which a loader finds them.
    ///
    /// # Errors
    /// When one is not found.
    pub fn found(&self) -> Result<BTreeMap<PathBuf, PathBuf>> {
        let mut found = BTreeMap::new();
        let Some(loader) = &self.loader else { return Ok(found) };
        found.insert(loader.clone(), fs::canonicalize(loader)?);
        let mut ahead: Vec<String> = self.libraries.iter().cloned().collect();
        let mut seen = BTreeSet::new();
        while let Some(name) = ahead.pop() {
            if !seen.insert(name.clone()) || loader.file_name().is_some_and(|own| *own == *name) {
                continue;
            }
            let folders = [self.machine.folder, "/lib64", "/usr/lib64", "/lib", "/usr/lib"];
            let all = folders.iter().map(|folder| Path::new(folder).join(&name));
            let path = all.into_iter().find(|path| path.exists());
            let path = path.with_context(|| format!("the library {name} is not found"))?;
            ahead.extend(Needs::of(&path)?.libraries);
            let real = fs::canonicalize(&path)?;
            found.insert(Path::new(self.machine.folder).join(&name), real);
        }
        Ok(found)
    }
}

/// A part of a program, as it is loaded.
struct Segment {
    kind: u64,
    offset: usize,
    address: usize,
    bytes: usize,
}

fn segments(bytes: &[u8]) -> Result<Vec<Segment>> {
    let field = |at: usize, length: usize| number(bytes, at, length).map(|n| n as usize);
    let (table, entry, count) = (field(32, 8)?, field(54, 2)?, field(56, 2)?);
    let one = |index: usize| {
        let at = table + index * entry;
        Ok(Segment {
            kind: number(bytes, at, 4)?,
            offset: field(at + 8, 8)?,
            address: field(at + 16, 8)?,
            bytes: field(at + 32, 8)?,
        })
    };
    (0..count).map(one).collect()
}

/// The libraries that the dynamic section names, and the newest version of the C library among the
/// names beside them.
fn dynamic(bytes: &[u8], segments: &[Segment]) -> Result<(BTreeSet<String>, Option<String>)> {
    let Some(dynamic) = segments.iter().find(|segment| segment.kind == DYNAMIC) else {
        return Ok(Default::default());
    };
    let mut entries = Vec::new();
    for at in (dynamic.offset..dynamic.offset + dynamic.bytes).step_by(16) {
        entries.push((number(bytes, at, 8)?, number(bytes, at + 8, 8)? as usize));
    }
    let value = |wanted: u64| entries.iter().find(|(tag, _)| *tag == wanted).map(|(_, v)| *v);
    let (Some(names), Some(length)) = (value(NAMES), value(NAMES_BYTES)) else {
        return Ok(Default::default());
    };
    let loaded = segments.iter().filter(|segment| segment.kind == LOADED);
    let mut holding = loaded.filter(|s| s.address <= names && names < s.address + s.bytes);
    let holding = holding.next().context("its names are not loaded")?;
    let names = names - holding.address + holding.offset;
    let table = bytes.get(names..names + length).context("its names lie outside")?;
    let needed = entries.iter().filter(|(tag, _)| *tag == NEEDED);
    let libraries = needed.map(|(_, at)| text(bytes, names + at)).collect::<Result<_>>()?;
    Ok((libraries, newest_glibc(table)))
}

/// The newest of the versions of symbols in a table of names: `GLIBC_2.34`.
fn newest_glibc(table: &[u8]) -> Option<String> {
    let names = table.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    let versions = names.filter_map(|name| name.strip_prefix("GLIBC_2."));
    let minors = versions.filter_map(|version| version.split('.').next()?.parse::<u32>().ok());
    minors.max().map(|minor| format!("2.{minor}"))
}

fn number(bytes: &[u8], at: usize, length: usize) -> Result<u64> {
    let field =
        at.checked_add(length).and_then(|end| bytes.get(at..end)).context("it ends early")?;
    Ok(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn text(bytes: &[u8], at: usize) -> Result<String> {
    let rest = bytes.get(at..).context("a name lies outside")?;
    let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8(name.to_vec())?)
}

/// The version of the GNU C library for which packages are made.
pub const GLIBC_OF_DEBIAN_12: &str = "2.36";

const LOADED: u64 = 1;
const DYNAMIC: u64 = 2;
const INTERPRETER: u64 = 3;
const NEEDED: u64 = 1;
const NAMES: u64 = 5;
const NAMES_BYTES: u64 = 10;

/// Processors by their number in ELF.
const MACHINES: &[(u64, Machine)] = &[
    (
        62,
        Machine { rust: "x86_64", debian: "amd64", oci: "amd64", folder: "/lib/x86_64-linux-gnu" },
    ),
    (
        183,
        Machine {
            rust: "aarch64",
            debian: "arm64",
            oci: "arm64",
            folder: "/lib/aarch64-linux-gnu",
        },
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_a_program_whose_libraries_are_here() {
        let own = std::env::current_exe().expect("it runs");
        let needs = Needs::of(&own).expect("it is a program");
        let found = needs.found().expect("it runs here");
        assert!(found.values().all(|path| path.exists()));
        if needs.libraries.contains("libc.so.6") {
            assert!(found.keys().any(|path| path.ends_with("libc.so.6")), "{found:?}");
        }
    }

    #[test]
    fn a_program_that_needs_a_newer_c_library_than_debian_12_has_is_refused() {
        assert_eq!(newest_glibc(b"\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.3.4\0").unwrap(), "2.34");
        let own = Needs::of(&std::env::current_exe().expect("it runs")).expect("a program");
        let needs =
            |version: Option<&str>| Needs { glibc: version.map(str::to_owned), ..own.clone() };
        for version in [None, Some("2.9"), Some("2.36")] {
            needs(version).run_on_debian_12().expect("Debian 12 has that");
        }
        let refused = needs(Some("2.37")).run_on_debian_12().expect_err("it has not");
        assert!(refused.to_string().contains("needs the C library 2.37"), "{refused}");
    }

    #[test]
    fn what_is_no_program_is_refused_wherever_it_ends() {
        assert!(Needs::read(b"#!/bin/sh").is_err());
        let own = fs::read(std::env::current_exe().expect("it runs")).expect("it is read");
        for end in [0, 5, 6, 17, 19, 40, 64, 100, 400] {
            assert!(Needs::read(&own[..end]).is_err(), "cut at {end}");
        }
    }
}
