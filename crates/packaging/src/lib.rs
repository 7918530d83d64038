//! Packages of a program that is built: a Debian package, an OCI image, an archive, the list of
//! what is in it (CycloneDX), and checksums. All are for the C library of Debian 12.
//!
//! It takes a program and says nothing of how that was built; the same program and time yield the
//! same bytes. Everything is written here, so that neither `dpkg-deb` nor `docker` has to be there.
//! Manual pages and completions are what the program itself writes (`plumbline generate`).
//!
//! Deliberately absent: signing, uploading, and a static program.

mod archive;
mod deb;
mod elf;
mod oci;
mod parts;
mod product;
mod staged;
mod sums;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub use elf::{GLIBC_OF_DEBIAN_12, Needs};
pub use product::Product;

/// Writes every package into a folder, which is made; returns their paths, the checksums last.
///
/// # Errors
/// When the program does not run or needs what is not known, or a file cannot be read or written.
pub fn write_all(product: &Product<'_>, output: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(output).with_context(|| format!("cannot make {}", output.display()))?;
    let package = parts::Package::of(product.metadata, "plumbline")?;
    let list = parts::cyclone_dx(product, &package)?;
    let needs = elf::Needs::of(product.program)?;
    needs.run_on_debian_12()?;
    let files = staged::of_system(product, &package)?;
    let machine = &needs.machine;
    let (name, version) = (&package.name, &package.version);
    let unpacked = archive::tar(&staged::of_archive(&files, &package), product.time)?;
    let packed = archive::gzip(&unpacked, product.effort)?;
    let written = [
        (
            format!("{name}_{version}_{}.deb", machine.debian),
            deb::write(&package, &files, &needs, product)?,
        ),
        (
            format!("{name}-{version}-{}-oci.tar", machine.oci),
            oci::write(&package, &files, &needs, product)?,
        ),
        (format!("{name}-{version}-{}-linux.tar.gz", machine.rust), packed),
        (format!("{name}-{version}.cdx.json"), list),
    ];
    let mut paths = Vec::new();
    for (name, content) in written {
        let path = output.join(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        paths.push(path);
    }
    paths.push(sums::write(&paths, output)?);
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_files_and_time_yield_the_same_bytes() {
        let own = std::env::current_exe().expect("it runs");
        let metadata = json!({
            "workspace_members": ["p"],
            "packages": [{"id": "p", "name": "p", "version": "1.2.3", "license": "Apache-2.0"}],
        });
        let package = parts::Package::of(&metadata, "p").expect("it is there");
        let needs = elf::Needs::of(&own).expect("it is a program");
        let files = [archive::File::program("usr/bin/p", "p"), archive::File::plain("a", "b")];
        let turned = [files[1].clone(), files[0].clone()];
        let of = |time| Product {
            program: &own,
            workspace: Path::new("."),
            metadata: &metadata,
            time,
            effort: 6,
        };
        for write in [deb::write, oci::write] {
            let written = |files: &[archive::File], time| {
                write(&package, files, &needs, &of(time)).expect("it is written")
            };
            assert!(written(&files, 7) == written(&files, 7));
            assert!(written(&files, 7) != written(&files, 8), "the time is in it");
        }
        let tar = |files| archive::tar(files, 7).expect("it is written");
        assert_eq!(tar(&files), tar(&turned), "files are in the order of their paths");
    }
}
