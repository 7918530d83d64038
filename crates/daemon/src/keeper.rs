//! The daemon itself: one thread that owns the function and its ports, and does one thing at a
//! time.
//!
//! Requests of all clients, signals and the passing of time come through one bounded queue. Workers
//! go on forwarding meanwhile; nothing here is on a packet's way.

use std::fs;
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant, SystemTime};

use function_kit::PortName;
use host::Observer;
use machine::clock::{self, Clock};
use packet::{LONG_BYTES_MAX, PortId, Room};
use serde_json::{Value, json};

use crate::before::{Before, journal_of};
use crate::board::Board;
use crate::capture::{self, Filter, Stream, Tally};
use crate::conditions::Watching;
use crate::config::Reload;
use crate::control::Server;
use crate::controller::thread::{Keys, Recipe, take_claimed};
use crate::controller::{Alarms, ControllerThread, Journal};
use crate::error::RunError;
use crate::exchange::Exchange;
use crate::inbox::{Inbox, Job, Remote};
use crate::links::{Needs, OpenPort};
use crate::manager;
use crate::metrics::Exposed;
use crate::plane::{HostThread, Opened};
use crate::protocol::{Ask, Capture, View};
use crate::read::{Configuration, Parts};
use crate::snapshot::Snapshot;
use crate::team::Team;
use crate::team::prepared::Prepared;
use crate::times::WallClock;
use crate::unit::{Launch, Refused};

/// Configuration file of a daemon and start options.
pub struct Source {
    /// Path of the configuration file.
    pub file: PathBuf,
    /// Functions and ports that the file can name.
    pub parts: Parts,
    /// Whether to start from the state file.
    pub with_state: bool,
}

/// A daemon whose workers forward packets.
pub struct Daemon {
    pub(crate) source: Source,
    pub(crate) configuration: Configuration,
    pub(crate) running: Team,
    pub(crate) ports: Vec<OpenPort>,
    pub(crate) needs: Needs,
    /// The thread of the host's interfaces and of what workers tell, if there is any of it.
    host: Option<HostThread>,
    /// The threads of the controllers, in the order of the configuration.
    pub(crate) controllers: Vec<ControllerThread>,
    pub(crate) alarms: Alarms,
    /// Sees what drives protocols.
    pub(crate) observer: Arc<Observer>,
    pub(crate) watching: Watching,
    /// Updates since the state file was written, if there is a controller and a state file.
    pub(crate) journal: Option<Journal>,
    clock: Clock,
    pub(crate) wall: WallClock,
    pub(crate) started: Instant,
    inbox: Receiver<Job>,
    /// The latest snapshot and an earlier one, about a second apart.
    pub(crate) samples: [Snapshot; 2],
    /// Counters of the last capture, and whether it still runs.
    pub(crate) capture: (Arc<Tally>, bool),
    metrics: Option<Exposed>,
    /// Server of the control socket; dropping it closes the socket.
    _server: Server,
    /// State of the file at the last two checks.
    file_seen: [FileState; 2],
    socket: PathBuf,
}

