//! The one error of a key.

/// A key that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
pub struct Invalid {
    /// The section: `function`, `traffic` …; empty where whoever reads the section knows its name.
    pub section: &'static str,
    /// The key, with the names of those around it; empty for the section as a whole.
    pub key: String,
    /// What is wrong with it, without a full stop.
    pub what: String,
    /// What to do, an imperative sentence without a full stop; empty where the list of keys and
    /// their values is all the help there is.
    pub remedy: String,
}

impl Invalid {
    /// A key of a section whose name the reader of the section knows.
    pub fn new(
        key: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Invalid {
        Invalid { section: "", key: key.into(), what: what.into(), remedy: remedy.into() }
    }

    /// The same key, named from the section around its own: `search` makes `search.min-rate` of
    /// `min-rate`.
    pub fn under(self, around: &str) -> Invalid {
        Invalid { key: joined(around, &self.key), ..self }
    }

    /// The path of the key, with its section.
    pub fn path(&self) -> String {
        joined(self.section, &self.key)
    }

    fn text(&self) -> String {
        match self.path() {
            path if path.is_empty() => self.what.clone(),
            path => format!("{path}: {}", self.what),
        }
    }
}

/// A key below another one; either may be empty.
pub(crate) fn joined(around: &str, key: &str) -> String {
    let dot = if around.is_empty() || key.is_empty() || key.starts_with('[') { "" } else { "." };
    format!("{around}{dot}{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_from_the_section_around_it() {
        let invalid = Invalid::new("min-rate", "must be less than `max-rate`", "");
        assert_eq!(invalid.path(), "min-rate");
        let of_search = invalid.under("search");
        assert_eq!(of_search.to_string(), "search.min-rate: must be less than `max-rate`");
        let of_method = Invalid { section: "methods", ..of_search };
        assert_eq!(of_method.path(), "methods.search.min-rate");
        let whole = Invalid::new("", "names no file", "");
        assert_eq!(whole.to_string(), "names no file");
        assert_eq!(whole.under("ports").path(), "ports");
        assert_eq!(Invalid::new("[2]", "is no address", "").under("macs").path(), "macs[2]");
    }
}
