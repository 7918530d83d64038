//! Renders the fixture of the tests into a folder, to be looked at in a browser:
//! `cargo run -p report --example fixture -- FOLDER`.

use std::path::PathBuf;

#[path = "../tests/fixture/mod.rs"]
mod fixture;

fn main() -> Result<(), report::ReportError> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    for path in report::export_all(&fixture::record(), &folder)? {
        println!("{}", path.display());
    }
    let failed = (report::EXPORTERS[2].render)(&fixture::failed_check())?;
    report::write_whole(&folder.join("failed.html"), &failed)?;
    print!("{}", report::terminal::render(&fixture::record(), 110));
    Ok(())
}
