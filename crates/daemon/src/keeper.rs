//! The daemon itself: one thread that owns the function and its ports, and does one thing at a time.
//!
//! Requests of all clients, signals and the passing of time come through one bounded queue. Workers go
//! on forwarding meanwhile; nothing here is on a packet's way.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use machine::clock::{self, Clock};
use packet::Room;
use serde_json::{Map, Value, json};

use crate::capture::{self, Filter, Stream, Tally};
use crate::config::Reload;
use crate::control::Server;
use crate::error::RunError;
use crate::links::{Needs, OpenPort};
use crate::metrics::Exposed;
use crate::protocol::{Ask, Capture, View};
use crate::read::{Configuration, Parts};
use crate::snapshot::Snapshot;
use crate::state;
use crate::times::WallClock;
use crate::unit::{Launch, Refused, Running};

/// Something for the keeper to do.
pub(crate) enum Job {
    /// A client asks; the answer goes back.
    Asked(Ask, SyncSender<Result<Value, Refused>>),
    /// A client wants copies of packets.
    Capture(Capture, SyncSender<Result<Stream, Refused>>),
    /// The capture has ended.
    EndCapture,
    /// A signal asks to read the file again.
    Reload,
    /// A signal asks to end.
    Stop,
}

/// Where jobs come from.
pub struct Inbox {
    jobs: Receiver<Job>,
    sender: SyncSender<Job>,
}

/// Speaks to a daemon of the same process.
#[derive(Clone)]
pub struct Remote(SyncSender<Job>);

impl Inbox {
    /// An empty one.
    pub fn new() -> Inbox {
        let (sender, jobs) = sync_channel(JOBS_MAX);
        Inbox { jobs, sender }
    }

    /// Speaks to the daemon that has or will have this inbox.
    pub fn remote(&self) -> Remote {
        Remote(self.sender.clone())
    }
}

impl Default for Inbox {
    fn default() -> Inbox {
        Inbox::new()
    }
}

impl Remote {
    /// Ends the daemon well.
    pub fn stop(&self) {
        let _ = self.0.send(Job::Stop);
    }

    /// Lets it read its file again; what comes of it is in the log.
    pub fn reload(&self) {
        let _ = self.0.send(Job::Reload);
    }

    /// Starts a capture.
    pub(crate) fn capture(&self, wanted: Capture) -> Result<Stream, Refused> {
        let (answer, answered) = sync_channel(1);
        let ended = |_| Refused::new("the daemon is ending", "");
        self.0.send(Job::Capture(wanted, answer)).map_err(|_| ended(()))?;
        answered.recv().unwrap_or_else(|_| Err(ended(())))
    }

