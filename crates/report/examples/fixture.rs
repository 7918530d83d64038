//! Renders the fixture of the tests, or another record, into a folder, to be looked at in a browser:
//! `cargo run -p report --example fixture -- FOLDER [RUN.JSON]`.

use std::path::{Path, PathBuf};

#[path = "../tests/fixture/mod.rs"]
mod fixture;

fn main() -> Result<(), report::ReportError> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| ".".into()));
    let record = match arguments.next() {
        Some(file) => report::read(Path::new(&file))?,
        None => fixture::record(),
    };
    for path in report::export_all(&record, &folder)? {
        println!("{}", path.display());
    }
    let html = report::EXPORTERS.iter().find(|e| e.name == "html").expect("an exporter");
    let failed = (html.render)(&fixture::failed_check())?;
    report::write_whole(&folder.join("failed.html"), &failed)?;
    print!("{}", report::terminal::render(&record, 100));
    Ok(())
}
