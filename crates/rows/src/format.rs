//! The forms that files of rows have, and how a file is known as one.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form::Form;
use crate::{ip_route, mrt};

/// The form of a file of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A row a line: words in an order, and `key=value`; `#` begins a comment.
    Text,
    /// Comma-separated values (RFC 4180) with the keys in the first line.
    Csv,
    /// What `ip route` prints.
    IpRoute,
    /// A table of BGP (RFC 6396, `TABLE_DUMP_V2`).
    Mrt,
}

impl Format {
    /// The format of a file by its name, or by what it begins with.
    pub(crate) fn of(path: &Path, begin: &[u8], form: &Form) -> Format {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        if name.ends_with(".csv") {
            return Format::Csv;
        }
        if name.ends_with(".mrt") || mrt::begins(begin) {
            return Format::Mrt;
        }
        let text = String::from_utf8_lossy(begin);
        let text = text.trim_start_matches('\u{feff}');
        let is_content = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let first = text.lines().map(str::trim).find(is_content).unwrap_or_default();
        let is_header = |line: &str| {
            let mut keys = line.split(',').map(|key| key.trim().trim_matches('"'));
            keys.all(|key| form.keys.contains(&key))
        };
        if !first.is_empty() && is_header(first) {
            return Format::Csv;
        }
        match form.takes_routes && ip_route::is_one(first) {
            true => Format::IpRoute,
            false => Format::Text,
        }
    }
}
