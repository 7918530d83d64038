//! The pages of the site: which documents there are, in which order, and where each lies.
//!
//! The order of `docs/` is that of the table in README.md, which a test holds to be complete; all
//! else follows from folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::markdown;

/// Documents by their path from the workspace's folder, with `/`.
pub struct Pages(BTreeMap<String, String>);

impl Pages {
    /// Reads the documents of a workspace.
    ///
    /// # Errors
    /// When a folder or a document cannot be read.
    pub fn of(workspace: &Path) -> Result<Pages> {
        let mut found = Vec::new();
        collect(workspace, workspace, &mut found)?;
        let read = |path: String| {
            let text = fs::read_to_string(workspace.join(&path));
            Ok((path.clone(), text.with_context(|| format!("cannot read {path}"))?))
        };
        Ok(Pages(found.into_iter().map(read).collect::<Result<_>>()?))
    }

    /// What mdBook is given, by the path below its source folder: the summary, the pages, and every
    /// other file to which one of them links.
    ///
    /// # Errors
    /// When a file to which a page links cannot be read.
    pub fn files(&self, workspace: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
        let mut files = vec![("SUMMARY.md".into(), self.summary()?.into_bytes())];
        let mut others = BTreeSet::new();
        for (path, text) in &self.0 {
            files.push((of_site(path).into(), self.linked(path, text, &mut others).into_bytes()));
        }
        for path in others {
            let content = fs::read(workspace.join(&path));
            let content = content.with_context(|| format!("a page links to {path}"))?;
            files.push((path.into(), content));
        }
        Ok(files)
    }

    /// Holds that the search finds every page, and that its headings have the anchors that they
    /// have on a forge.
    ///
    /// # Errors
    /// When the index of the search lacks a page, or a page an anchor.
    pub fn are_found(&self, site: &Path) -> Result<()> {
        // A part of its name changes with its content.
        let names =
            fs::read_dir(site)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut indices = names.filter(|name| name.starts_with("searchindex"));
        let index = indices.next().context("the site has no index for its search")?;
        let index = fs::read_to_string(site.join(index))?;
        for (path, text) in &self.0 {
            let page = of_site(path).replace(".md", ".html");
            if !index.contains(&format!("\"{page}#")) {
                bail!("the search does not find {page}");
            }
            let built = fs::read_to_string(site.join(&page))?;
            for anchor in markdown::anchors(text) {
                if !built.contains(&format!("id=\"{anchor}\"")) {
                    bail!("{page} has no anchor #{anchor}, which {path} has on a forge");
                }
            }
        }
        Ok(())
    }

    /// A text with links to pages as the site has them; what else it links to is collected.
    fn linked(&self, path: &str, text: &str, others: &mut BTreeSet<String>) -> String {
        let mut out = text.to_owned();
        for range in markdown::targets(text).into_iter().rev() {
            let link = &text[range.clone()];
            let (target, _) = link.split_once('#').unwrap_or((link, ""));
            if target.is_empty() || link.contains(':') {
                continue;
            }
            let Some(found) = joined(path, target) else { continue };
            if self.0.contains_key(&found) {
                let end = range.start + target.len();
                out.replace_range(range.start..end, &of_site(target));
            } else {
                others.insert(found);
            }
        }
        out
    }

    /// The order of all pages, as mdBook reads it.
    fn summary(&self) -> Result<String> {
        let mut left: BTreeSet<&str> = self.0.keys().map(String::as_str).collect();
        let mut out = String::from("# Summary\n\n");
        self.list(&mut out, &mut left, [FIRST], "")?;
        for (title, prefix) in PARTS {
            out += &format!("\n# {title}\n\n");
            let mut paths: Vec<&str> = match *prefix {
                "docs/" => self.ordered(),
                prefix => left.iter().copied().filter(|path| path.starts_with(prefix)).collect(),
            };
            // What a folder says of all in it comes first.
            paths.sort_by_key(|path| **path != format!("{prefix}README.md"));
            paths.retain(|path| left.contains(path));
            self.list(&mut out, &mut left, paths, "- ")?;
        }
        Ok(out)
    }

