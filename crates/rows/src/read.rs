//! Rows out of files, whatever their form, one after the other.

use std::io::{self, BufRead};
use std::path::Path;
use std::sync::Arc;

use crate::cells::Cells;
use crate::csv::Columns;
use crate::files::{Files, Source};
use crate::form::Form;
use crate::ip_route::{IpRoutes, Route};
use crate::lines::Lines;
use crate::mrt::{Record, Records};
use crate::trouble::{Remarks, Troubles, Unfit};
use crate::{Format, opened, text};

/// A row as a file says it.
#[derive(Debug)]
pub enum Said<'a> {
    /// By keys.
    Cells(&'a Cells<'a>),
    /// As a route, with what the file says of all.
    Route(&'a Route, &'a Cells<'a>),
}

/// Reads all rows of files in their order, and gives each to the table.
///
/// # Errors
/// Files that cannot be read, and rows that are wrong. The table has taken the others.
pub fn read(
    files: &Files,
    form: &Form,
    mut take: impl FnMut(Said<'_>) -> Result<(), Unfit>,
) -> Result<Remarks, Troubles> {
    let mut reading =
        Reading { troubles: Troubles::default(), remarks: Remarks::default(), take: &mut take };
    for source in &files.sources {
        match source.paths() {
            Ok(paths) => paths.iter().for_each(|path| reading.file(path, source, form)),
            Err(error) => reading.troubles.add(source.path.display(), error),
        }
    }
    match reading.troubles.count {
        0 => Ok(reading.remarks),
        _ => Err(reading.troubles),
    }
}

/// What takes a row.
type Take<'a> = &'a mut dyn FnMut(Said<'_>) -> Result<(), Unfit>;

struct Reading<'a> {
    troubles: Troubles,
    remarks: Remarks,
    take: Take<'a>,
}

impl Reading<'_> {
    /// Reads a file, unless there is enough trouble already.
    fn file(&mut self, path: &Path, source: &Source, form: &Form) {
        if self.troubles.are_enough() {
            return;
        }
        let name: Arc<str> = path.display().to_string().into();
        let mut cells = match Cells::new(form, &source.further) {
            Ok(cells) => cells,
            Err(what) => return self.troubles.add(&name, what),
        };
        let (bytes, begin) = match opened::open(path) {
            Ok(opened) => opened,
            Err(error) => return self.troubles.add(&name, error),
        };
        let format = source.format.unwrap_or_else(|| Format::of(path, &begin, form));
        let is_of_routes = matches!(format, Format::IpRoute | Format::Mrt);
        if is_of_routes && !form.takes_routes {
            let what = "holds routes; this table takes text and CSV";
            return self.troubles.add(&name, what);
        }
        let read = match format {
            Format::Text => self.text(&name, bytes, &mut cells),
            Format::Csv => self.csv(&name, bytes, &mut cells),
            Format::IpRoute => self.ip_route(&name, bytes, &cells),
            Format::Mrt => self.mrt(&name, bytes, &cells),
        };
        if let Err(error) = read {
            self.troubles.add(&name, error);
        }
    }

    fn text(
        &mut self,
        file: &Arc<str>,
        bytes: impl BufRead,
        cells: &mut Cells<'_>,
    ) -> io::Result<()> {
        let mut lines = Lines::new(bytes);
        while let Some((line, content)) = lines.next()?
            && !self.troubles.are_enough()
        {
            match content.and_then(|content| text::cells(content, cells)) {
                Ok(false) => {}
                Ok(true) => self.row(file, line, Said::Cells(cells)),
                Err(what) => self.troubles.add(Place(file, line), what),
            }
        }
        Ok(())
    }

    fn csv(
        &mut self,
        file: &Arc<str>,
        bytes: impl BufRead,
        cells: &mut Cells<'_>,
    ) -> io::Result<()> {
        let mut lines = Lines::new(bytes);
        let mut columns = None;
        while let Some((line, content)) = lines.next()?
            && !self.troubles.are_enough()
        {
            let content = match content {
                Ok(content) if content.is_empty() || content.starts_with('#') => continue,
                Ok(content) => content,
                Err(what) => {
                    self.troubles.add(Place(file, line), what);
                    continue;
                }
            };
            let Some(columns) = &columns else {
                match Columns::of(content, cells) {
                    Ok(named) => columns = Some(named),
                    Err(what) => {
                        let what = format!("{what}; the first line names the columns");
                        self.troubles.add(Place(file, line), what);
                        return Ok(());
                    }
                }
                continue;
            };
            match columns.cells(content, cells) {
                Ok(()) => self.row(file, line, Said::Cells(cells)),
                Err(what) => self.troubles.add(Place(file, line), what),
            }
        }
        Ok(())
    }

    fn ip_route(
        &mut self,
        file: &Arc<str>,
        bytes: impl BufRead,
        cells: &Cells<'_>,
    ) -> io::Result<()> {
        let (mut lines, mut routes) = (Lines::new(bytes), IpRoutes::default());
        while let Some((line, content)) = lines.next()?
            && !self.troubles.are_enough()
        {
            match content.and_then(|content| routes.line(line, content)) {
                Ok(read) => read.into_iter().for_each(|read| self.route(file, read, cells)),
                Err(what) => self.troubles.add(Place(file, line), what),
            }
        }
        routes.end().into_iter().for_each(|read| self.route(file, read, cells));
        Ok(())
    }

    fn mrt(&mut self, file: &Arc<str>, bytes: impl BufRead, cells: &Cells<'_>) -> io::Result<()> {
        let mut records = Records::new(bytes);
        while let Some((number, read)) = records.next()?
            && !self.troubles.are_enough()
        {
            match read {
                Ok(Record::Route(route)) => self.route(file, (number, Ok(route)), cells),
                Ok(Record::Peers) => {}
                Ok(Record::Other(what)) => self.remarks.add(file, number, what),
                Err(what) => self.troubles.add(Place(file, number), what),
            }
        }
        Ok(())
    }

    fn route(
        &mut self,
        file: &Arc<str>,
        (line, read): (u64, Result<Route, Unfit>),
        cells: &Cells<'_>,
    ) {
        match read {
            Ok(route) => self.row(file, line, Said::Route(&route, cells)),
            Err(unfit) => self.unfit(file, line, unfit),
        }
    }

    fn row(&mut self, file: &Arc<str>, line: u64, said: Said<'_>) {
        if let Err(unfit) = (self.take)(said) {
            self.unfit(file, line, unfit);
        }
    }

    fn unfit(&mut self, file: &Arc<str>, line: u64, unfit: Unfit) {
        match unfit {
            Unfit::Wrong(what) => self.troubles.add(Place(file, line), what),
            Unfit::Left(reason) => self.remarks.add(file, line, reason),
        }
    }
}

