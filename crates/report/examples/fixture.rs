//! Renders the fixture of the tests, or another record, into a folder, to be looked at in a
//! browser: `cargo run -p report --example fixture -- FOLDER [RUN.JSON]`.

use std::path::{Path, PathBuf};

use measure::record::RunRecord;
use report::ReportError;

#[path = "../tests/suite/fixture/mod.rs"]
mod fixture;

/// The page of a record.
fn html(record: &RunRecord) -> Result<Vec<u8>, ReportError> {
    let exporter = report::EXPORTERS.iter().find(|exporter| exporter.name == "html");
    exporter.map_or(Ok(Vec::new()), |exporter| (exporter.render)(record))
}

fn main() -> Result<(), ReportError> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| ".".into()));
    let record = match arguments.next() {
        Some(file) => report::read(Path::new(&file))?,
        None => fixture::record(),
    };
    for path in report::export_all(&record, &folder)? {
        println!("{}", path.display());
    }
    for (name, record) in fixture::full::all() {
        let page = html(&record)?;
        report::write_whole(&folder.join(format!("{name}.html")), &page)?;
    }
    use fixture::published;
    for record in [published::tables(), published::sizes(), published::floods(), published::added()]
    {
        let file = folder.join(format!("{}.html", record.scenario.name));
        report::write_whole(&file, &html(&record)?)?;
    }
    let runs = [fixture::full::sizes(), fixture::full::sizes()];
    report::write_whole(&folder.join("runs.html"), &report::comparison_page(&runs))?;
    let failed = html(&fixture::failed_check())?;
    report::write_whole(&folder.join("failed.html"), &failed)?;
    print!("{}", report::terminal::render(&record, 100));
    Ok(())
}
