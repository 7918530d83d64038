//! Comma-separated values (RFC 4180), but for line ends within quotes.

use crate::cells::Cells;

/// The columns of a file.
#[derive(Default)]
pub(crate) struct Columns {
    /// The key of each, as its place in the form.
    places: Vec<usize>,
}

impl Columns {
    /// Those that the first line names.
    ///
    /// # Errors
    /// A name that no row has, or a name twice.
    pub fn of(line: &str, cells: &Cells<'_>) -> Result<Columns, String> {
        let mut places = Vec::new();
        let mut rest = Some(line);
        let mut value = String::new();
        while let Some(text) = rest {
            value.clear();
            rest = take(text, &mut value)?;
            let place = cells.place_of(value.trim())?;
            if places.contains(&place) {
                return Err(format!("the column `{}` is there twice", value.trim()));
            }
            places.push(place);
        }
        Ok(Columns { places })
    }

    /// Fills the cells of a line; empty values are left out.
    ///
    /// # Errors
    /// Quotes that do not end, or other than as many values as columns.
    pub fn cells(&self, line: &str, cells: &mut Cells<'_>) -> Result<(), String> {
        cells.clear();
        let (mut rest, mut column) = (Some(line), 0);
        let mut value = String::new();
        while let Some(text) = rest {
            value.clear();
            rest = take(text, &mut value)?;
            let Some(&place) = self.places.get(column) else {
                return Err(format!("has more values than the {} columns", self.places.len()));
            };
            column += 1;
            if !value.trim().is_empty() {
                cells.push(place, value.trim())?;
            }
        }
        if column < self.places.len() {
            let columns = self.places.len();
            return Err(format!("has {column} values for {columns} columns; write the commas"));
        }
        Ok(())
    }
}

/// Takes one value off a line; what is behind its comma is left, none at the end.
fn take<'a>(text: &'a str, value: &mut String) -> Result<Option<&'a str>, String> {
    let Some(mut rest) = text.trim_start_matches(' ').strip_prefix('"') else {
        return Ok(match text.split_once(',') {
            Some((first, rest)) => {
                value.push_str(first);
                Some(rest)
            }
            None => {
                value.push_str(text);
                None
            }
        });
    };
    loop {
        let Some((inner, behind)) = rest.split_once('"') else {
            return Err("a quote does not end; values have no line ends".to_owned());
        };
        value.push_str(inner);
        if let Some(more) = behind.strip_prefix('"') {
            value.push('"');
            rest = more;
            continue;
        }
        let behind = behind.trim_start_matches(' ');
        return match (behind.is_empty(), behind.strip_prefix(',')) {
            (true, _) => Ok(None),
            (_, Some(rest)) => Ok(Some(rest)),
            _ => Err("there is something behind a quote; put a comma there".to_owned()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_as_spreadsheets_write_them() {
        let all = |line: &str| -> Result<Vec<String>, String> {
            let (mut rest, mut values) = (Some(line), Vec::new());
            while let Some(text) = rest {
                let mut value = String::new();
                rest = take(text, &mut value)?;
                values.push(value);
            }
            Ok(values)
        };
        assert_eq!(all("a,b,,d").expect("values"), ["a", "b", "", "d"]);
        assert_eq!(all(r#""a,b","say ""no""", c"#).expect("values"), ["a,b", "say \"no\"", " c"]);
        assert!(all("\"a").is_err() && all("\"a\"b").is_err());
        assert_eq!(all("").expect("one"), [""]);
    }
}
