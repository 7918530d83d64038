//! Follows the links of pages that are built: each leads to a file of the site and, where it has an
//! anchor, to an element with that name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// What was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Pages that were read.
    pub pages: usize,
    /// Links that lead to a file of the site.
    pub links: usize,
}

/// What of a page matters here.
#[derive(Default)]
struct Page {
    /// Names of its elements.
    anchors: BTreeSet<String>,
    /// Where it leads to, as it is written.
    links: Vec<String>,
}

/// Follows every link within a site.
///
/// # Errors
/// When a page cannot be read, or a link leads nowhere; the text names all of these.
pub fn check(site: &Path) -> Result<Checked> {
    let mut pages = BTreeMap::new();
    collect(site, &mut pages)?;
    let mut links = 0;
    let mut findings = Vec::new();
    for (path, page) in &pages {
        for link in page.links.iter().filter(|link| !link.contains(':')) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match target {
                "" => path.clone(),
                target => path.parent().unwrap_or(site).join(target),
            };
            links += 1;
            let Ok(target) = target.canonicalize() else {
                findings.push(format!("{}: {link}: there is no such file", path.display()));
                continue;
            };
            let to = pages.get(&target);
            if !anchor.is_empty() && to.is_some_and(|to| !to.anchors.contains(anchor)) {
                findings.push(format!("{}: {link}: there is no such place", path.display()));
            }
        }
    }
    if !findings.is_empty() {
        bail!("links of the site lead nowhere:\n  {}", findings.join("\n  "));
    }
    Ok(Checked { pages: pages.len(), links })
}

/// Reads the pages of a folder and of those in it.
fn collect(folder: &Path, pages: &mut BTreeMap<PathBuf, Page>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {folder:?}"))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, pages)?;
        } else if path.extension().is_some_and(|end| end == "html") {
            let page = read(&fs::read_to_string(&path)?);
            pages.insert(path.canonicalize()?, page);
        }
    }
    Ok(())
}

/// What matters of a page: attributes of tags, without what scripts and comments say.
fn read(text: &str) -> Page {
    let mut page = Page::default();
    let mut rest = text;
    while let Some((_, inside)) = rest.split_once('<') {
        if let Some(comment) = inside.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let name = inside.split(|letter: char| !letter.is_ascii_alphanumeric()).next();
        let end = attributes(inside, &mut page);
        rest = &inside[end..];
        // Where the page of an error is shown nobody knows: its links are from the top.
        if name == Some("base") {
            return Page::default();
        }
        if let Some(name @ ("script" | "style")) = name {
            rest = rest.split_once(&format!("</{name}")).map_or("", |(_, rest)| rest);
        }
    }
    page
}

/// Takes the attributes of a tag; returns where it ends.
fn attributes(inside: &str, page: &mut Page) -> usize {
    let mut at = 0;
    loop {
        let rest = &inside[at..];
        let Some(stop) = rest.find(['>', '"']) else { return inside.len() };
        if rest[stop..].starts_with('>') {
            return at + stop + 1;
        }
        let name = rest[..stop].trim_end_matches('=').rsplit([' ', '\n']).next().unwrap_or("");
        let value = &rest[stop + 1..];
        let length = value.find('"').unwrap_or(value.len());
        let text = value[..length].replace("&amp;", "&");
        match name {
            "href" | "src" => page.links.push(text),
            "id" | "name" => drop(page.anchors.insert(text)),
            _ => {}
        }
        at = (at + stop + length + 2).min(inside.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<!doctype html><!-- <a href="none.html"> --><h1 id="top">a &lt; b</h1>
<script>let x = "<a href='none.html'>";</script><code>href="none.html"</code>
<a class="x > y" href="sub/other.html#there" id="here">o</a><a href="https://a.b/">w</a>
<img src="picture.svg">"#;

    fn site() -> PathBuf {
        let name = format!("xtask-site-{}-{:?}", std::process::id(), std::thread::current().id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("sub")).expect("a folder for temporary files");
        fs::write(folder.join("index.html"), PAGE).expect("written");
        fs::write(folder.join("picture.svg"), "").expect("written");
        folder
    }

    #[test]
    fn links_that_lead_somewhere_are_counted() {
        let site = site();
        let other = r##"<h2 id="there">t</h2><a href="../index.html#top">b</a><a href="#there">"##;
        fs::write(site.join("sub/other.html"), other).expect("written");
        assert_eq!(check(&site).expect("all lead somewhere"), Checked { pages: 2, links: 4 });
        fs::remove_dir_all(site).expect("it was made here");
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        let site = site();
        fs::write(site.join("sub/other.html"), r#"<a href="gone.html">"#).expect("written");
        let told = check(&site).expect_err("two lead nowhere").to_string();
        assert!(told.contains("sub/other.html#there: there is no such place"), "{told}");
        assert!(told.contains("gone.html: there is no such file"), "{told}");
        fs::remove_dir_all(site).expect("it was made here");
    }
}
