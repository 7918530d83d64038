//! Keys that name other files: relative paths are those beside the file in which they are written,
//! wherever the program was started.
//!
//! Their names end in `-file` or `-files`, in every kind of file and at any depth; the value is a
//! path, a mapping with a `path`, or a list of these. `pcap` names files as well, or a mapping with
//! a path for each of its keys. Each becomes an absolute path before anybody
//! reads it, so that errors and records name what was meant. An absolute path stays as it is.

use std::path::{Path, absolute};

use serde_json::Value;

use crate::tree::{Node, Tree};

impl Tree {
    /// Makes the paths of all keys that name files absolute.
    pub(crate) fn with_files_beside(mut self) -> Tree {
        self.look_for_files();
        self
    }

    fn look_for_files(&mut self) {
        match &mut self.node {
            Node::Scalar(_) => {}
            Node::List(items) => items.iter_mut().for_each(Tree::look_for_files),
            Node::Map(entries) => {
                for (key, value) in entries {
                    match (names_files(key), key == CAPTURES) {
                        (_, true) => value.lie_beside(&|_| true),
                        (true, _) => value.lie_beside(&|key| key == PATH),
                        (false, _) => value.look_for_files(),
                    }
                }
            }
        }
    }

    /// Makes a path, or those of a list, or of some keys of a mapping, absolute.
    fn lie_beside(&mut self, is_path: &dyn Fn(&str) -> bool) {
        match &mut self.node {
            Node::Scalar(Value::String(path)) => {
                let folder = Path::new(&*self.origin.file).parent().unwrap_or(Path::new(""));
                let meant = absolute(folder.join(&*path)).ok();
                // What is no path, like an empty text, is left to whoever reads it.
                let meant = meant
                    .filter(|_| !path.is_empty())
                    .and_then(|it| it.into_os_string().into_string().ok());
                if let Some(meant) = meant {
                    *path = meant;
                }
            }
            Node::Scalar(_) => {}
            Node::List(items) => items.iter_mut().for_each(|one| one.lie_beside(is_path)),
            Node::Map(entries) => {
                let paths = entries.iter_mut().filter(|(key, _)| is_path(key));
                paths.for_each(|(_, value)| value.lie_beside(is_path));
            }
        }
    }
}

/// Whether a key names files, by its name.
pub fn names_files(key: &str) -> bool {
    key == CAPTURES || ENDS.iter().any(|end| key.ends_with(end))
}

/// How the names of such keys end.
const ENDS: [&str; 2] = ["-file", "-files"];

/// The key that names captures, by itself or by port.
const CAPTURES: &str = "pcap";

/// The key of the path in a mapping that says more about a file.
const PATH: &str = "path";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Document;
    use crate::load::tests::TEST;

    #[test]
    fn paths_are_those_beside_the_file_that_names_them() {
        let text = "\
function:
  name: router
  route-files: [routes.txt, /etc/routes, {path: ../rib.mrt, format: mrt, vrf: 2}, 7, '']
  acl-files: rules.csv
  path: as it is
default:
- chain: [{acl-files: {path: deep/rules}}]
- route-file: [one, two]
";
        let document = Document::parse(&TEST, "/conf/sites/a.yaml", text).expect("well-formed");
        let expected = json!({
            "function": {
                "name": "router",
                "route-files": [
                    "/conf/sites/routes.txt",
                    "/etc/routes",
                    {"path": "/conf/sites/../rib.mrt", "format": "mrt", "vrf": 2},
                    7,
                    "",
                ],
                "acl-files": "/conf/sites/rules.csv",
                "path": "as it is",
            },
            "default": [
                {"chain": [{"acl-files": {"path": "/conf/sites/deep/rules"}}]},
                {"route-file": ["/conf/sites/one", "/conf/sites/two"]},
            ],
        });
        assert_eq!(serde_json::Value::Object(document.root), expected);
    }

    #[test]
    fn captures_lie_beside_as_well_by_port_or_not() {
        let text = "\
traffic: {pcap: a.pcap}
other: {pcap: {inside: b.pcap, outside: /c.pcap}}
swept: {pcap: [a.pcap, {uplink: d.pcap}]}
";
        let document = Document::parse(&TEST, "/conf/a.yaml", text).expect("well-formed");
        let expected = json!({
            "traffic": {"pcap": "/conf/a.pcap"},
            "other": {"pcap": {"inside": "/conf/b.pcap", "outside": "/c.pcap"}},
            "swept": {"pcap": ["/conf/a.pcap", {"uplink": "/conf/d.pcap"}]},
        });
        assert_eq!(serde_json::Value::Object(document.root), expected);
    }

    #[test]
    fn a_file_that_is_named_from_here_has_its_files_beside_it() {
        let here = std::env::current_dir().expect("there is one");
        for (file, beside) in [("a.yaml", "rows"), ("conf/a.yaml", "conf/rows")] {
            let document = Document::parse(&TEST, file, "x-files: rows").expect("well-formed");
            assert_eq!(document.root["x-files"], json!(here.join(beside)));
        }
    }
}
