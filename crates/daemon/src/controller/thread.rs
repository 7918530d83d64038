//! The thread of a controller: it drives the controller by sockets and clock, and tells the keeper
//! what that wants.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use controller_kit::erased::{Configured, Running};
use controller_kit::{
    Action, Alarm, Event, Happening, Level, Line, Link, Punt, Setup, Severity, Table,
};
use function_kit::{HostInterface, Invalid};
use functions::AnyUpdate;
use host::{Host, Observer};
use machine::clock::{self, Clock, Ticks};
use nix::net::if_::if_nametoindex;
use packet::Reason;
use protocol_kit::{Interface, Machine, Time};
use serde_json::{Value, json};

use super::order::{Order, Settled};
use super::questions::{Answer, Question, Questions};
use crate::board::{Board, EventBox};
use crate::error::RunError;
use crate::exchange::{Exchange, PuntBox, Raised};
use crate::inbox::Remote;
use crate::logs::Last;
use crate::nothing::is_nothing;
use crate::plane;

/// A running controller; dropping it ends it.
pub struct ControllerThread {
    /// The controller as it is configured.
    pub controller: Arc<dyn Configured>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and the keeper both see.
struct Shared {
    stops: AtomicBool,
    /// With what the controller is to go on, if that has changed.
    wanted: Mutex<Option<Keys>>,
    /// What workers have told.
    events: Arc<EventBox>,
    /// What the controller has shown last, and how many entries its tables had then.
    shown: Mutex<(Value, Vec<Option<u64>>)>,
    /// What operators ask, and tell it to do.
    questions: Questions,
    /// When the thread was last seen at work, in milliseconds since its start.
    seen_ms: AtomicU64,
    /// How often the controller was created again.
    restarts: AtomicU64,
}

/// A controller and its function, as they are configured.
#[derive(Clone)]
pub struct Keys {
    /// The controller.
    pub controller: Arc<dyn Configured>,
    /// Its function; one that is nothing where there is none.
    pub function: Arc<dyn functions::Configured>,
}

impl Keys {
    /// The function, if there is one.
    fn function(&self) -> Option<&dyn functions::Configured> {
        (!is_nothing(self.function.name())).then_some(&*self.function)
    }
}

/// What a controller is created with, whenever that is.
pub struct Recipe {
    /// How it is configured.
    pub keys: Keys,
    /// What workers tell.
    pub board: Arc<Board>,
    /// Where frames that workers punt come from, and frames go that they are to send.
    pub exchange: Arc<Exchange>,
    /// Who sees it.
    pub observer: Arc<Observer>,
    /// Where updates and alarms go.
    pub keeper: Remote,
    /// The workers' clock.
    pub clock: Clock,
    /// When it was started first.
    pub started: Instant,
}

impl ControllerThread {
    /// Creates a controller from what its function has beyond its configuration and it claims, and
    /// starts its thread, in the network namespace of the function's host interfaces.
    ///
    /// # Errors
    /// When the controller does not fit to the function, or there is no thread.
    pub fn start(mut recipe: Recipe, state: Vec<AnyUpdate>) -> Result<ControllerThread, RunError> {
        let first = create(&recipe.keys, state)?;
        let controller = Arc::clone(&recipe.keys.controller);
        let name = controller.name();
        let failed = |error: std::io::Error| {
            RunError::setup(format!("no thread for the controller `{name}`: {error}"), "")
        };
        let shared = Arc::new(Shared {
            stops: AtomicBool::new(false),
            wanted: Mutex::default(),
            events: Arc::new(EventBox::new().map_err(failed)?),
            shown: Mutex::default(),
            questions: Questions::default(),
            seen_ms: AtomicU64::default(),
            restarts: AtomicU64::default(),
        });
        let seen = Arc::clone(&shared);
        let body = move || {
            let mut controller = Some(first);
            while !seen.stops.load(Ordering::Relaxed) {
                let turn = || match controller.take() {
                    Some(controller) => serve(controller, &mut recipe, &seen),
                    None => again(&mut recipe, &seen),
                };
                if let Err(why) = catch_unwind(AssertUnwindSafe(turn)).unwrap_or_else(|_| {
                    tracing::error!(name, "a controller panicked; it begins again from the tables");
                    Err("the controller panicked".to_owned())
                }) {
                    seen.restarts.fetch_add(1, Ordering::Relaxed);
                    raise(&recipe, Some(Severity::Major), why);
                    thread::park_timeout(PAUSE);
                }
            }
        };
        let thread = thread::Builder::new().name(name.into()).spawn(body).map_err(failed)?;
        Ok(ControllerThread { controller, shared, thread: Some(thread) })
    }

