//! Parts of documents that are written from the source, so that nobody has to.
//!
//! Such a part stands between `<!-- name: written by … -->` and `<!-- end of name -->`. A test that
//! makes it holds that it is fresh, and writes it anew where `UPDATE_GOLDEN` is set.

use std::fs;
use std::sync::Mutex;

use crate::tree::{file, root};

/// Holds that a part of a document is what is expected, or writes it.
#[track_caller]
pub fn hold(path: &str, part: &str, expected: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        // Other parts of the document may just be written.
        static WRITING: Mutex<()> = Mutex::new(());
        let _one = WRITING.lock().expect("nobody panics while writing");
        let path = root().join(path);
        let text = fs::read_to_string(&path).expect("the document is there");
        fs::write(&path, with_part(&text, part, expected)).expect("it can be written");
        return;
    }
    let text = file(path);
    let fresh = text == with_part(text, part, expected);
    assert!(fresh, "`{part}` in {path} is out of date; run: cargo xtask golden");
}

fn with_part(text: &str, part: &str, expected: &str) -> String {
    let begin = format!("<!-- {part}: written by `cargo xtask golden` -->\n");
    let end = format!("<!-- end of {part} -->");
    let (head, rest) = text.split_once(&begin).expect("the part has a beginning");
    let (_, tail) = rest.split_once(&end).expect("the part has an end");
    format!("{head}{begin}{expected}{end}{tail}")
}
