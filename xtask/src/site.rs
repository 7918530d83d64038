//! `cargo xtask site`: the documents as a site that can be searched, made by mdBook.
//!
//! Documents lie in the site as they lie in the workspace, so that a link between them, to a record
//! or to a source file is the same on a forge and in the site. What of other files is linked goes
//! along. mdBook is a program of its own and no dependency: it is installed when it is absent, into
//! `target/tools`. In the end every link of every page is followed (`links`).
//!
//! Not here: publishing; `contrib/gitlab/pages.yml` does that.

mod links;
mod pages;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use self::pages::Pages;
use crate::invocation::{Invocation, workspace};

/// Where the site is written.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the site; what is in it is replaced
    #[arg(long, value_name = "FOLDER", default_value = "target/site")]
    output: PathBuf,
}

/// Makes the site and follows its links.
///
/// # Errors
/// When mdBook cannot be installed or fails, a document cannot be read, or a link leads nowhere.
pub fn run(args: &Args) -> Result<()> {
    let mdbook = mdbook()?;
    let pages = Pages::of(&workspace())?;
    let book = workspace().join("target/site-source");
    if book.exists() {
        fs::remove_dir_all(&book).with_context(|| format!("cannot clear {}", book.display()))?;
    }
    let mut files = pages.files(&workspace())?;
    files.push(("../book.toml".into(), SETTINGS.into()));
    files.push((STYLE.0.into(), STYLE.1.into()));
    for (path, content) in files {
        let path = book.join("src").join(path);
        fs::create_dir_all(path.parent().unwrap_or(&book))?;
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let output = workspace().join(&args.output);
    Invocation::new(mdbook.to_string_lossy(), "build --dest-dir")
        .argument(output.to_string_lossy())
        .argument(book.to_string_lossy())
        .run()?;
    let checked = links::check(&output)?;
    pages.are_found(&output)?;
    println!(
        "{} pages, {} links that lead somewhere: {}",
        checked.pages,
        checked.links,
        output.join("index.html").display()
    );
    Ok(())
}

/// The program, of the version that is pinned here; it is installed if it is absent.
fn mdbook() -> Result<PathBuf> {
    let root = workspace().join("target/tools");
    let program = root.join("bin/mdbook");
    let version = |program: &Path| {
        let told = Invocation::new(program.to_string_lossy(), "--version").output();
        told.is_ok_and(|told| told.trim() == format!("mdbook v{VERSION}"))
    };
    if !program.is_file() || !version(&program) {
        println!(
            "installing mdBook {VERSION} from crates.io into {}; this builds it and some hundred \
             crates, once",
            root.display()
        );
        let install = "install mdbook --locked --force --no-default-features --features search";
        Invocation::new("cargo", install)
            .argument("--version")
            .argument(VERSION)
            .argument("--root")
            .argument(root.to_string_lossy())
            .run()
            .context("mdBook is needed for the site, and crates.io for mdBook")?;
    }
    if !version(&program) {
        bail!("{} is not mdBook {VERSION}; remove it and try again", program.display());
    }
    Ok(program)
}

/// Of mdBook. Its command line and the form of its settings are what this file uses.
const VERSION: &str = "0.5.4";

/// mdBook's settings. Documents are taken as they are: no `{{…}}` in them, no typographic dashes
/// for those of options, and no button that sends code away.
const SETTINGS: &str = r#"[book]
title = "Plumbline"
description = "Carrier network functions in software, and the test bench that proves them"
language = "en"

[build]
use-default-preprocessors = false
create-missing = false

[output.html]
no-section-label = true
smart-punctuation = false
additional-css = ["site.css"]
fold = { enable = true }
playground = { runnable = false }
print = { enable = false }
search = { use-boolean-and = true, limit-results = 50 }
"#;

/// What a narrow screen needs beyond mdBook's own style: long names in code break.
const STYLE: (&str, &str) = ("../site.css", include_str!("site/site.css"));
