//! A tree as YAML text, which reads as the same values.
//!
//! For files that nobody wrote as they are: a scenario with keys from the command line. Comments
//! and the form of the values in the original are lost.

use serde_json::Value;

use crate::tree::{Node, Tree};

impl Tree {
    /// Returns the tree as YAML, in block style.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0, false);
        out
    }

    /// Writes the tree; `follows` says that a key or a dash stands on the line already.
    fn write(&self, out: &mut String, indent: usize, follows: bool) {
        match &self.node {
            Node::Map(entries) if !entries.is_empty() => {
                for (at, (key, value)) in entries.iter().enumerate() {
                    line(out, indent, follows && at == 0);
                    *out += &format!("{}:", text(key));
                    value.write_behind(out, indent + 2);
                }
            }
            Node::List(items) if !items.is_empty() => {
                for (at, item) in items.iter().enumerate() {
                    line(out, indent, follows && at == 0);
                    *out += "- ";
                    item.write(out, indent + 2, true);
                }
            }
            Node::Map(_) => *out += "{}\n",
            Node::List(_) => *out += "[]\n",
            Node::Scalar(Value::String(value)) => *out += &format!("{}\n", text(value)),
            Node::Scalar(value) => *out += &format!("{value}\n"),
        }
    }

    /// Writes the tree behind a key.
    fn write_behind(&self, out: &mut String, indent: usize) {
        match &self.node {
            Node::Map(entries) if !entries.is_empty() => {
                out.push('\n');
                self.write(out, indent, false);
            }
            Node::List(items) if !items.is_empty() => {
                out.push('\n');
                self.write(out, indent, false);
            }
            _ => {
                out.push(' ');
                self.write(out, indent, true);
            }
        }
    }
}

fn line(out: &mut String, indent: usize, follows: bool) {
    if !follows {
        out.extend(std::iter::repeat_n(' ', indent));
    }
}

/// A text as a scalar: plain if nothing could take it for something else, and quoted as in JSON
/// otherwise.
fn text(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_/".contains(c));
    let taken = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    match is_word && !taken.contains(&text.to_ascii_lowercase().as_str()) {
        true => text.to_owned(),
        false => Value::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use crate::Document;
    use crate::load::tests::TEST;

    #[test]
    fn what_is_written_reads_as_the_same_values() {
        let text = "\
a: 1
b: {c: [1, 2.5, -3, 1e300, true, null], d: {}, e: [], 64: 7}
'no': 'yes'
texts: ['1', '1.5', 'true', '~', '', ' x', 'a: b', '# c', \"q\\\"\\n\\t\\u0007ü\", '10 Mbit/s', no]
nested: [[1, [2, {x: 1}]], {y: [{z: {u: v}}, 3], w: 2}, [], {}]
'10.0.0.0/8': aa:bb
";
        let tree = Document::tree(&TEST, "a.yaml", text).expect("well-formed");
        let written = tree.to_yaml();
        let again = Document::tree(&TEST, "b.yaml", &written)
            .unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(
            again.clone().into_document("b").root,
            tree.into_document("a").root,
            "{written}"
        );
        assert_eq!(again.to_yaml(), written, "writing it again changes nothing");
        assert!(written.starts_with("a: 1\nb:\n  c:\n    - 1\n    - 2.5\n"), "{written}");
    }
}
