//! The machine.

use controller_kit::{Action, Alarm, Controller, Event, Setup, Severity};
use function_kit::Invalid;
use function_kit::erased::Configured;
use protocol_kit::{Input, Machine, Output, Time};
use serde_json::{Value, json};

use crate::config::Config;

/// The controller.
#[derive(Debug)]
pub struct Template {
    links_min: usize,
    links: usize,
    alarm: Option<Alarm>,
}

impl Controller for Template {
    const NAME: &'static str = "template";
    const SUMMARY: &'static str = "says whether there are enough links";

    type Config = Config;

    fn validate(_: &mut Config) -> Result<(), Invalid> {
        Ok(())
    }

    fn new(config: &Config, _: Setup<'_>) -> Result<Template, Invalid> {
        Ok(Template { links_min: config.links_min as usize, links: 0, alarm: None })
    }

    fn claims(_: &Config) -> Vec<&'static str> {
        Vec::new()
    }

    fn reload(&mut self, config: &Config, _: Option<&dyn Configured>, _: Time) -> bool {
        self.links_min = config.links_min as usize;
        true
    }

    fn show(&self) -> Value {
        json!({ "links": self.links })
    }
}

impl Machine for Template {
    type Command = Event;
    type Report = Action;

    fn input(&mut self, _: Time, input: Input<'_, Event>) {
        let Input::Command(Event::Links(links)) = input else { return };
        self.links = links.len();
        let severity = (self.links < self.links_min).then_some(Severity::Minor);
        let (source, text) = ("links".to_owned(), "too few links".into());
        self.alarm = Some(Alarm { source, cause: "links-few", severity, text });
    }

    fn poll(&mut self, _: Time) -> Option<Output<Action>> {
        self.alarm.take().map(|alarm| Output::Report(Action::Alarm(alarm)))
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}