    /// Takes the taps of a capture away.
    pub(crate) fn end_capture(&self) {
        let _ = self.0.send(Job::EndCapture);
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    /// What the daemon refuses, or that it has ended.
    pub fn ask(&self, ask: Ask) -> Result<Value, Refused> {
        self.ask_within(ask, ANSWER_TIME_MAX)
    }

    /// The same for a caller who cannot wait for long.
    ///
    /// # Errors
    /// As [`Remote::ask`], or that it takes too long.
    pub fn ask_within(&self, ask: Ask, time: Duration) -> Result<Value, Refused> {
        let (answer, answered) = sync_channel(1);
        let ended = || Refused::new("the daemon is ending", "");
        self.0.send(Job::Asked(ask, answer)).map_err(|_| ended())?;
        match answered.recv_timeout(time) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(Refused::new("the daemon is busy", "ask later")),
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }
}

/// Which file to run, and how.
pub struct Source {
    /// The file.
    pub file: PathBuf,
    /// What it may name.
    pub parts: Parts,
    /// Whether to begin with what the state file remembers.
    pub with_state: bool,
}

/// A daemon whose workers forward.
pub struct Daemon {
    pub(crate) source: Source,
    pub(crate) configuration: Configuration,
    pub(crate) running: Box<dyn Running>,
    pub(crate) ports: Vec<OpenPort>,
    pub(crate) needs: Needs,
    clock: Clock,
    wall: WallClock,
    started: Instant,
    inbox: Receiver<Job>,
    /// The present and the one before, a second or so apart.
    samples: [Snapshot; 2],
    /// The last capture, and whether it still runs.
    capture: (Arc<Tally>, bool),
    metrics: Option<Exposed>,
    /// Dropping it closes the socket.
    _server: Server,
    /// As it was when it was last looked at, and before.
    file_seen: [FileState; 2],
    socket: PathBuf,
}

impl Daemon {
    /// Starts what a file describes; what was done is undone where that fails.
    ///
    /// # Errors
    /// What the machine lacks, by interface or file and with what to do.
    pub fn start(
        configuration: Configuration,
        source: Source,
        inbox: Inbox,
        clock: Clock,
    ) -> Result<Daemon, RunError> {
        let Inbox { jobs, sender } = inbox;
        let remote = Remote(sender);
        let server = Server::bind(&configuration.name, &configuration.control)?;
        let name = configuration.function.kind.name();
        let memory = match &configuration.state {
            Some(path) if source.with_state => state::read(path, name)?,
            _ => None,
        };
        let count = configuration.cores.len();
        let prepared = configuration.function.configured.prepare(count, clock, memory.as_ref())?;
        may_go_on(&jobs)?;
        let workers = &configuration.workers;
        let needs = Needs {
            queues: count,
            frame_bytes_max: workers.frame_bytes_max,
            ticks_per_second: clock.ticks_per_second(),
            steering: configuration.function.configured.frame_steering().filter(|_| count > 1),
        };
        let (ports, queues) = open_all(&configuration, &needs)?;
        may_go_on(&jobs)?;
        let launch = Launch {
            cores: configuration.cores.clone(),
            rest: workers.idle,
            batch: workers.batch,
            room: Room { frame: workers.frame_bytes_max, ..Room::default() },
        };
        let running = prepared.launch(queues, &launch)?;
        let socket = server.path().to_owned();
        let metrics = configuration.metrics.as_ref();
        let metrics = metrics.map(|metrics| Exposed::start(metrics, remote.clone())).transpose()?;
        let server = server.serve(remote)?;
        let sample =
            || Snapshot::take(clock::now(), clock, running.words(), &running.work(), &ports);
        let samples = [sample(), sample()];
        tracing::info!(name = configuration.name, function = name, workers = count, "ready");
        Ok(Daemon {
            running,
            ports,
            needs,
            clock,
            wall: WallClock::new(clock),
            started: Instant::now(),
            inbox: jobs,
            samples,
            capture: Default::default(),
            metrics,
            file_seen: [file_state(&source.file); 2],
            _server: server,
            socket,
            configuration,
            source,
        })
    }

    /// The name of the daemon.
    pub fn name(&self) -> &str {
        &self.configuration.name
    }

