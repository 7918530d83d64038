//! The key that names files of rows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Format;

/// Files of rows as a key says them: a path, or a list of paths and of mappings with a `path`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SaidFiles", into = "Vec<SaidSource>")]
pub struct Files {
    /// The files and directories, in their order.
    pub sources: Vec<Source>,
}

/// A file or a directory of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The file, or the directory whose files are read in the order of their names.
    pub path: PathBuf,
    /// The form of the file; by its name and content if none is said.
    pub format: Option<Format>,
    /// Keys of all rows that do not say them.
    pub further: BTreeMap<String, String>,
}

impl Files {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }
}

impl From<&Path> for Files {
    fn from(path: &Path) -> Files {
        Files { sources: vec![Source { path: path.to_owned(), ..Source::default() }] }
    }
}

impl Source {
    /// The files that are meant: the file itself, or those of the directory but for hidden ones and
    /// those that editors keep (`name~`).
    ///
    /// # Errors
    /// When it cannot be looked at, is neither a file nor a directory, or has too many files.
    pub(crate) fn paths(&self) -> io::Result<Vec<PathBuf>> {
        let refuse = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        let meant = fs::metadata(&self.path)?;
        if meant.is_file() {
            return Ok(vec![self.path.clone()]);
        }
        if !meant.is_dir() {
            return refuse("it is neither a file nor a directory".to_owned());
        }
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with('.') || name.ends_with('~') || !path.is_file() {
                continue;
            }
            if paths.len() == FILES_MAX {
                return refuse(format!("it has more than {FILES_MAX} files"));
            }
            paths.push(path);
        }
        if paths.is_empty() {
            return refuse("the directory has no files".to_owned());
        }
        paths.sort();
        Ok(paths)
    }
}

/// Files as they may be said.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a path, or a list of paths and of mappings with a `path`")]
enum SaidFiles {
    One(SaidSource),
    Several(Vec<SaidSource>),
}

/// A file as it may be said.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SaidSource {
    Path(PathBuf),
    With {
        path: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<Format>,
        #[serde(flatten)]
        further: BTreeMap<String, Value>,
    },
}

impl From<SaidFiles> for Files {
    fn from(said: SaidFiles) -> Files {
        let all = match said {
            SaidFiles::One(one) => vec![one],
            SaidFiles::Several(all) => all,
        };
        Files { sources: all.into_iter().map(Source::from).collect() }
    }
}

impl From<SaidSource> for Source {
    fn from(said: SaidSource) -> Source {
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        match said {
            SaidSource::Path(path) => Source { path, ..Source::default() },
            SaidSource::With { path, format, further } => {
                let further = further.into_iter().map(|(key, value)| (key, text(value))).collect();
                Source { path, format, further }
            }
        }
    }
}

impl From<Files> for Vec<SaidSource> {
    fn from(files: Files) -> Vec<SaidSource> {
        files.sources.into_iter().map(SaidSource::from).collect()
    }
}

impl From<Source> for SaidSource {
    fn from(source: Source) -> SaidSource {
        let Source { path, format, further } = source;
        if format.is_none() && further.is_empty() {
            return SaidSource::Path(path);
        }
        let further = further.into_iter().map(|(key, text)| (key, Value::String(text))).collect();
        SaidSource::With { path, format, further }
    }
}

impl JsonSchema for Files {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RowFiles".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let format = generator.subschema_for::<Format>();
        let with = json_schema!({
            "type": "object",
            "description": "A file with keys of all rows that do not say them.",
            "properties": {
                "path": {"type": "string", "description": "The file or directory."},
                "format": format,
            },
            "required": ["path"],
            "additionalProperties": true,
        });
        json_schema!({
            "anyOf": [
                {"type": "string"},
                with.clone(),
                {"type": "array", "items": {"anyOf": [{"type": "string"}, with]}},
            ],
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Most files of a directory.
pub const FILES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_said_in_several_ways() {
        let read = |value: Value| serde_json::from_value::<Files>(value).expect("files");
        let one = read(json!("a.txt"));
        assert_eq!(one, read(json!(["a.txt"])));
        assert_eq!(one, Files::from(Path::new("a.txt")));
        let with = json!([{"path": "rib", "format": "mrt", "vrf": 2, "next-hop": "isp-a"}, "b"]);
        let files = read(with);
        assert_eq!(files.sources[0].further["vrf"], "2");
        assert_eq!(files.sources[0].format, Some(Format::Mrt));
        assert_eq!(read(serde_json::to_value(&files).expect("text")), files);
    }

    #[test]
    fn a_directory_means_its_files_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["b.txt", "a.txt", ".hidden", "a.txt~"] {
            fs::write(folder.path().join(name), "").expect("writes");
        }
        fs::create_dir(folder.path().join("within")).expect("a folder");
        let source = Source { path: folder.path().to_owned(), ..Source::default() };
        let paths = source.paths().expect("files");
        let names: Vec<_> = paths.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["a.txt", "b.txt"]);
        let absent = Source { path: folder.path().join("absent"), ..Source::default() };
        assert!(absent.paths().is_err());
    }
}
