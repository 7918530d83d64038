//! Live progress on standard error: one spinner line on a terminal, occasional log lines elsewhere.
//!
//! It shows the current cell and method, the load of the trial, the loss so far and the time left.
//! The time left is an upper bound: searches often end early.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lab::run::{Finished, Phase, RunObserver};
use measure::record::{Cell, TrialRecord};
use measure::{TrialProgress, Watch};
use methods::{Observer, Step};

use crate::output::tell;

/// Displays the progress of a run.
pub struct Progress {
    display: Display,
    /// The current cell, such as `cell 2/5 user=1000`.
    cell: String,
    /// The current phase, such as `throughput` or `setting up`.
    phase: String,
    /// The current trial, such as `trial 4 of 12, 5.20 Mpps each way`.
    trial: String,
    cells: usize,
    repetitions: u32,
    time_after: Duration,
    step_time: Duration,
    step_started: Instant,
}

enum Display {
    Line(ProgressBar),
    Log { last: Instant },
    Nothing,
}

impl Progress {
    /// Progress as a spinner line if standard error is a capable terminal, or as log lines
    /// otherwise.
    pub fn shown() -> Progress {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let display = if std::io::stderr().is_terminal() && !dumb {
            let bar = ProgressBar::new_spinner();
            // The template is constant and valid; the default style would do as well.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            Display::Line(bar)
        } else {
            Display::Log { last: Instant::now() }
        };
        Progress::with(display)
    }

    /// No progress at all, for `--quiet`.
    pub fn hidden() -> Progress {
        Progress::with(Display::Nothing)
    }

    /// Shows a step of a command that makes no run.
    pub fn step(&mut self, what: &str) {
        match &self.display {
            Display::Line(bar) => bar.set_message(what.to_owned()),
            Display::Log { .. } => tell(&format!("{what}\n")),
            Display::Nothing => {}
        }
    }

    fn with(display: Display) -> Progress {
        Progress {
            display,
            cell: String::new(),
            phase: String::new(),
            trial: String::new(),
            cells: 1,
            repetitions: 1,
            time_after: Duration::ZERO,
            step_time: Duration::ZERO,
            step_started: Instant::now(),
        }
    }

    /// Updates the spinner line, with the loss so far if frames were sent.
    fn show(&mut self, loss: &str) {
        let line = self.line(loss);
        if let Display::Line(bar) = &self.display {
            bar.set_message(line);
        }
    }

    /// Prints a permanent line; on a terminal it appears above the spinner line.
    fn say(&mut self, text: &str) {
        match &mut self.display {
            Display::Line(bar) => bar.println(text),
            Display::Log { last } => {
                *last = Instant::now();
                tell(&format!("{text}\n"));
            }
            Display::Nothing => {}
        }
    }

    /// The cell's name as a prefix for permanent lines; empty if there is only one cell.
    fn lead(&self) -> String {
        if self.cells > 1 { format!("{}: ", self.cell) } else { String::new() }
    }

    fn line(&self, loss: &str) -> String {
        let left = self.time_after + self.step_time.saturating_sub(self.step_started.elapsed());
        let left =
            if left.is_zero() { String::new() } else { format!("at most {} left", time(left)) };
        let cell = if self.cells > 1 { self.cell.as_str() } else { "" };
        // The longest part comes last: a narrow terminal cuts the line there.
        let parts = [cell, &self.phase, &left, loss, &self.trial];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }
}

impl Watch for Progress {
    fn at(&mut self, progress: TrialProgress) {
        let lost = progress.sent.saturating_sub(progress.received);
        let loss = if progress.sent == 0 {
            String::new()
        } else {
            loss(lost as f64 / progress.sent as f64)
        };
        self.show(&loss);
    }
}

impl Observer for Progress {
    fn starting(&mut self, step: &Step) {
        self.trial = step.words();
        self.step_time = step.time_expected;
        self.step_started = Instant::now();
        self.show("");
    }

    fn finished(&mut self, trial: &TrialRecord) {
        let is_due =
            matches!(&self.display, Display::Log { last } if last.elapsed() >= BETWEEN_LINES);
        if is_due {
            let line = self.line(&loss(trial.loss_fraction));
            self.say(&line);
        }
    }
}