    /// Where its control socket is.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Does what it is asked until it is to end; then keeps its state and closes everything.
    ///
    /// # Errors
    /// When a worker is gone, or the state cannot be written.
    pub fn run(mut self) -> Result<(), RunError> {
        let mut next_tick = Instant::now() + TICK;
        loop {
            let wait = next_tick.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(wait) {
                Ok(Job::Stop) => break,
                Ok(Job::Reload) => drop(self.reload()),
                Ok(Job::Asked(Ask::Stop, answer)) => {
                    let _ = answer.try_send(Ok(json!({})));
                    break;
                }
                Ok(Job::Asked(ask, answer)) => {
                    // A client that is gone needs no answer.
                    let _ = answer.try_send(self.answer(ask));
                }
                Ok(Job::Capture(wanted, answer)) => {
                    if answer.try_send(self.start_capture(&wanted)).is_err() {
                        self.end_capture();
                    }
                }
                Ok(Job::EndCapture) => self.end_capture(),
                Err(RecvTimeoutError::Timeout) => {
                    next_tick = Instant::now() + TICK;
                    self.tick()?;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        tracing::info!("stopping");
        let kept = match self.configuration.state {
            Some(_) => self.save().map(drop),
            None => Ok(()),
        };
        kept.map_err(|refused| RunError::Setup { what: refused.what, remedy: refused.remedy })
    }

    /// What is done now and then.
    fn tick(&mut self) -> Result<(), RunError> {
        if let Some(worker) = self.running.lost() {
            tracing::error!(worker, "a worker ended by itself");
            return Err(RunError::WorkerLost(worker));
        }
        let now = self.sample();
        self.samples.swap(0, 1);
        self.samples[1] = now;
        self.follow_file();
        Ok(())
    }

    /// Reads a file again that has changed and then stayed as it is for a while.
    fn follow_file(&mut self) {
        let now = file_state(&self.source.file);
        let [loaded, seen] = self.file_seen;
        self.file_seen[1] = now;
        if now != loaded && now == seen && now.is_some() {
            self.file_seen[0] = now;
            if self.configuration.reload == Reload::OnChange {
                drop(self.reload());
            }
        }
    }

    fn sample(&self) -> Snapshot {
        let (words, work) = (self.running.words(), self.running.work());
        Snapshot::take(clock::now(), self.clock, words, &work, &self.ports)
    }

    fn answer(&mut self, ask: Ask) -> Result<Value, Refused> {
        match ask {
            Ask::Ready => Ok(json!({
                "name": self.configuration.name,
                "function": self.configuration.function.kind.name(),
                "process": std::process::id(),
                "version": env!("CARGO_PKG_VERSION"),
                "metrics": self.metrics.as_ref().map(|one| format!("http://{}/metrics", one.address)),
                "uptime_s": self.started.elapsed().as_secs_f64(),
            })),
            Ask::Show(View::Config) => Ok(json!({"config": self.configuration.effective()})),
            Ask::Show(View::Tables) => self.tables(),
            Ask::Show(view) => self.show(view),
            Ask::Table { name, worker, from, limit } => self.table(&name, worker, from, limit),
            Ask::Set(update) => {
                let text = update.to_string();
                let applied_at = self.running.update(update)?;
                tracing::info!(update = text, "changed");
                Ok(json!({
                    "applied_at": self.wall.text(applied_at),
                    "applied_at_ticks": applied_at,
                }))
            }
            Ask::Reload => self.reload(),
            Ask::Save => self.save(),
            Ask::Capture(_) | Ask::Stop => Ok(json!({})),
        }
    }

    /// Sets a tap on every worker.
    fn start_capture(&mut self, wanted: &Capture) -> Result<Stream, Refused> {
        if self.capture.1 {
            return Err(Refused::new("a capture runs already", "end that one first"));
        }
        let names: Vec<&'static str> = self.ports.iter().map(|port| port.name).collect();
        let drops = self.running.words().drops;
        let filter = Filter::new(wanted, &names, drops)?;
        let tally = Arc::new(Tally::default());
        let mut taps: Vec<Option<Box<dyn engine::Tap>>> = Vec::new();
        let mut rings = Vec::new();
        for _ in 0..self.needs.queues {
            let (tap, ring) = capture::tap(filter, &tally)
                .map_err(|error| Refused::new(format!("no memory for a capture: {error}"), ""))?;
            taps.push(Some(Box::new(tap)));
            rings.push(ring);
        }
        self.running.tap(taps)?;
        self.capture = (Arc::clone(&tally), true);
        tracing::info!(?filter, "capture began");
        let count = wanted.count.unwrap_or(u64::MAX);
        Ok(Stream { rings, tally, ports: names, drops, wall: self.wall, count })
    }

    fn end_capture(&mut self) {
        if let Err(refused) = self.running.tap((0..self.needs.queues).map(|_| None).collect()) {
            tracing::error!(why = refused.what, "a capture could not be ended");
        }
        self.capture.1 = false;
        let (copied, missed) = self.captured();
        tracing::info!(copied, missed, "capture ended");
    }

    fn captured(&self) -> (u64, u64) {
        let tally = &self.capture.0;
        (tally.copied.load(Ordering::Relaxed), tally.missed.load(Ordering::Relaxed))
    }

    fn show(&mut self, view: View) -> Result<Value, Refused> {
        let now = self.sample();
        // Of the two samples the one that is further back, if rates would rest on too little.
        let recent = self.clock.nanos(now.at.saturating_sub(self.samples[1].at));
        let earlier = &self.samples[usize::from(recent >= RATE_NS_MIN)];
        let mut shown = now.view(view, earlier, self.clock);
        shown["time"] = json!(self.wall.text(now.at));
        shown["uptime_s"] = json!(self.started.elapsed().as_secs_f64());
        let (copied, missed) = self.captured();
        shown["capture"] = json!({"runs": self.capture.1, "copied": copied, "missed": missed});
        Ok(shown)
    }

    fn tables(&mut self) -> Result<Value, Refused> {
        let names = self.running.words().tables;
        let sizes = self.running.sizes()?;
        let of = |(index, name): (usize, &&str)| {
            let used = |one: &crate::unit::Sizes| one.tables.get(index).map_or(0, |size| size.used);
            let capacity =
                |one: &crate::unit::Sizes| one.tables.get(index).map_or(0, |size| size.capacity);
            let table = json!({
                "used": sizes.iter().map(used).sum::<u64>(),
                "capacity": sizes.iter().map(capacity).sum::<u64>(),
                "used_by_worker": sizes.iter().map(used).collect::<Vec<_>>(),
            });
            ((*name).to_owned(), table)
        };
        let tables: Map<String, Value> = names.iter().enumerate().map(of).collect();
        let bytes: usize = sizes.iter().map(|one| one.state_bytes).sum();
        let mut shown = json!({"tables": tables, "state_bytes": bytes, "workers": sizes.len()});
        if let Some(standby) = crate::unit::standby(&sizes) {
            shown["standby"] = standby;
        }
        Ok(shown)
    }

    fn table(
        &mut self,
        name: &str,
        worker: usize,
        from: u64,
        limit: usize,
    ) -> Result<Value, Refused> {
        let names = self.running.words().tables;
        let Some(table) = names.iter().position(|one| *one == name) else {
            let what = format!("there is no table `{name}`");
            let near = document::keys::nearest(name, names.iter());
            let remedy = near.map_or_else(
                || format!("tables: {}", names.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(Refused::new(what, remedy));
        };
        let page = self.running.page(worker, table, from, limit.clamp(1, PAGE_MAX))?;
        Ok(json!({"entries": page.entries, "next": page.next}))
    }

    /// Writes the state file.
    fn save(&mut self) -> Result<Value, Refused> {
        let Some(path) = self.configuration.state.clone() else {
            return Err(Refused::new(
                "the file names no place for the state",
                "add `state: <file>` and start again",
            ));
        };
        let memory = self.running.memory()?;
        let updates = memory.updates.len();
        state::write(&path, self.configuration.function.kind.name(), memory)
            .map_err(|error| Refused::new(error.to_string(), error.remedy()))?;
        tracing::info!(updates, path = %path.display(), "state kept");
        Ok(json!({"file": path, "updates": updates}))
    }
}

/// By which a changed file is told from the one before: number, length, time of change.
type FileState = Option<(u64, u64, SystemTime)>;

fn file_state(path: &Path) -> FileState {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.modified().ok()?))
}

/// The queues of each worker, one a port.
type QueuesByWorker = Vec<Vec<Box<dyn engine::Port>>>;

/// Opens all ports; those that were opened are closed again where one fails.
fn open_all(
    configuration: &Configuration,
    needs: &Needs,
) -> Result<(Vec<OpenPort>, QueuesByWorker), RunError> {
    let mut queues = QueuesByWorker::new();
    queues.resize_with(needs.queues, Vec::new);
    let mut ports = Vec::new();
    for (number, choice) in configuration.ports.iter().enumerate() {
        let (port, own) = OpenPort::open(choice, number, needs)?;
        ports.push(port);
        for (worker, queue) in queues.iter_mut().zip(own) {
            worker.push(queue);
        }
    }
    Ok((ports, queues))
}

/// Whether nobody asked to stop so far.
fn may_go_on(jobs: &Receiver<Job>) -> Result<(), RunError> {
    loop {
        match jobs.try_recv() {
            Ok(Job::Stop) | Err(TryRecvError::Disconnected) => return Err(RunError::Stopped),
            // The file is as new as it can be.
            Ok(Job::Reload | Job::EndCapture) => {}
            // Nobody is served before the daemon is ready.
            Ok(Job::Asked(..) | Job::Capture(..)) => {}
            Err(TryRecvError::Empty) => return Ok(()),
        }
    }
}

/// Jobs that wait at most; whoever has another one waits for a place.
const JOBS_MAX: usize = 64;

/// More than a reload of ten million users takes.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(600);

/// How often workers and files are looked at, and samples taken.
const TICK: Duration = Duration::from_secs(1);

/// Rates over less than this would jump.
const RATE_NS_MIN: u64 = 500_000_000;

/// Entries of a table that a worker gathers between two batches.
const PAGE_MAX: usize = 1000;