/// A file and a line, or the number of a record.
struct Place<'a>(&'a str, u64);

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::mrt::tests::table;

    const FORM: Form =
        Form { keys: &["prefix", "next-hop", "vrf"], unnamed: 2, takes_routes: true };

    fn all(files: &Files, form: &Form) -> (Vec<String>, Result<Vec<String>, String>) {
        let mut rows = Vec::new();
        let read = read(files, form, |said| {
            let row = match said {
                Said::Cells(cells) => {
                    let values = FORM.keys.map_values(|key| cells.get(key).unwrap_or("-"));
                    values.join(" ")
                }
                Said::Route(route, _) => format!("{}/{}", route.address, route.len),
            };
            match row.contains("left") {
                true => Err(Unfit::Left("rows that are left".to_owned())),
                false => {
                    rows.push(row);
                    Ok(())
                }
            }
        });
        (rows, read.map(|told| told.sentences()).map_err(|told| told.to_string()))
    }

    trait MapValues {
        fn map_values<'a>(&self, of: impl Fn(&str) -> &'a str) -> Vec<&'a str>;
    }

    impl MapValues for &[&str] {
        fn map_values<'a>(&self, of: impl Fn(&str) -> &'a str) -> Vec<&'a str> {
            self.iter().map(|key| of(key)).collect()
        }
    }

    #[test]
    fn files_of_every_form_are_known_by_what_they_hold() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("1"), "# mine\n10.0.0.0/8 a vrf=1\n\n10.1.0.0/16 b # one\n").expect("1");
        fs::write(path("2"), "prefix,next-hop,vrf\r\n10.2.0.0/16,c,2\r\n\"10.3.0.0/16\",,\r\n")
            .expect("2");
        fs::write(path("3"), "10.4.0.0/16 via 192.0.2.1 dev eth0\nlocal 10.0.0.1 dev lo\n")
            .expect("3");
        let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
        zipped.write_all(&table()).expect("memory");
        fs::write(path("4.gz"), zipped.finish().expect("memory")).expect("4");
        let (rows, told) = all(&Files::from(folder.path()), &FORM);
        assert_eq!(
            rows,
            [
                "10.0.0.0/8 a 1",
                "10.1.0.0/16 b -",
                "10.2.0.0/16 c 2",
                "10.3.0.0/16 - -",
                "10.4.0.0/16",
                "10.128.0.0/9",
                "198.51.100.0/24",
                "2001:db8::/32",
            ]
        );
        let told = told.expect("nothing is wrong");
        assert!(told.len() == 1 && told[0].ends_with("3:2: left out: routes of the type `local`"));
    }

    #[test]
    fn what_is_wrong_is_told_by_file_and_line_and_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a");
        let of = |text: &str| {
            fs::write(&file, text).expect("writes");
            all(&Files::from(&*file), &FORM)
        };
        let (rows, told) = of("a b c\n10.0.0.0/8 left\ngood\nx=1\nlast");
        let what = told.expect_err("two lines");
        assert_eq!(rows, ["good - -", "last - -"]);
        assert!(what.contains("a:1: `c` is a word too many"), "{what}");
        assert!(what.contains("a:4: `x` is no key of a row"), "{what}");
        assert!(of(&"x=1\n".repeat(9)).1.expect_err("nine").ends_with("; and 4 more"));
        let many = of(&"x=1\n".repeat(20_000)).1.expect_err("many");
        assert!(many.ends_with("; and 9995 more before reading ended"), "{many}");
        assert!(of("prefix,vrf\na,b,c\n").1.expect_err("three").contains("a:2: has more values"));
        fs::write(&file, [0; 100_000]).expect("writes");
        assert!(all(&Files::from(&*file), &FORM).1.expect_err("zeros").contains("more than 65536"));
        fs::write(&file, b"BZh91AY").expect("writes");
        assert!(all(&Files::from(&*file), &FORM).1.expect_err("bzip2").contains("bunzip2"));
        fs::write(&file, &table()[..60]).expect("writes");
        assert!(all(&Files::from(&*file), &FORM).1.expect_err("cut").contains("ends within"));
        let stations = Form { takes_routes: false, ..FORM };
        fs::write(&file, table()).expect("writes");
        assert!(all(&Files::from(&*file), &stations).1.expect_err("MRT").contains("holds routes"));
        fs::remove_file(&file).expect("it was there");
        assert!(all(&Files::from(&*file), &FORM).1.expect_err("absent").contains("a: No such"));
    }
}
