//! Jobs in two lanes: one for what computes, one for what waits, so that the cores have something
//! to do while the clock, the kernel or another program is waited for.
//!
//! Each lane takes its jobs in their order, one at a time, and then those of the other lane. What a
//! job prints goes to a file.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::invocation::Ended;

/// A lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Of what keeps the cores busy.
    Computing,
    /// Of what waits more than it computes.
    Waiting,
}

/// What a job does; all that it prints goes to the file.
pub type Work = Box<dyn FnOnce(&Path) -> Result<Ended> + Send>;

/// Something to run beside others.
pub struct Job {
    /// What is told of it.
    pub name: String,
    /// The command that does the same alone.
    pub repeat: String,
    /// Where it runs.
    pub lane: Lane,
    /// Whether nothing more is begun after it has failed.
    pub is_needed: bool,
    /// What it does.
    pub work: Work,
}

/// How a job ended.
pub struct Done {
    /// What is told of it.
    pub name: String,
    /// The command that does the same alone.
    pub repeat: String,
    /// Whether nothing more is begun if it has failed.
    pub is_needed: bool,
    /// How it ended.
    pub ended: Result<Ended>,
    /// What it printed.
    pub output: String,
    /// How long it took.
    pub time: Duration,
}

/// Runs the jobs; `done` hears of each, and whether it is true tells if others are to be begun.
pub fn run(jobs: Vec<Job>, logs: &Path, mut done: impl FnMut(Done) -> bool) {
    let (computing, waiting): (VecDeque<Job>, VecDeque<Job>) =
        jobs.into_iter().partition(|job| job.lane == Lane::Computing);
    let queues = Mutex::new([computing, waiting]);
    let lock = || queues.lock().unwrap_or_else(PoisonError::into_inner);
    // A lane goes on when it was heard, so that none runs far ahead of a failure.
    let (sender, receiver) = mpsc::sync_channel(0);
    thread::scope(|scope| {
        for lane in [Lane::Computing, Lane::Waiting] {
            let sender = sender.clone();
            scope.spawn(move || {
                loop {
                    // The lock is held for this statement only, not while the job runs.
                    let job = next(&mut lock(), lane);
                    let Some(job) = job else { break };
                    // Nobody hears it when the other side has failed, which ends this one, too.
                    let _ = sender.send(run_one(job, logs));
                }
            });
        }
        drop(sender);
        for ended in receiver {
            if !done(ended) {
                lock().iter_mut().for_each(VecDeque::clear);
            }
        }
    });
}

/// The first job of a lane; where it has none, of the other.
fn next([computing, waiting]: &mut [VecDeque<Job>; 2], lane: Lane) -> Option<Job> {
    let (own, other) = match lane {
        Lane::Computing => (computing, waiting),
        Lane::Waiting => (waiting, computing),
    };
    own.pop_front().or_else(|| other.pop_front())
}

fn run_one(job: Job, logs: &Path) -> Done {
    let Job { name, repeat, is_needed, work, .. } = job;
    let file = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let file = logs.join(file).with_extension("txt");
    let begun = Instant::now();
    let ended = work(&file);
    let output = std::fs::read(&file).unwrap_or_default();
    let output = String::from_utf8_lossy(&output).into_owned();
    Done { name, repeat, is_needed, ended, output, time: begun.elapsed() }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::{Arc, Barrier};

    use super::*;
    use crate::invocation::ONE_PASSED;

    fn job(name: &str, lane: Lane, work: impl FnOnce() + Send + 'static) -> Job {
        let work = move |file: &Path| {
            work();
            fs::write(file, "printed")?;
            Ok(ONE_PASSED)
        };
        Job {
            name: name.into(),
            repeat: String::new(),
            lane,
            is_needed: true,
            work: Box::new(work),
        }
    }

    fn logs() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-lanes-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        folder
    }

    #[test]
    fn the_lanes_run_beside_each_other_and_help_out() {
        let both = Arc::new(Barrier::new(2));
        let meeting = |name: &str, lane: Lane| {
            let both = both.clone();
            job(name, lane, move || {
                both.wait();
            })
        };
        // Each of the first two waits for the other, and so do the next two, of one lane.
        let jobs = vec![
            meeting("computing", Lane::Computing),
            meeting("waiting", Lane::Waiting),
            meeting("waiting too", Lane::Waiting),
            meeting("and this", Lane::Waiting),
        ];
        let mut names = Vec::new();
        run(jobs, &logs(), |done| {
            assert_eq!(done.output, "printed");
            names.push(done.name);
            true
        });
        names.sort();
        assert_eq!(names, ["and this", "computing", "waiting", "waiting too"]);
    }

    #[test]
    fn nothing_is_begun_when_that_is_not_wanted() {
        let jobs = (0..100).map(|n| job(&format!("job {n}"), Lane::Computing, || ())).collect();
        let mut count = 0;
        run(jobs, &logs(), |_| {
            count += 1;
            false
        });
        // The first, the one that the other lane had begun, and the next of the first lane.
        assert!(count <= 3, "{count}");
    }
}
