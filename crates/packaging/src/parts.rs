//! What is in the program: its package, every crate that is linked into it, their licences, as
//! CycloneDX 1.5 and as texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::product::Product;
use crate::sums::sha256;

/// The package that is handed on.
#[derive(Clone, Debug)]
pub struct Package {
    /// Name of the package and of its program.
    pub name: String,
    /// Version of the package.
    pub version: String,
    /// Description in one line.
    pub description: String,
    /// Licence, as SPDX says it.
    pub license: String,
    /// Authors, as the manifest names them.
    pub authors: String,
    /// Identifier in `cargo metadata`.
    id: String,
}

impl Package {
    /// A package of the workspace.
    ///
    /// # Errors
    /// When the workspace has none of this name.
    pub fn of(metadata: &Value, name: &str) -> Result<Package> {
        let members = metadata["workspace_members"].as_array().context("no workspace")?;
        let found =
            packages(metadata).find(|one| one["name"] == name && members.contains(&one["id"]));
        let found = found.with_context(|| format!("the workspace has no package {name}"))?;
        let authors = found["authors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Ok(Package {
            name: text(found, "name"),
            version: text(found, "version"),
            description: text(found, "description"),
            license: text(found, "license"),
            authors: authors.collect::<Vec<_>>().join(", "),
            id: text(found, "id"),
        })
    }
}

/// Crates that are linked into the program, by their identifier, and which of them each needs.
fn linked(metadata: &Value, package: &Package) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let nodes = metadata["resolve"]["nodes"].as_array().context("nothing is resolved")?;
    let by_id: BTreeMap<&str, &Value> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let mut linked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut ahead = vec![package.id.clone()];
    while let Some(id) = ahead.pop() {
        if linked.contains_key(&id) {
            continue;
        }
        let node = by_id.get(id.as_str()).with_context(|| format!("{id} is not resolved"))?;
        // What only builds or tests need is not in the program.
        let is_linked = |dependency: &&Value| {
            let mut kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            kinds.any(|kind| kind["kind"].is_null())
        };
        let needed = node["deps"].as_array().into_iter().flatten().filter(is_linked);
        let needed: BTreeSet<String> = needed.map(|dependency| text(dependency, "pkg")).collect();
        ahead.extend(needed.iter().cloned());
        linked.insert(id, needed);
    }
    Ok(linked)
}

/// The list of parts, in JSON.
///
/// # Errors
/// When the metadata has no resolved dependencies, or the lock file cannot be read.
pub fn cyclone_dx(product: &Product<'_>, package: &Package) -> Result<Vec<u8>> {
    let linked = linked(product.metadata, package)?;
    let sums = sums(&fs::read_to_string(product.workspace.join("Cargo.lock"))?);
    let all: Vec<&Value> = packages(product.metadata)
        .filter(|one| one["id"].as_str().is_some_and(|id| linked.contains_key(id)))
        .collect();
    let reference: BTreeMap<&str, String> =
        all.iter().filter_map(|one| Some((one["id"].as_str()?, reference_of(one)))).collect();
    let component = |one: &&Value| {
        let mut component = json!({
            "type": "library",
            "bom-ref": reference_of(one),
            "name": one["name"],
            "version": one["version"],
            "scope": "required",
        });
        if !one["source"].is_null() {
            component["purl"] = reference_of(one).into();
        }
        if let Some(license) = one["license"].as_str() {
            // Cargo's old form has a slash for what SPDX calls OR.
            let expression = license.replace('/', " OR ");
            component["licenses"] = json!([{"expression": expression}]);
        }
        if let Some(sum) = sums.get(&(text(one, "name"), text(one, "version"))) {
            component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
        }
        component
    };
    let own = |one: &&&Value| one["id"] == package.id;
    let mut main = all.iter().find(own).map(component).context("the package is linked")?;
    main["type"] = "application".into();
    let components: Vec<Value> = all.iter().filter(|one| !own(one)).map(component).collect();
    let needs = |(id, needs): (&String, &BTreeSet<String>)| {
        let needs: Vec<&String> =
            needs.iter().filter_map(|id| reference.get(id.as_str())).collect();
        json!({"ref": reference.get(id.as_str()), "dependsOn": needs})
    };
    let dependencies: Vec<Value> = linked.iter().map(needs).collect();
    let digest = sha256(&serde_json::to_vec(&components)?);
    let mut text = serde_json::to_vec_pretty(&json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": format!(
            "urn:uuid:{}-{}-5{}-8{}-{}",
            &digest[..8], &digest[8..12], &digest[13..16], &digest[17..20], &digest[20..32]
        ),
        "version": 1,
        "metadata": {"component": main, "tools": {"components": [
            {"type": "application", "name": "cargo xtask dist", "version": package.version}
        ]}},
        "components": components,
        "dependencies": dependencies,
    }))?;
    text.push(b'\n');
    Ok(text)
}

/// The licence of the program, and the licences and notices that lie beside the crates of others,
/// each text once.
///
/// # Errors
/// When the metadata has no resolved dependencies, or a text cannot be read.
pub fn notices(product: &Product<'_>, package: &Package) -> Result<String> {
    let linked = linked(product.metadata, package)?;
    let own = fs::read_to_string(product.workspace.join("LICENSE"))?;
    let own_name = format!("{} {} ({})", package.name, package.version, package.license);
    let mut texts = BTreeMap::from([(own.trim().to_owned(), vec![own_name])]);
    let others = packages(product.metadata).filter(|one| !one["source"].is_null());
    for one in others.filter(|one| one["id"].as_str().is_some_and(|id| linked.contains_key(id))) {
        let manifest = text(one, "manifest_path");
        let name =
            format!("{} {} ({})", text(one, "name"), text(one, "version"), text(one, "license"));
        let folder = Path::new(&manifest).parent().context("a manifest lies in a folder")?;
        let mut files: Vec<_> = fs::read_dir(folder)?.filter_map(Result::ok).collect();
        files.sort_by_key(std::fs::DirEntry::file_name);
        let mut texts_of_one = 0;
        for file in files.into_iter().filter(|file| file.path().is_file()) {
            let upper = file.file_name().to_string_lossy().to_uppercase();
            if NOTICES.iter().any(|begin| upper.starts_with(begin)) {
                let text = String::from_utf8_lossy(&fs::read(file.path())?).replace('\r', "");
                texts.entry(text.trim().to_owned()).or_default().push(name.clone());
                texts_of_one += 1;
            }
        }
        if texts_of_one == 0 {
            let text = "No licence lies beside the crate; its manifest names it.".to_owned();
            texts.entry(text).or_default().push(name);
        }
    }
    let mut all: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, of)| (of, text)).collect();
    all.sort();
    let one =
        |(of, text): &(Vec<String>, String)| format!("{}\n\n{text}\n\n{RULE}\n\n", of.join("\n"));
    Ok(all.iter().map(one).collect())
}

/// Checksums of crates in a lock file, by name and version.
fn sums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |entry: &str, key: &str| {
        let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
        line.strip_suffix('"').map(str::to_owned)
    };
    let of = |entry: &str| {
        Some(((value(entry, "name")?, value(entry, "version")?), value(entry, "checksum")?))
    };
    lock.split("[[package]]").filter_map(of).collect()
}

/// The name of a crate in the list: that of the registry (a package URL), or of this workspace.
fn reference_of(package: &Value) -> String {
    let place = if package["source"].is_null() { "workspace" } else { "pkg:cargo" };
    format!("{place}/{}@{}", text(package, "name"), text(package, "version"))
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// How files with licences begin.
const NOTICES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE"];

const RULE: &str = "------------------------------------------------------------------------";
