//! A row a line: the first words by their order, further ones as `key=value`, comments behind `#`.

use crate::cells::Cells;

/// Fills the cells of a line; false if it has none.
///
/// # Errors
/// A word that is none of a row.
pub(crate) fn cells(line: &str, cells: &mut Cells<'_>) -> Result<bool, String> {
    cells.clear();
    let (mut unnamed, mut any) = (0, false);
    for word in line.split_ascii_whitespace() {
        if word.starts_with('#') {
            break;
        }
        any = true;
        if let Some((key, value)) = word.split_once('=') {
            let at = cells.place_of(key)?;
            cells.push(at, value)?;
            continue;
        }
        let form = cells.form();
        if unnamed >= form.unnamed {
            let order = form.keys[..form.unnamed.min(form.keys.len())].join(" ");
            let others: Vec<String> = form.keys.iter().map(|key| format!("{key}=…")).collect();
            return Err(format!(
                "`{word}` is a word too many; write `{order}`, and what else there is as {}",
                others.join(", ")
            ));
        }
        cells.push(unnamed, word)?;
        unnamed += 1;
    }
    Ok(any)
}
