//! The files of the packages, by where a system has them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::archive::{File, gzip};
use crate::deb::maintainer;
use crate::parts::{Package, notices};
use crate::product::Product;

/// The files of a system package: program, unit, pages, completions, scenarios and documents.
///
/// # Errors
/// When the program does not run, or a file cannot be read.
pub fn of_system(product: &Product<'_>, package: &Package) -> Result<Vec<File>> {
    let name = &package.name;
    let documents = format!("usr/share/doc/{name}");
    let mut files = vec![
        File::program(format!("usr/bin/{name}"), read(product.program)?),
        File::plain(format!("usr/lib/systemd/system/{name}@.service"), UNIT),
        File::plain(format!("etc/{name}/bridge.yaml"), EXAMPLE),
        File::plain(format!("{documents}/copyright"), copyright(product, package)?),
        File::plain(
            format!("{documents}/licences-of-parts.gz"),
            gzip(notices(product, package)?.as_bytes(), product.effort)?,
        ),
        File::plain(
            format!("{documents}/changelog.gz"),
            gzip(changelog(product, package)?.as_bytes(), BEST)?,
        ),
        File::plain(
            format!("{documents}/CHANGELOG.md.gz"),
            gzip(&read(&product.workspace.join("CHANGELOG.md"))?, BEST)?,
        ),
        File::plain(format!("{documents}/README.md"), read(&product.workspace.join("README.md"))?),
    ];
    for (path, content) in generated(product.program)? {
        files.push(File::plain(path, content));
    }
    files.extend(of_folder(
        &product.workspace.join("scenarios"),
        &format!("usr/share/{name}/scenarios"),
    )?);
    files.extend(of_folder(&product.workspace.join("docs"), &format!("{documents}/docs"))?);
    Ok(files)
}

/// The files of an archive that is unpacked anywhere: those of a system in one folder.
pub fn of_archive(system: &[File], package: &Package) -> Vec<File> {
    let top = format!("{}-{}", package.name, package.version);
    let files = system.iter().filter(|file| !file.path.ends_with('/'));
    let moved = |file: &File| {
        let path = file.path.strip_prefix("usr/").unwrap_or(&file.path);
        File { path: format!("{top}/{path}"), ..file.clone() }
    };
    files.map(moved).collect()
}

/// What the program writes of itself: its pages, compressed, and its completions.
fn generated(program: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let folder = tempfile::tempdir()?;
    for what in ["man", "bash", "zsh", "fish"] {
        let ended = Command::new(program)
            .args(["generate", what, "--output"])
            .arg(folder.path())
            .output()
            .with_context(|| format!("{} does not run here", program.display()))?;
        if !ended.status.success() {
            bail!(
                "{} generate {what}: {}",
                program.display(),
                String::from_utf8_lossy(&ended.stderr)
            );
        }
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.path())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = read(&path)?;
        found.push(match name.rsplit_once('.') {
            Some((_, "1")) => (format!("usr/share/man/man1/{name}.gz"), gzip(&content, BEST)?),
            Some((own, "bash")) => {
                (format!("usr/share/bash-completion/completions/{own}"), content)
            }
            Some((_, "fish")) => (format!("usr/share/fish/vendor_completions.d/{name}"), content),
            _ => (format!("usr/share/zsh/vendor-completions/{name}"), content),
        });
    }
    found.sort();
    Ok(found)
}

/// The files that lie in a folder, without folders in it.
fn of_folder(folder: &Path, at: &str) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        if path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push(File::plain(format!("{at}/{name}"), read(&path)?));
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// Whose it is and by what licence, in Debian's form, which names a common licence by its file; the
/// text itself goes along beside those of the parts.
fn copyright(product: &Product<'_>, package: &Package) -> Result<String> {
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: {}\nComment: The licences of crates in the program are in \
         licences-of-parts.gz beside this file.\n\nFiles: *\nCopyright: {} {}\nLicense: {}\n On Debian \
         systems, the text is in /usr/share/common-licenses/Apache-2.0.\n",
        package.name,
        time(product)?.year(),
        package.authors,
        package.license
    ))
}

/// The changes in Debian's form, which names the version; CHANGELOG.md beside it tells them.
fn changelog(product: &Product<'_>, package: &Package) -> Result<String> {
    Ok(format!(
        "{} ({}) unstable; urgency=medium\n\n  * What has changed is told by CHANGELOG.md.gz.\n\n -- \
         {}  {}\n",
        package.name,
        package.version,
        maintainer(package),
        time(product)?.strftime("%a, %d %b %Y %H:%M:%S +0000")
    ))
}

/// The time of the files, in UTC.
fn time(product: &Product<'_>) -> Result<jiff::Zoned> {
    let seconds = i64::try_from(product.time)?;
    Ok(jiff::Timestamp::from_second(seconds)?.to_zoned(jiff::tz::TimeZone::UTC))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

const UNIT: &str = include_str!("../files/plumbline@.service");

/// A configuration to begin with, that of docs/running.md.
const EXAMPLE: &str = include_str!("../files/bridge.yaml");

/// The effort with which Debian wants its texts compressed.
const BEST: u32 = 9;
