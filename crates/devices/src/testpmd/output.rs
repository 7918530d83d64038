//! What testpmd says: kept for when it fails, looked at for when it is ready.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, MutexGuard};

use netns::Child;

/// Output of testpmd, read by threads that end with it.
pub(super) struct Output(Arc<Mutex<Said>>);

#[derive(Default)]
struct Said {
    last: VecDeque<String>,
    version: Option<String>,
    forwards: bool,
}

impl Output {
    /// Starts to read the output of a process.
    pub fn of(child: &mut Child) -> Output {
        let (stdout, stderr) = child.output();
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            stdout.map(|stream| Box::new(stream) as _),
            stderr.map(|stream| Box::new(stream) as _),
        ];
        let said = Arc::new(Mutex::new(Said::default()));
        for stream in streams.into_iter().flatten() {
            let said = said.clone();
            std::thread::spawn(move || read(stream, &said));
        }
        Output(said)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Returns true if testpmd has printed its first statistics, which it does once it forwards.
    pub fn forwards(&self) -> bool {
        self.said().forwards
    }

    /// Returns the version that testpmd reports: `DPDK 22.11.11`.
    pub fn version(&self) -> String {
        self.said().version.clone().unwrap_or_else(|| "DPDK".to_owned())
    }

    /// Returns the last lines of the output, as one line.
    pub fn last(&self) -> String {
        let lines: Vec<String> = self.said().last.iter().cloned().collect();
        if lines.is_empty() { "it printed nothing".to_owned() } else { lines.join(" | ") }
    }
}

fn read(stream: Box<dyn Read + Send>, said: &Mutex<Said>) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        said.lock().unwrap_or_else(|broken| broken.into_inner()).note(&line);
    }
}

impl Said {
    fn note(&mut self, line: &str) {
        if let Some((_, version)) = line.split_once("RTE Version: ") {
            self.version = Some(version.trim_matches('\'').to_owned());
        }
        self.forwards |= line.contains("Port statistics");
        // Statistics come each second and tell nothing of a failure.
        let is_word = line.chars().any(char::is_alphabetic);
        if !self.forwards && is_word {
            self.last.push_back(line.trim().chars().take(LINE_LEN_MAX).collect());
            if self.last.len() > LINES_MAX {
                self.last.pop_front();
            }
        }
    }
}

const LINES_MAX: usize = 8;
const LINE_LEN_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_readiness_and_the_last_words_are_found() {
        let mut said = Said::default();
        said.note("EAL: RTE Version: 'DPDK 22.11.11'");
        (0..20).for_each(|number| said.note(&format!("line {number}")));
        said.note("-----");
        assert!(!said.forwards);
        assert_eq!(said.version.as_deref(), Some("DPDK 22.11.11"));
        assert_eq!(said.last.back().map(String::as_str), Some("line 19"));
        assert_eq!(said.last.len(), LINES_MAX);
        said.note("\u{1b}[2JPort statistics ====================================");
        assert!(said.forwards);
    }
}