    /// Goes on with other keys of the controller or of its function, which fit.
    pub fn reload(&mut self, keys: Keys) {
        self.controller = Arc::clone(&keys.controller);
        *self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner) = Some(keys);
        let _ = self.shared.events.bell.write(1);
    }

    /// Returns what the controller shows, at most a second old, and how its thread is.
    pub fn view(&self, started: Instant) -> Value {
        let (shown, _) = self.shared.shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let silent = millis(started).saturating_sub(self.shared.seen_ms.load(Ordering::Relaxed));
        json!({
            "controller": shown,
            "silent_ms": silent,
            "restarts": self.shared.restarts.load(Ordering::Relaxed),
        })
    }

    /// Returns the controller's tables, with how many entries they had a second ago at most.
    pub fn tables(&self) -> Vec<Value> {
        let (_, sizes) = self.shared.shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sizes = sizes.into_iter().chain(std::iter::repeat(None));
        let all = self.controller.tables().iter().zip(sizes);
        let name = self.controller.name();
        let row = |(table, size): (&Table, Option<u64>)| {
            json!({"controller": name, "table": table.name, "entries": size,
                   "filters": table.filters, "each": table.summary})
        };
        all.map(row).collect()
    }

    /// Hands a question to the controller, which answers it in its next turns.
    pub fn ask(&self, question: Question, answer: Answer) {
        self.shared.questions.push(question, answer);
        let _ = self.shared.events.bell.write(1);
    }

    /// Returns for how long the thread was not seen at work.
    pub fn silent(&self, started: Instant) -> Duration {
        let seen = self.shared.seen_ms.load(Ordering::Relaxed);
        Duration::from_millis(millis(started).saturating_sub(seen))
    }
}

impl Drop for ControllerThread {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        // One that never returns is left to the end of the process.
        let deadline = Instant::now() + END_MAX;
        while !thread.is_finished() && Instant::now() < deadline {
            thread::park_timeout(PATIENCE);
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

/// Takes out of what a function has beyond its configuration what a controller claims.
pub fn take_claimed(controller: &dyn Configured, state: &mut Vec<AnyUpdate>) -> Vec<AnyUpdate> {
    let claims = controller.claims();
    state.extract_if(.., |update| claims.contains(&update.kind().as_str())).collect()
}

/// Creates a controller from what its function has beyond its configuration and it claims, and from
/// what is in its file.
///
/// # Errors
/// What does not fit.
pub fn create(keys: &Keys, state: Vec<AnyUpdate>) -> Result<Box<dyn Running>, RunError> {
    let seed = RandomState::new().build_hasher().finish();
    let setup = Setup { function: keys.function(), state, seed };
    let unusable = |bad: Invalid| RunError::setup(bad.to_string(), &bad.remedy);
    let mut controller = keys.controller.create(setup).map_err(unusable)?;
    if let Some(path) = keys.controller.file() {
        controller.restore(&kept(path)?).map_err(unusable)?;
    }
    Ok(controller)
}

/// What an earlier life of a controller has kept in its file: nothing if there is none.
fn kept(path: &Path) -> Result<Vec<u8>, RunError> {
    match files::read_limited(path, KEPT_BYTES_MAX) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|error| {
            RunError::setup(format!("{}: {error}", path.display()), "name another file")
        }),
    }
}

/// Creates the controller again from what the function has, and drives it.
fn again(recipe: &mut Recipe, shared: &Shared) -> Result<(), String> {
    take_keys(recipe, shared);
    let (answer, answered) = sync_channel(1);
    let asked = recipe.keeper.control(Order::State(answer));
    let mut state = asked.and_then(|()| answered.recv().ok()).unwrap_or_default();
    let state = take_claimed(&*recipe.keys.controller, &mut state);
    let _ = recipe.keeper.control(Order::Forget(recipe.keys.controller.name()));
    let controller = create(&recipe.keys, state).map_err(|error| error.to_string())?;
    raise(recipe, None, String::new());
    serve(controller, recipe, shared)
}

/// Takes the keys over that are wanted, if they are others.
fn take_keys(recipe: &mut Recipe, shared: &Shared) -> bool {
    let wanted = shared.wanted.lock().unwrap_or_else(PoisonError::into_inner).take();
    let is_new = wanted.is_some();
    wanted.into_iter().for_each(|keys| recipe.keys = keys);
    is_new
}

