//! A change of a function without its type.

use std::any::Any;
use std::fmt::Debug;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

/// A change of some function.
#[derive(Debug)]
pub struct AnyUpdate(Box<dyn IsUpdate>);

impl AnyUpdate {
    /// The change as JSON.
    pub fn value(&self) -> Value {
        self.0.value()
    }

    /// The kind of the change, as people write it: the only key of its JSON.
    pub fn kind(&self) -> String {
        self.0.kind()
    }

    /// A change of a function whose [`crate::NetworkFunction::Update`] this is.
    pub fn of<U: Serialize + Clone + Send + Debug + 'static>(update: U) -> AnyUpdate {
        AnyUpdate(Box::new(update))
    }

    /// The change as its type; none if it is of another function.
    pub fn typed<U: 'static>(&self) -> Option<&U> {
        let update: &dyn Any = &*self.0;
        update.downcast_ref()
    }

    /// The change as what it is.
    pub(crate) fn into_any(self) -> Box<dyn Any> {
        self.0
    }
}

impl Clone for AnyUpdate {
    fn clone(&self) -> AnyUpdate {
        AnyUpdate(self.0.cloned())
    }
}

trait IsUpdate: Any + Send + Debug {
    fn value(&self) -> Value;
    fn kind(&self) -> String;
    fn cloned(&self) -> Box<dyn IsUpdate>;
}

impl<U: Serialize + Clone + Send + Debug + 'static> IsUpdate for U {
    fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn kind(&self) -> String {
        kind_of(self)
    }

    fn cloned(&self) -> Box<dyn IsUpdate> {
        Box::new(self.clone())
    }
}

/// The name of a variant: the first word between quotes of its JSON, which ends there, for a
/// fraction of what the whole costs.
fn kind_of(update: &impl Serialize) -> String {
    let mut first = FirstWord::default();
    // The error is that there is no room for a second one.
    let _ = serde_json::to_writer(&mut first, update);
    first.word
}

#[derive(Default)]
struct FirstWord {
    is_inside: bool,
    word: String,
}

impl Write for FirstWord {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for &byte in text {
            match (byte, self.is_inside) {
                (b'"', true) => return Err(io::ErrorKind::WriteZero.into()),
                (b'"', false) => self.is_inside = true,
                (_, true) => self.word.push(byte.into()),
                (_, false) => {}
            }
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    #[serde(rename_all = "kebab-case")]
    enum Update {
        SetStation { name: &'static str },
        SetRule(u32),
        ForgetAll,
    }

    #[test]
    fn a_kind_is_the_name_of_a_variant_whatever_is_in_it() {
        let all = [Update::SetStation { name: "a" }, Update::SetRule(7), Update::ForgetAll];
        assert_eq!(all.map(|one| kind_of(&one)), ["set-station", "set-rule", "forget-all"]);
    }
}
