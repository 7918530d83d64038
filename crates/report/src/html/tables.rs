//! Tables: a caption, column heads, rows; numbers to the right, and a frame that scrolls by itself
//! so that the page does not.

use maud::{Markup, html};

/// One column: its head and whether it holds numbers.
pub(super) struct Column {
    head: String,
    number: bool,
}

/// A column of words.
pub(super) fn words(head: &str) -> Column {
    Column { head: head.into(), number: false }
}

/// A column of numbers.
pub(super) fn numbers(head: &str) -> Column {
    Column { head: head.into(), number: true }
}

/// Columns of which the first holds words and the others numbers.
pub(super) fn leading(heads: &[String]) -> Vec<Column> {
    let column =
        |(index, head): (usize, &String)| if index == 0 { words(head) } else { numbers(head) };
    heads.iter().enumerate().map(column).collect()
}

/// A table whose first column names the row.
pub(super) fn table(caption: &str, columns: &[Column], rows: &[Vec<String>]) -> Markup {
    marked(caption, columns, rows, |_| false)
}

/// The same with rows that are marked as ours.
pub(super) fn marked(
    caption: &str,
    columns: &[Column],
    rows: &[Vec<String>],
    ours: impl Fn(usize) -> bool,
) -> Markup {
    let wide = if columns.len() > 9 { "scroll wide" } else { "scroll" };
    html! {
        div class=(wide) tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr {
                    @for column in columns {
                        th scope="col" class=[column.number.then_some("number")] { (column.head) }
                    }
                } }
                tbody {
                    @for (index, row) in rows.iter().enumerate() {
                        tr class=[ours(index).then_some("ours")] {
                            @for (place, (text, column)) in row.iter().zip(columns).enumerate() {
                                @if place == 0 && !column.number {
                                    th scope="row" { (text) }
                                } @else {
                                    td class=[column.number.then_some("number")] { (text) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