impl Daemon {
    /// Starts the daemon of a file; on failure, all steps are undone.
    ///
    /// # Errors
    /// What the machine lacks, with the interface or file and a remedy.
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
        let mut before = match &configuration.state {
            Some(path) if source.with_state => Before::open(path, name)?,
            _ => None,
        };
        let (count, observer) = (configuration.cores.len(), Arc::<Observer>::default());
        let mut prepared = Prepared::build(&configuration.function, count, clock, before.as_mut())?;
        let mut state = match configuration.controllers.is_empty() {
            true => Vec::new(),
            false => prepared.changes(),
        };
        may_go_on(&jobs)?;
        let workers = &configuration.workers;
        let needs = Needs {
            queues: count,
            frame_bytes_max: workers.frame_bytes_max,
            ticks_per_second: clock.ticks_per_second(),
            steering: prepared.frame_steering(),
        };
        let (mut ports, queues) = open_all(&configuration, &needs)?;
        for (number, port) in (0..).zip(&mut ports) {
            port.told_mtu = port.mtu();
            if let Some(mtu) = port.told_mtu {
                prepared.set_mtu(PortId(number), mtu.min(needs.packet_bytes_max()));
            }
        }
        let opened = Opened::open(&configuration, clock.ticks_per_second())?;
        may_go_on(&jobs)?;
        let launch = Launch {
            cores: configuration.cores.clone(),
            rest: workers.idle,
            batch: workers.batch,
            room: room(&configuration),
            joining: opened.as_ref().map(|opened| opened.joining.clone()),
            observer: Arc::clone(&observer),
        };
        let mut running = prepared.launch(queues, &launch)?;
        let planes = running.take_planes();
        let (board, exchange) = (Arc::<Board>::default(), Arc::<Exchange>::default());
        let worker = running.first_thread();
        let start = |opened| HostThread::start(opened, planes, worker, (&board, &exchange));
        let host = opened.map(start).transpose()?;
        let socket = server.path().to_owned();
        let metrics = configuration.metrics.as_ref();
        let metrics = metrics.map(|metrics| Exposed::start(metrics, remote.clone())).transpose()?;
        let server = server.serve(remote.clone())?;
        let journal = journal_of(&configuration, before.as_ref());
        let started = Instant::now();
        let mut controllers = Vec::new();
        for controller in &configuration.controllers {
            let state = take_claimed(&**controller, &mut state);
            let function = Arc::clone(&configuration.function.configured);
            let keys = Keys { controller: Arc::clone(controller), function };
            let recipe = Recipe {
                keys,
                board: Arc::clone(&board),
                exchange: Arc::clone(&exchange),
                observer: Arc::clone(&observer),
                keeper: remote.clone(),
                clock,
                started,
            };
            controllers.push(ControllerThread::start(recipe, state)?);
        }
        let sample = || sample(clock, &running, &ports, host.as_ref());
        let samples = [sample(), sample()];
        configuration.tell_remarks();
        tracing::info!(name = configuration.name, function = name, workers = count, "ready");
        let mut daemon = Daemon {
            running,
            ports,
            needs,
            host,
            clock,
            wall: WallClock::new(clock),
            started,
            controllers,
            alarms: Alarms::default(),
            observer,
            watching: Watching::default(),
            journal,
            inbox: jobs,
            samples,
            capture: Default::default(),
            metrics,
            file_seen: [file_state(&source.file); 2],
            _server: server,
            socket,
            configuration,
            source,
        };
        daemon.keep();
        Ok(daemon)
    }

    /// Returns the name of the daemon.
    pub fn name(&self) -> &str {
        &self.configuration.name
    }

    /// Returns the path of the control socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Executes requests until one ends the daemon; then writes the state file and closes
    /// everything.
    ///
    /// # Errors
    /// When a worker has ended, or the state file cannot be written.
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
                Ok(Job::Asked(ask, answer)) => self.answer_by(ask, &answer),
                Ok(Job::Piece(piece, answer)) => {
                    let _ = answer.try_send(self.apply_piece(&piece));
                }
                Ok(Job::Capture(wanted, answer)) => {
                    if answer.try_send(self.start_capture(&wanted)).is_err() {
                        self.end_capture();
                    }
                }
                Ok(Job::EndCapture) => self.end_capture(),
                Ok(Job::Control(order)) => self.control(order)?,
                Err(RecvTimeoutError::Timeout) => {
                    next_tick = Instant::now() + TICK;
                    self.tick()?;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        tracing::info!("stopping");
        manager::stopping();
        // Nobody answers it from now on.
        self.inbox = std::sync::mpsc::sync_channel(0).1;
        self.controllers.clear();
        let kept = match self.configuration.state {
            Some(_) => self.save().map(drop),
            None => Ok(()),
        };
        self.wind_down();
        kept.map_err(|refused| RunError::Setup { what: refused.what, remedy: refused.remedy })
    }

    /// Executes the periodic tasks.
    fn tick(&mut self) -> Result<(), RunError> {
        if let Some(worker) = self.running.lost() {
            tracing::error!(worker, "a worker ended unexpectedly");
            return Err(RunError::WorkerLost(worker));
        }
        let now = self.sample();
        self.samples.swap(0, 1);
        self.samples[1] = now;
        self.follow_file();
        self.watch_controllers();
        self.keep();
        // A worker that does not answer is told of by who waits for it.
        drop(self.look_around());
        drop(self.tell_lines());
        drop(self.follow_mtus());
        Ok(())
    }

    /// Reloads a file that has changed and then remained unchanged for a while.
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
        sample(self.clock, &self.running, &self.ports, self.host.as_ref())
    }

    pub(crate) fn answer(&mut self, ask: Ask) -> Result<Value, Refused> {
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
            Ask::Show(View::Measured) => self.measured(),
            Ask::Show(View::Neighbours) => self.neighbours(),
            Ask::Show(View::Timers) => Ok(self.timers()),
            Ask::Show(View::Alarms) => Ok(json!({"alarms": self.alarms.view()})),
            Ask::Show(View::Protocols) => self.protocols(),
            Ask::Show(view) => self.show(view),
            Ask::Set(update) => {
                let text = update.to_string();
                let applied_at = self.running.update(&update)?;
                self.record(iter::once(update));
                tracing::info!(update = text, "changed");
                Ok(json!({
                    "applied_at": self.wall.text(applied_at),
                    "applied_at_ticks": applied_at,
                }))
            }
            Ask::Reload => self.reload(),
            Ask::Save => self.save(),
            Ask::Table { .. } | Ask::Metrics(_) | Ask::Capture(_) | Ask::Updates | Ask::Stop => {
                Ok(json!({}))
            }
        }
    }

    /// Sets a tap on every worker.
    fn start_capture(&mut self, wanted: &Capture) -> Result<Stream, Refused> {
        if self.capture.1 {
            return Err(Refused::new("another capture is running", "end it first"));
        }
        let names: Vec<PortName> = self.ports.iter().map(|port| port.name).collect();
        let drops = self.running.words().drops;
        let spoken = wanted.protocol.as_deref().and_then(|name| self.running.spoken(name));
        let filter = Filter::new(wanted, &names, drops, spoken)?;
        let traced = self.tracer_for(wanted, spoken.is_some())?;
        let tally = Arc::new(Tally::default());
        let mut taps: Vec<Option<Box<dyn engine::Tap>>> = Vec::new();
        let mut rings = Vec::new();
        let tapped = wanted.protocol.is_none() || spoken.is_some();
        for _ in 0..if tapped { self.needs.queues } else { 0 } {
            let (tap, ring) = capture::tap(filter, &tally)
                .map_err(|error| Refused::new(format!("no memory for a capture: {error}"), ""))?;
            taps.push(Some(Box::new(tap)));
            rings.push(ring);
        }
        self.running.tap(taps)?;
        if let (Some(traced), Some(protocol)) = (&traced, &wanted.protocol) {
            traced.trace().begin(protocol);
        }
        self.capture = (Arc::clone(&tally), true);
        tracing::info!(?filter, "capture started");
        let count = wanted.count.unwrap_or(u64::MAX);
        let (wall, snaplen) = (self.wall, wanted.snaplen.unwrap_or(usize::MAX));
        Ok(Stream { rings, tally, ports: names, drops, wall, count, snaplen, traced })
    }

    fn end_capture(&mut self) {
        if let Err(refused) = self.running.tap((0..self.needs.queues).map(|_| None).collect()) {
            tracing::error!(why = refused.what, "a capture could not be ended");
        }
        self.capture.1 = false;
        self.end_trace();
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
        if view == View::All {
            shown["alarms"] = self.alarms.counts();
        }
        shown["capture"] = json!({"runs": self.capture.1, "copied": copied, "missed": missed});
        Ok(shown)
    }
}

