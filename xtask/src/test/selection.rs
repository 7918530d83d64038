//! The packages that a run of the tests is about: all, or those that a change concerns.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::invocation::{Invocation, workspace};

/// Packages, as cargo's flags name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Those that are linted.
    pub linted: Vec<String>,
    /// Those whose tests run.
    pub tested: Vec<String>,
    /// Those whose tests are left out although a changed package is below them.
    pub left_out: Vec<String>,
}

/// A package of the workspace.
#[derive(Clone, Debug)]
struct Package {
    name: String,
    folder: PathBuf,
    /// Folders of the packages that it depends on, in its tests or outside of them.
    dependencies: Vec<PathBuf>,
}

impl Selection {
    /// What a change since a commit concerns: lints of every package that depends on a changed one,
    /// tests of the changed ones and of those that depend on them directly.
    ///
    /// # Errors
    /// When git or cargo cannot say, or nothing has changed.
    pub fn since(commit: &str) -> Result<Selection> {
        let changed = changed_files(commit)?;
        if changed.is_empty() {
            bail!(
                "no file has changed since {commit}; name an older commit: \
                 `cargo xtask test --changed HEAD~1`"
            );
        }
        let metadata =
            Invocation::new("cargo", "metadata --no-deps --format-version 1").output()?;
        let metadata = serde_json::from_str(&metadata).context("cargo metadata is JSON")?;
        Ok(select(&packages(&metadata), &changed))
    }

    /// The flags of cargo for these packages.
    pub fn flags(packages: &[String]) -> String {
        packages.iter().map(|name| format!("-p {name}")).collect::<Vec<_>>().join(" ")
    }
}

/// Files that differ from those of a commit, new ones among them.
fn changed_files(commit: &str) -> Result<Vec<PathBuf>> {
    let differing = Invocation::new("git", "diff --name-only").argument(commit).output()?;
    let new = Invocation::new("git", "ls-files --others --exclude-standard").output()?;
    Ok(differing.lines().chain(new.lines()).map(|name| workspace().join(name)).collect())
}

fn packages(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let package = |package: &Value| {
        let dependencies = package["dependencies"].as_array().map(Vec::as_slice);
        let paths = dependencies.unwrap_or_default().iter().filter_map(|one| one["path"].as_str());
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        Package {
            name: text(&package["name"]),
            folder: manifest.parent().unwrap_or(Path::new("")).to_owned(),
            dependencies: paths.map(PathBuf::from).collect(),
        }
    };
    all.iter().map(package).collect()
}

fn select(packages: &[Package], changed: &[PathBuf]) -> Selection {
    // A file belongs to the innermost package around it. One outside of all, such as a document or
    // a scenario, is read by the tests of xtask.
    let owner = |file: &PathBuf| {
        let around = packages.iter().filter(|package| file.starts_with(&package.folder));
        around.max_by_key(|package| package.folder.components().count())
    };
    let touched: BTreeSet<&Path> =
        changed.iter().filter_map(owner).map(|package| package.folder.as_path()).collect();
    let above = |below: &BTreeSet<&Path>| -> BTreeSet<&Path> {
        let is_above = |package: &&Package| {
            package.dependencies.iter().any(|folder| below.contains(folder.as_path()))
        };
        packages.iter().filter(is_above).map(|package| package.folder.as_path()).collect()
    };
    let direct = &touched | &above(&touched);
    let mut all = direct.clone();
    loop {
        let more = &all | &above(&all);
        if more.len() == all.len() {
            break;
        }
        all = more;
    }
    let names = |folders: &dyn Fn(&Package) -> bool| {
        packages.iter().filter(|one| folders(one)).map(|one| one.name.clone()).collect()
    };
    // The rules of the tree are asked whatever has changed.
    let is_tested = |one: &Package| direct.contains(one.folder.as_path()) || one.name == "xtask";
    let is_linted = |one: &Package| all.contains(one.folder.as_path()) || is_tested(one);
    Selection {
        linted: names(&is_linted),
        tested: names(&is_tested),
        left_out: names(&|one| is_linted(one) && !is_tested(one)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies.iter().map(PathBuf::from).collect();
        Package { name: name.into(), folder: folder.into(), dependencies }
    }

    #[test]
    fn a_change_concerns_the_packages_above_it() {
        let tree = [
            package("wire", "/crates/wire", &[]),
            package("router", "/crates/functions/router", &["/crates/wire"]),
            package("model", "/crates/models/router", &["/crates/functions/router"]),
            package("program", "/crates/cli", &["/crates/models/router"]),
            package("units", "/crates/units", &[]),
            package("xtask", "/xtask", &["/crates/units"]),
        ];
        let of = |file: &str| select(&tree, &[PathBuf::from(file)]);
        let router = of("/crates/functions/router/src/lib.rs");
        assert_eq!(router.tested, ["router", "model", "xtask"]);
        assert_eq!(router.linted, ["router", "model", "program", "xtask"]);
        assert_eq!(router.left_out, ["program"]);
        assert_eq!(of("/README.md").linted, ["xtask"]);
        assert_eq!(of("/crates/cli/src/main.rs").tested, ["program", "xtask"]);
        assert_eq!(Selection::flags(&router.tested), "-p router -p model -p xtask");
    }

    #[test]
    fn packages_are_read_from_what_cargo_says() {
        let metadata = serde_json::json!({"packages": [{
            "name": "tables",
            "manifest_path": "/c/tables/Cargo.toml",
            "dependencies": [{"name": "serde"}, {"name": "wire", "path": "/c/wire"}],
        }]});
        let [tables] = &packages(&metadata)[..] else { panic!("one package") };
        assert_eq!(
            (tables.name.as_str(), tables.folder.as_path()),
            ("tables", "/c/tables".as_ref())
        );
        assert_eq!(tables.dependencies, [PathBuf::from("/c/wire")]);
    }
}
