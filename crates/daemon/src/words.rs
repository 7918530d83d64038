//! A change as an operator writes it, and what of it goes over the control socket: the name of an
//! update and `key=value` words become an object of JSON.

use std::io;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// What a word says: `key=value`. A value that is not valid JSON is taken as a string; none of a
/// word without a key.
pub fn pair(word: &str) -> Option<(String, Value)> {
    let (key, value) = word.split_once('=')?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Some((key.to_owned(), value))
}

/// The update of a name and its keys; without keys, it is the name.
pub fn update(name: &str, keys: Map<String, Value>) -> Value {
    match keys.is_empty() {
        true => Value::String(name.to_owned()),
        false => Value::Object(Map::from_iter([(name.to_owned(), Value::Object(keys))])),
    }
}

/// Appends a line of changes as JSON. JSON and comments stay as they are, and so does what is no
/// change, which is left to the daemon to refuse. An empty line becomes an empty comment, as it
/// would end a request.
pub(crate) fn push(out: &mut Vec<u8>, line: &[u8]) {
    let start = out.len();
    let line = line.trim_ascii();
    let is_json = matches!(line.first(), None | Some(b'{' | b'#'));
    let is_update =
        !is_json && str::from_utf8(line).is_ok_and(|line| push_words(out, line).is_ok());
    if !is_update {
        out.truncate(start);
        out.extend(if line.is_empty() { b"#" } else { line });
    }
    out.push(b'\n');
}

/// Appends an update; nothing is built of it on the way, as a file may have millions.
///
/// # Errors
/// When the words are none; a part is appended then.
fn push_words(out: &mut Vec<u8>, line: &str) -> io::Result<()> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().ok_or(io::ErrorKind::InvalidData)?;
    let Some(first) = words.next() else {
        let is_order = ["reload", "save", "stop"].contains(&name);
        let name = Some(name).filter(|_| !is_order).ok_or(io::ErrorKind::InvalidData)?;
        return Ok(serde_json::to_writer(out, name)?);
    };
    out.push(b'{');
    serde_json::to_writer(&mut *out, name)?;
    out.extend(b":{");
    for (number, word) in [first].into_iter().chain(words).enumerate() {
        let (key, value) = word.split_once('=').ok_or(io::ErrorKind::InvalidData)?;
        if number > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, key)?;
        out.push(b':');
        match serde_json::from_str::<IgnoredAny>(value) {
            Ok(_) => out.extend(value.as_bytes()),
            Err(_) => serde_json::to_writer(&mut *out, value)?,
        }
    }
    out.extend(b"}}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_words_or_json() {
        let pushed = |line: &str| {
            let mut out = b"before ".to_vec();
            push(&mut out, line.as_bytes());
            String::from_utf8(out).expect("it is text")
        };
        for (line, told) in [
            (
                " remove-route  prefix=10.0.0.0/8 vrf=2\r",
                r#"{"remove-route":{"prefix":"10.0.0.0/8","vrf":2}}"#,
            ),
            ("set-x a=[1] b=\"q\" c= d=\"", r#"{"set-x":{"a":[1],"b":"q","c":"","d":"\""}}"#),
            ("clear-all", "\"clear-all\""),
            ("# a comment", "# a comment"),
            ("", "#"),
            ("{\"a\": 1}", "{\"a\": 1}"),
            ("set-route prefix", "set-route prefix"),
            ("reload", "reload"),
        ] {
            assert_eq!(pushed(line), format!("before {told}\n"));
        }
        // A line says what the same words say one by one.
        for line in ["set-x a=[1] b=\"q\" c= d=\" e=1=2", "clear-all", "set-x n=1.50 t=true"] {
            let (name, words) = line.split_once(' ').unwrap_or((line, ""));
            let keys = words.split_ascii_whitespace().map(|word| pair(word).expect("a key"));
            let line = pushed(line);
            let told: Value = serde_json::from_str(&line["before ".len()..]).expect("JSON");
            assert_eq!(told, update(name, keys.collect()));
        }
        let mut out = Vec::new();
        push(&mut out, b"set-x a=\xff");
        assert_eq!(out, b"set-x a=\xff\n");
    }
}
