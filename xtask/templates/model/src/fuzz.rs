//! The template against its oracle.

use std::iter::once;
use std::time::Duration;

use function_template::Config;
use model_kit::fuzz::{Fuzzed, Target, beside};

use crate::Template;

impl Fuzzed for Template {
    const TARGETS: &'static [Target] = &[Target {
        name: "template",
        body: || beside::<Template>(once(Config::default()), Duration::ZERO),
        examples: Vec::new,
    }];
}
