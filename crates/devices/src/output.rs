//! The last that the daemon said, for when it ends.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex};

use netns::Child;

/// Output of a daemon, read by threads that end with it.
#[derive(Default)]
pub(crate) struct Output(Arc<Mutex<VecDeque<String>>>);

impl Output {
    /// Starts to read the output of a process.
    pub fn of(child: &mut Child) -> Output {
        let (stdout, stderr) = child.output();
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            stdout.map(|stream| Box::new(stream) as _),
            stderr.map(|stream| Box::new(stream) as _),
        ];
        let said = Arc::new(Mutex::new(VecDeque::new()));
        for stream in streams.into_iter().flatten() {
            let said = said.clone();
            std::thread::spawn(move || read(stream, &said));
        }
        Output(said)
    }

    /// Returns the last lines as one line.
    pub fn last(&self) -> String {
        let said = self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        match said.is_empty() {
            true => "it printed nothing".to_owned(),
            false => said.iter().cloned().collect::<Vec<_>>().join(" | "),
        }
    }
}

fn read(stream: Box<dyn Read + Send>, said: &Mutex<VecDeque<String>>) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let mut said = said.lock().unwrap_or_else(|broken| broken.into_inner());
        said.truncate(LINES_MAX - 1);
        said.push_front(line.chars().take(LINE_CHARS_MAX).collect());
    }
}

/// Number of kept lines, the latest ones.
const LINES_MAX: usize = 4;
const LINE_CHARS_MAX: usize = 500;
