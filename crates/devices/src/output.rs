//! The last that the daemon said, for when it ends.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use netns::Child;

/// Output of a daemon, read by threads that end with it.
#[derive(Default)]
pub(crate) struct Output {
    said: Arc<Mutex<VecDeque<String>>>,
    is_ready: Arc<AtomicBool>,
    /// Number of streams that are read.
    open: Arc<AtomicUsize>,
}

impl Output {
    /// Starts to read the output of a process.
    pub fn of(child: &mut Child) -> Output {
        Output::until(child, None)
    }

    /// Starts to read the output of a process that says a line with this text when it is ready.
    pub fn until(child: &mut Child, text: Option<&'static str>) -> Output {
        let (stdout, stderr) = child.output();
        let streams: [Option<Box<dyn Read + Send>>; 2] = [
            stdout.map(|stream| Box::new(stream) as _),
            stderr.map(|stream| Box::new(stream) as _),
        ];
        let output = Output::default();
        output.is_ready.store(text.is_none(), Ordering::Relaxed);
        for stream in streams.into_iter().flatten() {
            let Output { said, is_ready, open } = &output;
            open.fetch_add(1, Ordering::Relaxed);
            let (said, is_ready, open) = (said.clone(), is_ready.clone(), open.clone());
            let is_text = move |line: &str| text.is_some_and(|text| line.contains(text));
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    is_ready.fetch_or(is_text(&line), Ordering::Relaxed);
                    keep(&line, &said);
                }
                open.fetch_sub(1, Ordering::Release);
            });
        }
        output
    }

    /// Whether the process has said what it says when it is ready.
    pub fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    /// Returns the last lines of a process that has ended, as one line. Its streams may not have
    /// been read to their end yet.
    pub fn last_words(&self) -> String {
        let deadline = Instant::now() + PATIENCE;
        while self.open.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            std::thread::park_timeout(POLL);
        }
        self.last()
    }

    /// Returns the last lines as one line.
    pub fn last(&self) -> String {
        let said = self.said.lock().unwrap_or_else(|broken| broken.into_inner());
        match said.is_empty() {
            true => "it printed nothing".to_owned(),
            false => said.iter().cloned().collect::<Vec<_>>().join(" | "),
        }
    }
}

fn keep(line: &str, said: &Mutex<VecDeque<String>>) {
    let mut said = said.lock().unwrap_or_else(|broken| broken.into_inner());
    said.truncate(LINES_MAX - 1);
    said.push_front(line.chars().take(LINE_CHARS_MAX).collect());
}

/// Number of kept lines, the latest ones.
const LINES_MAX: usize = 4;
const LINE_CHARS_MAX: usize = 500;

/// Time limit for the streams of a process that has ended; one that it has started may hold them.
const PATIENCE: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(1);