impl RunObserver for Progress {
    fn planned(&mut self, measurements: usize, from_cache: usize) {
        if from_cache > 0 {
            self.say(&format!(
                "{from_cache} of {measurements} measurements reused from earlier runs (--fresh \
                 measures all again)"
            ));
        }
    }

    fn cell_starting(&mut self, index: usize, count: usize, cell: &Cell) {
        self.cells = count;
        self.cell = format!("cell {}/{count} {}", index + 1, cell.id);
        self.trial.clear();
        self.time_after = Duration::ZERO;
        self.step_time = Duration::ZERO;
    }

    fn phase(&mut self, phase: Phase<'_>) {
        self.trial.clear();
        self.step_time = Duration::ZERO;
        self.phase = match phase {
            Phase::SettingUp => "setting up".to_owned(),
            Phase::Checking => "checking against the oracle".to_owned(),
            Phase::Measuring {
                method, repetition, repetitions, time_bound, time_after, ..
            } => {
                self.repetitions = repetitions;
                self.time_after = time_after;
                self.step_time = time_bound;
                self.step_started = Instant::now();
                match repetitions {
                    1 => method.to_owned(),
                    _ => format!("{method}, repetition {} of {repetitions}", repetition + 1),
                }
            }
        };
        self.show("");
        if matches!(self.display, Display::Log { .. }) {
            let line = self.line("");
            self.say(&line);
        }
    }

    fn measured(&mut self, finished: &Finished<'_>) {
        let lead = self.lead();
        let which = match self.repetitions {
            1 => String::new(),
            n => format!("repetition {} of {n}: ", finished.repetition + 1),
        };
        self.say(&format!("{lead}{which}{}", finished.outcome.answer));
    }

    fn cell_finished(&mut self, cell: &Cell) {
        let lead = self.lead();
        match (cell.trouble(), &cell.check) {
            (Some(error), _) => self.say(&format!("{lead}{error}")),
            (None, Some(check)) if !check.passed => self.say(&format!("{lead}check failed")),
            _ => {}
        }
    }

    fn note(&mut self, what: &str) {
        self.say(&format!("note: {what}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Display::Line(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

fn loss(fraction: f64) -> String {
    match fraction {
        0.0 => "no loss".to_owned(),
        ..0.001 => format!("loss {:.0} ppm", (fraction * 1e6).max(1.0)),
        _ => format!("loss {:.2} %", fraction * 100.0),
    }
}

fn time(left: Duration) -> String {
    let seconds = left.as_secs() + 1;
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{}:{:02} min", seconds / 60, seconds % 60)
    }
}

const BETWEEN_LINES: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_losses_read_well() {
        assert_eq!(time(Duration::from_millis(900)), "1 s");
        assert_eq!(time(Duration::from_secs(119)), "2:00 min");
        assert_eq!(loss(0.0), "no loss");
        assert_eq!(loss(1e-9), "loss 1 ppm");
        assert_eq!(loss(80e-6), "loss 80 ppm");
        assert_eq!(loss(0.25), "loss 25.00 %");
    }

    #[test]
    fn a_line_leaves_out_what_is_not_known() {
        let mut progress = Progress::hidden();
        progress.phase(Phase::SettingUp);
        assert_eq!(progress.line(""), "setting up");
        let cell = Cell { id: "user=1".into(), ..Cell::default() };
        progress.cell_starting(1, 3, &cell);
        let (time_bound, time_after) = (Duration::from_secs(1), Duration::from_secs(60));
        let measuring = |repetitions| Phase::Measuring {
            method: "capacity",
            repetition: 0,
            repetitions,
            time_bound,
            time_after,
            expected: [time_bound; 2],
        };
        progress.phase(measuring(1));
        assert_eq!(
            progress.line("no loss"),
            "cell 2/3 user=1 · capacity · at most 1:01 min left · no loss"
        );
        progress.phase(measuring(5));
        assert!(progress.line("").contains("capacity, repetition 1 of 5"));
    }
}
