//! A Debian package (deb(5)): an `ar` archive of its version, its control files and its files.

use anyhow::{Result, bail};
use md5::{Digest, Md5};

use crate::archive::{File, gzip, tar};
use crate::elf::Needs;
use crate::parts::Package;
use crate::product::Product;
use crate::sums::hexadecimal;

/// A package of the files.
///
/// # Errors
/// When the program needs a library of which it is not known which package has it.
pub fn write(
    package: &Package,
    files: &[File],
    needs: &Needs,
    product: &Product<'_>,
) -> Result<Vec<u8>> {
    let (time, effort) = (product.time, product.effort);
    let regular = || files.iter().filter(|file| !file.path.ends_with('/'));
    let sums: String = regular()
        .map(|file| format!("{}  {}\n", hexadecimal(&Md5::digest(&file.content)), file.path))
        .collect();
    let control = control(package, &regular().collect::<Vec<_>>(), needs)?;
    // What lies in /etc belongs to who runs the machine: dpkg keeps what was changed there.
    let kept: String = regular()
        .filter(|file| file.path.starts_with("etc/"))
        .map(|file| format!("/{}\n", file.path))
        .collect();
    let mut control = vec![
        File::plain("control", control),
        File::plain("md5sums", sums),
        File::plain("conffiles", kept),
    ];
    control.extend(SCRIPTS.iter().map(|(name, text)| File::program(*name, *text)));
    let mut out = b"!<arch>\n".to_vec();
    for (name, content) in [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&tar(&control, time)?, effort)?),
        ("data.tar.gz", gzip(&tar(files, time)?, effort)?),
    ] {
        let size = content.len();
        out.extend(
            format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 100_644).bytes(),
        );
        out.extend(content);
        if size % 2 == 1 {
            out.push(b'\n');
        }
    }
    Ok(out)
}

fn control(package: &Package, files: &[&File], needs: &Needs) -> Result<String> {
    let kibibytes: usize = files.iter().map(|file| file.content.len().div_ceil(1024)).sum();
    let depends = depends(needs)?;
    let depends = if depends.is_empty() { String::new() } else { format!("Depends: {depends}\n") };
    Ok(format!(
        "Package: {}\nVersion: {}\nArchitecture: {}\nMaintainer: {}\n\
         Installed-Size: {kibibytes}\n{depends}Recommends: iproute2\nSection: net\n\
         Priority: optional\nDescription: {}\n{DESCRIPTION}",
        package.name,
        package.version,
        needs.machine.debian,
        maintainer(package),
        package.description,
    ))
}

/// The packages whose libraries the program needs.
fn depends(needs: &Needs) -> Result<String> {
    let mut packages: Vec<String> = Vec::new();
    for library in &needs.libraries {
        let of = match library.as_str() {
            "libgcc_s.so.1" => "libgcc-s1".to_owned(),
            name if OF_GLIBC.iter().any(|known| name.starts_with(known)) => {
                let version = needs.glibc.as_deref();
                version.map_or("libc6".into(), |version| format!("libc6 (>= {version})"))
            }
            unknown => bail!("it is not known which package has {unknown}"),
        };
        if !packages.contains(&of) {
            packages.push(of);
        }
    }
    packages.sort();
    Ok(packages.join(", "))
}

/// What dpkg runs: systemd is told of the unit, daemons are stopped before the program goes, and
/// nothing is left after a purge but what people have put into /etc.
const SCRIPTS: &[(&str, &str)] = &[
    ("postinst", include_str!("../files/postinst")),
    ("prerm", include_str!("../files/prerm")),
    ("postrm", include_str!("../files/postrm")),
];

/// How libraries of the GNU C library begin.
const OF_GLIBC: &[&str] =
    &["libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux"];

/// Who maintains the package: the authors, at an address that reaches nobody (RFC 2606), because
/// the project has none of its own.
pub fn maintainer(package: &Package) -> String {
    format!("{} <plumbline@example.invalid>", package.authors)
}

/// The long description, as control files have it.
const DESCRIPTION: &str =
    " Plumbline has a mobile gateway, a router, a switch and a carrier-grade NAT
 in software, and the bench that checks them against models, frame by frame,
 and measures them. One scenario file and one command yield a report.
 .
 The unit plumbline@.service runs a function as a daemon, by a file in
 /etc/plumbline. It is neither enabled nor started by the installation.
";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn needed_libraries_become_packages_and_unknown_ones_an_error() {
        let own = std::env::current_exe().expect("it runs");
        let needs = |names: &[&str]| Needs {
            libraries: names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(),
            glibc: Some("2.34".into()),
            ..Needs::of(&own).expect("a program")
        };
        let names = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];
        assert_eq!(depends(&needs(&names)).expect("known"), "libc6 (>= 2.34), libgcc-s1");
        assert_eq!(depends(&needs(&[])).expect("nothing"), "");
        assert!(depends(&needs(&["libfoo.so.1"])).is_err());
    }
}