/// Drives a controller until it is to end, or to begin again.
fn serve(controller: Box<dyn Running>, recipe: &mut Recipe, shared: &Shared) -> Result<(), String> {
    let mut interfaces = recipe.keys.function.host_interfaces();
    if let Some(namespace) = namespace_of(&interfaces) {
        plane::enter(&namespace).map_err(|error| format!("{namespace}: {error}"))?;
    }
    let host = Host::new(controller).map_err(|error| error.to_string())?;
    let mut host = host.seen_by(&recipe.observer, recipe.keys.controller.name());
    host.wake_by(&shared.events.bell).map_err(|error| error.to_string())?;
    recipe.board.begin(&shared.events);
    let boxes = recipe.exchange.take(&taken(&recipe.keys), &shared.events.bell);
    let (mut number, mut shown_at, mut links) = (0, None::<Instant>, Vec::new());
    let mut time_of_day = Duration::ZERO;
    let mut last = Last::default();
    while !shared.stops.load(Ordering::Relaxed) {
        shared.seen_ms.store(millis(recipe.started), Ordering::Relaxed);
        if take_keys(recipe, shared) {
            let (keys, now) = (&recipe.keys, host.now());
            if !host.machine_mut().reload(&*keys.controller, keys.function(), now) {
                return Ok(());
            }
            (interfaces, shown_at) = (keys.function.host_interfaces(), None);
        }
        hear(&mut host, recipe.clock, &shared.events);
        let frames = take_frames(&mut host, recipe.clock, &boxes);
        if shown_at.is_none_or(|at| at.elapsed() > SHOWN_EVERY) {
            let now = links_of(&interfaces);
            if now != links {
                links.clone_from(&now);
                host.command(Event::Links(now));
            }
            let began = began_at(&host);
            if began.abs_diff(time_of_day) > CLOCK_SET {
                time_of_day = began;
                host.command(Event::TimeOfDay(began));
            }
            let shown = (host.machine().show(), host.machine().table_sizes());
            *shared.shown.lock().unwrap_or_else(PoisonError::into_inner) = shown;
            shown_at = Some(Instant::now());
        }
        let (name, now) = (recipe.keys.controller.name(), host.now());
        let has_more = shared.questions.answer(&mut **host.machine_mut(), now);
        let patience = if has_more || frames > 0 { Duration::ZERO } else { PATIENCE };
        let actions = host.turn(patience).map_err(|error| error.to_string())?;
        for error in host.take_failures() {
            let text = error.to_string();
            if last.is_new(&text) {
                tracing::warn!(name, "controller: {text}");
            }
        }
        for action in actions {
            match action {
                Action::Updates(updates) => {
                    control(&mut host, (updates, true), &mut number, recipe);
                }
                Action::Passing(updates) => {
                    control(&mut host, (updates, false), &mut number, recipe);
                }
                Action::Inject(injection) => recipe.exchange.inject(injection),
                Action::Alarm(mut alarm) => {
                    alarm.source = format!("{name}: {}", alarm.source);
                    let _ = recipe.keeper.control(Order::Alarm(alarm));
                }
                Action::Line(Line { level: Level::Info, text }) => tracing::info!(name, "{text}"),
                Action::Line(Line { level: Level::Warning, text }) => {
                    tracing::warn!(name, "{text}");
                }
            }
        }
    }
    take_leave(&mut host).map_err(|error| error.to_string())
}

/// Lets a controller that ends say what it has to say at once, for a bounded time.
fn take_leave(host: &mut Host<Box<dyn Running>>) -> std::io::Result<()> {
    host.command(Event::Ends);
    let until = Instant::now() + LEAVE_MAX;
    while host.machine().deadline().is_some_and(|at| at <= host.now()) && Instant::now() < until {
        host.turn(Duration::ZERO)?;
    }
    Ok(())
}

/// When the controller's time began, by the host's clock as it is now.
fn began_at(host: &Host<Box<dyn Running>>) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(host.now().since(Time::ZERO))
}

/// Tells the controller what workers have told.
fn hear(host: &mut Host<Box<dyn Running>>, clock: Clock, events: &EventBox) {
    let waiting = events.take();
    for told in waiting.told {
        let engine::Event { kind, subject, detail, at } = told.event;
        let (worker, at) = (told.worker, time_of(host, clock, at));
        host.command(Event::Happened(Happening { worker, kind, subject, detail, at }));
    }
    if waiting.missed > 0 {
        host.command(Event::Missed { count: waiting.missed });
    }
}

