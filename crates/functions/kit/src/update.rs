//! A change of some function, without its type.

use std::any::Any;
use std::fmt::Debug;

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

    /// A change of a function whose [`NetworkFunction::Update`] this is.
    pub fn of<U: Serialize + Clone + Send + Debug + 'static>(update: U) -> AnyUpdate {
        AnyUpdate(Box::new(update))
    }

    /// The change as its type; none if it is of another function.
    pub fn typed<U: 'static>(&self) -> Option<&U> {
        let update: &dyn Any = &*self.0;
        update.downcast_ref()
    }

    /// The change without this wrapping.
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
    fn cloned(&self) -> Box<dyn IsUpdate>;
}

impl<U: Serialize + Clone + Send + Debug + 'static> IsUpdate for U {
    fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn cloned(&self) -> Box<dyn IsUpdate> {
        Box::new(self.clone())
    }
}