/// Reads all counters.
fn sample(clock: Clock, running: &Team, ports: &[OpenPort], host: Option<&HostThread>) -> Snapshot {
    let watch = host.map(|host| &host.watch);
    Snapshot::take((clock::now(), clock), (running.words(), &running.work()), ports, watch)
}

/// Attributes by which a changed file is detected: inode number, length, modification time.
type FileState = Option<(u64, u64, SystemTime)>;

fn file_state(path: &Path) -> FileState {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.modified().ok()?))
}

/// The room of a worker's frames.
fn room(configuration: &Configuration) -> Room {
    let takes_long = configuration.function.configured.takes_long();
    Room {
        frame: configuration.workers.frame_bytes_max,
        long: if takes_long { LONG_BYTES_MAX } else { 0 },
        ..Room::default()
    }
}

/// Queues of each worker, one per port.
type QueuesByWorker = Vec<Vec<Box<dyn engine::Port>>>;

/// Opens all ports; if one fails, the opened ones are closed again.
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

/// Returns an error if a stop was requested.
fn may_go_on(jobs: &Receiver<Job>) -> Result<(), RunError> {
    loop {
        match jobs.try_recv() {
            Ok(Job::Stop) | Err(TryRecvError::Disconnected) => return Err(RunError::Stopped),
            // The file is as new as it can be.
            Ok(Job::Reload | Job::EndCapture) => {}
            // Nobody is served before the daemon is ready.
            Ok(Job::Asked(..) | Job::Piece(..) | Job::Capture(..) | Job::Control(..)) => {}
            Err(TryRecvError::Empty) => return Ok(()),
        }
    }
}

/// Interval of the checks of workers and files, and of the samples.
const TICK: Duration = Duration::from_secs(1);

/// Shortest interval for rates; over shorter ones they would fluctuate.
const RATE_NS_MIN: u64 = 500_000_000;