/// The punt reasons of the function that a controller takes.
fn taken(keys: &Keys) -> Vec<(Reason, &'static str)> {
    let takes = keys.controller.takes();
    let all = (0..).zip(keys.function.names().punts).map(|(number, name)| (Reason(number), *name));
    all.filter(|(_, name)| takes.contains(name)).collect()
}

/// Hands the controller frames that workers have punted, as many of one reason as of the others;
/// returns how many.
fn take_frames(host: &mut Host<Box<dyn Running>>, clock: Clock, boxes: &[Arc<PuntBox>]) -> usize {
    let mut count = 0;
    for from in boxes {
        for raised in (0..FRAMES_PER_TURN).map_while(|_| from.next()) {
            let Raised { worker, port, context, at, frame } = raised;
            let (reason, at) = (from.reason.1, time_of(host, clock, at));
            host.command(Event::Punted(Punt { worker, reason, port, context, at, frame }));
            count += 1;
        }
    }
    count
}

/// A time of the workers, in the controller's; its beginning for one before that.
fn time_of(host: &Host<Box<dyn Running>>, clock: Clock, at: Ticks) -> Time {
    let age = clock.duration(clock::now().saturating_sub(at));
    Time(host.now().0.saturating_sub(age.as_nanos() as u64))
}

/// Lets the workers apply updates, which the journal keeps or not, and tells the controller what
/// became of them.
fn control(
    host: &mut Host<Box<dyn Running>>,
    (updates, is_kept): (Vec<AnyUpdate>, bool),
    number: &mut u64,
    recipe: &Recipe,
) {
    let (answer, answered) = sync_channel(1);
    if recipe.keeper.control(Order::Updates { updates, is_kept, answer }).is_none() {
        return;
    }
    for settled in answered.recv().unwrap_or_default() {
        let event = match settled {
            Settled::Applied { count, at } => {
                let at = time_of(host, recipe.clock, at);
                let first = *number;
                *number += count;
                Event::Applied { first, count, at }
            }
            Settled::Refused(why) => {
                let number_of_it = *number;
                *number += 1;
                Event::Refused { number: number_of_it, why }
            }
        };
        host.command(event);
    }
}

/// Says that the controller has begun again, or that it goes on.
fn raise(recipe: &Recipe, severity: Option<Severity>, text: String) {
    let (source, cause) = (recipe.keys.controller.name().to_owned(), "controller-restart");
    let alarm = Alarm { source, cause, severity, text: text.into() };
    let _ = recipe.keeper.control(Order::Alarm(alarm));
}

/// The one network namespace of all host interfaces; none for that of the daemon.
fn namespace_of(interfaces: &[HostInterface]) -> Option<String> {
    let first = interfaces.first()?.place.namespace()?;
    let is_common = interfaces.iter().all(|one| one.place.namespace() == Some(first));
    is_common.then(|| first.to_string())
}

/// The host interfaces that there are in the namespace of this thread.
fn links_of(interfaces: &[HostInterface]) -> Vec<Link> {
    let of = |one: &HostInterface| {
        let name = one.place.name().to_string();
        let kernel = Interface(if_nametoindex(name.as_str()).ok()?);
        Some(Link { name, kernel, number: one.number })
    };
    interfaces.iter().filter_map(of).collect()
}

fn millis(started: Instant) -> u64 {
    started.elapsed().as_millis() as u64
}

/// Longest turn without anything to do.
const PATIENCE: Duration = Duration::from_millis(20);

/// Most punted frames of a reason that a controller takes in a turn.
const FRAMES_PER_TURN: usize = 64;

/// How often what the controller shows is brought up to date, and interfaces are looked for.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// By how much the host's clock is another one than before when it was set: two clocks that nobody
/// sets differ by less, and what differs more is told.
const CLOCK_SET: Duration = Duration::from_millis(100);

/// Most bytes of the file of a controller.
const KEPT_BYTES_MAX: u64 = 4 << 30;

/// Pause before a controller is created again.
const PAUSE: Duration = Duration::from_millis(500);

/// How long a controller may take to say that it ends.
const LEAVE_MAX: Duration = Duration::from_secs(1);

/// How long its end is waited for.
const END_MAX: Duration = Duration::from_secs(2);