    /// Appends lines for pages, which are left over no more.
    fn list<'a>(
        &self,
        out: &mut String,
        left: &mut BTreeSet<&'a str>,
        paths: impl IntoIterator<Item = &'a str>,
        mark: &str,
    ) -> Result<()> {
        for path in paths {
            let text = self.0.get(path).with_context(|| format!("{path} is absent"))?;
            let titles = markdown::headings(text);
            let title = titles.first().with_context(|| format!("{path} has no heading"))?;
            *out += &format!("{mark}[{title}]({})\n", of_site(path));
            left.remove(path);
        }
        Ok(())
    }

    /// The documents of `docs/` in the order of README.md.
    fn ordered(&self) -> Vec<&str> {
        let readme = self.0.get(FIRST).map(String::as_str).unwrap_or_default();
        let links = markdown::targets(readme).into_iter().map(|range| &readme[range]);
        let mut seen = BTreeSet::new();
        let documents = links.filter(|link| link.starts_with("docs/") && link.ends_with(".md"));
        documents.filter(|link| seen.insert(*link)).collect()
    }
}

/// A page's path in the site: what stands for a folder is its `index`.
fn of_site(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(folder) => format!("{folder}index.md"),
        None => path.to_owned(),
    }
}

/// The path to which a link of a document leads; none where it leads out of the workspace.
fn joined(document: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// The Markdown files of a folder and of those in it, but for what is generated or a template.
fn collect(workspace: &Path, folder: &Path, found: &mut Vec<String>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {folder:?}"))?;
    for entry in entries {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let is_kept = !name.starts_with('.') && !LEFT_OUT.contains(&name.as_str());
        if path.is_dir() && is_kept {
            collect(workspace, &path, found)?;
        } else if name.ends_with(".md") {
            let path = path.strip_prefix(workspace)?.to_string_lossy().into_owned();
            found.push(path);
        }
    }
    Ok(())
}

/// The page with which the site begins.
const FIRST: &str = "README.md";

/// The parts of the site, and where the documents of each lie; the last has what is left.
const PARTS: &[(&str, &str)] = &[
    ("Using it", "docs/"),
    ("Functions and their keys", "crates/functions/"),
    ("Ports and their keys", "crates/ports/"),
    ("Devices and their keys", "crates/devices/"),
    ("Methods and their keys", "crates/methods/"),
    ("Controllers and their keys", "crates/controllers/"),
    ("Protocols", "crates/protocols/"),
    ("Results", "results/"),
    ("What goes with it", "contrib/"),
    ("Changing it", ""),
];

/// Folders without documents of the project.
const LEFT_OUT: &[&str] = &["target", "runs", "templates", "fuzz"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invocation::workspace;

    #[test]
    fn every_document_is_a_page_and_stands_in_the_summary_once() {
        let pages = Pages::of(&workspace()).expect("the documents are read");
        let summary = pages.summary().expect("each has a heading");
        let listed: Vec<&str> =
            markdown::targets(&summary).into_iter().map(|range| &summary[range]).collect();
        let expected: BTreeSet<String> = pages.0.keys().map(|path| of_site(path)).collect();
        assert_eq!(listed.len(), expected.len(), "each once: {summary}");
        assert!(listed.iter().all(|page| expected.contains(*page)), "{summary}");
        let documents = fs::read_dir(workspace().join("docs")).expect("it is there");
        for entry in documents.map(|entry| entry.expect("it is read").file_name()) {
            let name = entry.to_string_lossy().into_owned();
            let page = format!("docs/{name}");
            assert!(!name.ends_with(".md") || listed.contains(&page.as_str()), "{page}");
        }
        for page in ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "results/index.md"] {
            assert!(listed.contains(&page), "{page}: {summary}");
        }
        assert_eq!(listed[0], "index.md");
        assert!(listed.iter().all(|page| !page.contains("templates")), "{summary}");
    }

    #[test]
    fn links_lead_to_pages_as_the_site_has_them_and_other_files_go_along() {
        let text = "[a](../README.md#x) [b](b.md) [c](c.svg#y) [d](https://e.f/README.md) [e](#g)";
        let known = ["README.md", "docs/a.md", "docs/b.md"];
        let pages = Pages(known.map(|path| (path.to_owned(), text.to_owned())).into());
        let mut others = BTreeSet::new();
        let linked = pages.linked("docs/a.md", text, &mut others);
        let expected =
            "[a](../index.md#x) [b](b.md) [c](c.svg#y) [d](https://e.f/README.md) [e](#g)";
        assert_eq!(linked, expected);
        assert_eq!(others.into_iter().collect::<Vec<_>>(), ["docs/c.svg"]);
        let files = Pages::of(&workspace()).and_then(|pages| pages.files(&workspace()));
        let files = files.expect("what is linked is there");
        for path in ["docs/run.schema.json", "docs/overview.svg", "LICENSE"] {
            assert!(files.iter().any(|(known, _)| known == Path::new(path)), "{path}");
        }
    }
}
