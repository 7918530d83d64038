//! A device of another making, as `Remote` sees it: here a thread of the test that moves frames
//! between two memory ports, rightly or with a fault, so that each thing that can go wrong does.
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use devices::driver::{
    self, DeviceFacts, Driver, DriverError, Limitation, Running, Start, Unavailable, Usage,
};
use devices::embedded::Host;
use devices::remote::Remote;
use engine::{Acknowledgement, Opened, PortRequest};
use keys::Invalid;
use machine::clock::{self, Clock};
use measure::{Conditions, Flood, Load, MeasureError, Measurer, Pps, Trial, TrialProgress, Watch};
use model_kit::Configured;
use model_kit::service::Service;
use models::l2_switch::{L2Switch, Section, Traffic};
use packet::PortId;
use schemars::Schema;
use serde_json::{Map, Value, json};

/// What is wrong with the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fault {
    #[default]
    None,
    /// The hundredth frame is lost.
    Loses,
    /// Each fiftieth frame has another last byte.
    Alters,
    /// A frame shorter than an Ethernet header passes.
    PassesShort,
    /// It ends after ten frames.
    Ends,
    /// It has one port.
    OnePort,
}

/// A driver whose device is a thread.
#[derive(Default)]
struct Patch {
    fault: Fault,
    has_control: bool,
    starts: AtomicUsize,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Driver for Patch {
    fn name(&self) -> &'static str {
        "patch"
    }

    fn summary(&self) -> &'static str {
        "a thread of a test"
    }

    fn schema(&self) -> Schema {
        schemars::schema_for!(Map<String, Value>)
    }

    fn available(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    fn limitations(
        &self,
        _: &Service,
        options: &Map<String, Value>,
    ) -> Result<Vec<Limitation>, Invalid> {
        if options.contains_key("refuse") {
            return Err(Invalid::new("", "it is refused", "leave `refuse` out"));
        }
        let passes = Limitation {
            what: "short frames pass".into(),
            verdicts: vec!["truncated"],
            ..Limitation::default()
        };
        Ok(if self.fault == Fault::PassesShort { vec![passes] } else { Vec::new() })
    }

    fn start(&self, request: &Start<'_>) -> Result<Box<dyn Running>, DriverError> {
        self.starts.fetch_add(1, Ordering::Relaxed);
        let mut ports = Vec::new();
        let mut ends = Vec::new();
        for id in [PortId(0), PortId(1)] {
            let request = PortRequest {
                name: "a port of the test".into(),
                id,
                queues: 1,
                frame_bytes_max: request.frame_bytes_max,
                ticks_per_second: request.clock.ticks_per_second(),
            };
            let opened = port_memory::open(&request, RING_BYTES);
            let (mut far, opened) =
                opened.map_err(|error| DriverError::new(error.to_string(), "free memory"))?;
            ends.push(far.remove(0));
            ports.push(opened);
        }
        if self.fault == Fault::OnePort {
            ports.pop();
        }
        let state = Arc::new(State::default());
        let (its, fault) = (state.clone(), self.fault);
        let thread = std::thread::spawn(move || its.forward(&mut ends, fault));
        let control = self.has_control.then(|| Acknowledging {
            requests: self.requests.clone(),
            given: 0,
            answered: 0,
        });
        Ok(Box::new(Forwarding { ports, state, thread: Some(thread), control }))
    }
}

/// What the thread and the test share.
#[derive(Default)]
struct State {
    stop: AtomicBool,
    ended: AtomicBool,
    frames: AtomicU64,
}

impl State {
    /// Every frame that comes in at one port leaves by the other.
    fn forward(&self, ends: &mut [port_memory::FarEnd], fault: Fault) {
        let mut frame = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let mut was_idle = true;
            for from in [0, 1] {
                frame.clear();
                match ends[from].1.next_frame() {
                    Some(bytes) => frame.extend_from_slice(bytes),
                    None => continue,
                }
                was_idle = false;
                let number = self.frames.fetch_add(1, Ordering::Relaxed) + 1;
                let is_short = frame.len() < wire::ethernet::HEADER_LEN;
                match fault {
                    Fault::Ends if number >= 10 => {
                        self.ended.store(true, Ordering::Relaxed);
                        return;
                    }
                    Fault::Loses if number == 100 => continue,
                    Fault::Alters if number.is_multiple_of(50) => {
                        frame.last_mut().into_iter().for_each(|byte| *byte ^= 1);
                    }
                    _ => {}
                }
                if !is_short || fault == Fault::PassesShort {
                    ends[1 - from].0.send(&frame);
                    ends[1 - from].0.publish();
                }
            }
            if was_idle {
                std::thread::park_timeout(Duration::from_micros(50));
            }
        }
    }
}

struct Forwarding {
    ports: Vec<Opened>,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
    control: Option<Acknowledging>,
}

impl Running for Forwarding {
    fn ports(&mut self) -> Vec<Opened> {
        std::mem::take(&mut self.ports)
    }

    fn facts(&self) -> DeviceFacts {
        DeviceFacts { version: "a test".into(), details: vec![("fact".into(), json!(7))] }
    }

    fn usage(&mut self) -> Usage {
        let frames = self.state.frames.load(Ordering::Relaxed);
        Usage { drops: vec![("seen".into(), frames), ("never".into(), 0)], ..Usage::default() }
    }

    fn health(&mut self) -> Result<(), DriverError> {
        match self.state.ended.load(Ordering::Relaxed) {
            true => Err(DriverError::new("the thread ended", "see why")),
            false => Ok(()),
        }
    }

    fn control(&mut self) -> Option<&mut dyn driver::Control> {
        self.control.as_mut().map(|control| control as _)
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the device's thread did not panic");
        }
    }
}

/// A control that takes everything and changes nothing.
struct Acknowledging {
    requests: Arc<Mutex<Vec<Value>>>,
    given: u64,
    answered: u64,
}

impl driver::Control for Acknowledging {
    fn request(&mut self, update: &Value) -> Option<u64> {
        self.requests.lock().expect("nobody panicked").push(update.clone());
        self.given += 1;
        Some(self.given)
    }

    fn acknowledged(&mut self) -> Option<Acknowledgement> {
        (self.answered < self.given).then(|| {
            self.answered += 1;
            let (applied_at, outcome) = (clock::now(), Ok(()));
            Acknowledgement { id: self.answered, count: 1, applied_at, outcome }
        })
    }
}

struct Silent;

impl Watch for Silent {
    fn at(&mut self, _: TrialProgress) {}
}

fn host() -> Host {
    let cores = machine::cpu::available_cores();
    Host {
        tester_core: cores.first().copied(),
        worker_cores: vec![*cores.last().expect("a core")],
        clock: Clock::calibrate(Duration::from_millis(10)),
        stop: Arc::new(AtomicBool::new(false)),
    }
}

fn try_open(
    driver: &'static Patch,
    config: Value,
    options: Value,
) -> Result<Remote<L2Switch>, DriverError> {
    let config: Section = serde_json::from_value(config).expect("keys of a switch");
    let model = Configured::new(config, Traffic::default()).expect("a valid configuration");
    let options = options.as_object().cloned().expect("an object");
    Remote::open(driver, model, options, host())
}

/// A patch with a fault, set up.
fn device(fault: Fault) -> Remote<L2Switch> {
    let driver = Box::leak(Box::new(Patch { fault, ..Patch::default() }));
    try_open(driver, json!({"mode": "patch"}), json!({})).expect("it starts")
}

/// A trial of a moment, tried again while the tester did not get its core for half of it.
fn trial(device: &mut Remote<L2Switch>) -> Trial {
    let load = Load::PerInterface(Pps(2000.0));
    let mut measure = || device.measure(load, Duration::from_millis(200), &mut Silent);
    let mut last = measure().expect("a trial");
    for _ in 0..20 {
        let intended: u64 = last.directions.iter().map(|d| d.intended).sum();
        if last.sent() > intended / 2 {
            break;
        }
        last = measure().expect("a trial");
    }
    last
}

#[test]
fn a_device_that_does_right_passes_and_its_trials_add_up() {
    let mut device = device(Fault::None);
    let check = device.check().expect("a check");
    assert!(check.passed && check.frames > 50, "{:#?}", check.mismatches);
    let trial = trial(&mut device);
    assert!(trial.received() > 0 && trial.received() <= trial.sent(), "{trial:?}");
    // What it counted before the trial, and what it never counted, is not told.
    let [(name, seen)] = trial.drops.as_slice() else { panic!("{:?}", trial.drops) };
    assert!(name == "seen" && *seen >= trial.received() && *seen <= trial.sent() + 1, "{trial:?}");
    assert!(device.setup_time() > Duration::ZERO);
    let facts = device.facts();
    assert!(facts.version == "a test" && facts.details[0].0 == "fact", "{facts:?}");
}

#[test]
fn a_frame_that_is_lost_or_altered_is_told() {
    for (fault, words) in [(Fault::Loses, "no frame was forwarded"), (Fault::Alters, "forward-")] {
        let check = device(fault).check().expect("a check");
        assert!(!check.passed && check.mismatch_count > 0, "{fault:?}: {check:?}");
        let told = &check.mismatches[0];
        assert!(told.got.contains(words) && told.got != told.expected, "{fault:?}: {told:?}");
    }
}

#[test]
fn what_a_device_cannot_do_is_left_out_and_counted() {
    let mut limited = device(Fault::PassesShort);
    assert_eq!(limited.limitations().len(), 1);
    let check = limited.check().expect("a check");
    assert!(check.passed, "{:#?}", check.mismatches);
    let [told, ..] = check.limitations.as_slice() else { panic!("{check:?}") };
    assert!(told.what == "short frames pass" && told.skipped > 0, "{told:?}");
}

#[test]
fn a_device_that_ends_is_an_error_with_the_remedy() {
    let mut device = device(Fault::Ends);
    let load = Load::PerInterface(Pps(2000.0));
    let mut measure = || device.measure(load, Duration::from_millis(50), &mut Silent);
    let in_trial = (0..100).find_map(|_| measure().err()).expect("it ended in a trial");
    let before_a_check = device.check().expect_err("it has ended");
    for error in [in_trial, before_a_check] {
        let text = error.to_string();
        assert!(text.contains("the thread ended") && text.contains("see why"), "{text}");
    }
}

#[test]
fn a_device_that_is_refused_or_has_too_few_ports_is_not_opened() {
    let leak = |fault| &*Box::leak(Box::new(Patch { fault, ..Patch::default() }));
    let patch = || json!({"mode": "patch"});
    let refused = try_open(leak(Fault::None), patch(), json!({"refuse": true}));
    assert!(refused.is_err_and(|error| error.remedy.contains("refuse")));
    let lacking = try_open(leak(Fault::OnePort), patch(), json!({}));
    assert!(lacking.is_err_and(|error| error.what.contains("1 ports, not 2")));
}

#[test]
fn what_only_an_embedded_device_can_do_is_refused() {
    let mut device = device(Fault::None);
    let closed = device.measure(Load::ClosedLoop, Duration::from_millis(10), &mut Silent);
    assert!(matches!(closed, Err(MeasureError::Unsupported(_))), "{closed:?}");
    let plain = Conditions::default;
    for conditions in [
        Conditions { updates_per_s: Some(10.0), ..plain() },
        Conditions { subscribers_counted: 5, ..plain() },
        Conditions { restart_after: Some(Duration::from_millis(1)), ..plain() },
        Conditions { floods: [Some(Flood { kind: 99, rate: Pps(1.0) }), None], ..plain() },
    ] {
        let set = device.set_conditions(&conditions);
        assert!(matches!(set, Err(MeasureError::Unsupported(_))), "{conditions:?}: {set:?}");
    }
    device.set_conditions(&plain()).expect("nothing asked for");
    let alone = device.tester_alone(Pps(100.0), Duration::from_millis(10), &mut Silent);
    assert!(matches!(alone, Ok(None)), "the driver has no wire: {alone:?}");
}

#[test]
fn changes_need_a_control_and_the_device_is_set_up_anew_behind_them() {
    let changing = || json!({"fluct-table": 200.0, "learning": false});
    let silent = Box::leak(Box::new(Patch::default()));
    let mut without = try_open(silent, changing(), json!({})).expect("it starts");
    let load = Load::PerInterface(Pps(100.0));
    let refused = without.measure(load, Duration::from_millis(10), &mut Silent);
    assert!(matches!(refused, Err(MeasureError::Unsupported(_))), "{refused:?}");

    let driver: &'static Patch =
        Box::leak(Box::new(Patch { has_control: true, ..Patch::default() }));
    let mut with = try_open(driver, changing(), json!({})).expect("it starts");
    let first = trial(&mut with);
    let asked = driver.requests.lock().expect("nobody panicked").len();
    assert!(asked > 0 && !first.events.is_empty(), "{first:?}");
    let starts = driver.starts.load(Ordering::Relaxed);
    trial(&mut with);
    assert!(driver.starts.load(Ordering::Relaxed) > starts, "not the state of before");
}

#[test]
fn a_user_who_stops_ends_a_measurement() {
    let driver = Box::leak(Box::new(Patch::default()));
    let config: Section = serde_json::from_str(r#"{"mode": "patch"}"#).expect("a patch");
    let model = Configured::new(config, Traffic::default()).expect("valid");
    let host = host();
    let stop = host.stop.clone();
    let opened = Remote::<L2Switch>::open(driver, model, Map::new(), host);
    let mut device = opened.expect("it starts");
    stop.store(true, Ordering::Relaxed);
    let load = Load::PerInterface(Pps(100.0));
    let stopped = device.measure(load, Duration::from_secs(60), &mut Silent);
    assert!(matches!(stopped, Err(MeasureError::Interrupted)), "{stopped:?}");
    assert!(matches!(device.check(), Err(MeasureError::Interrupted)));
}

/// Room for the longest burst of a trial.
const RING_BYTES: usize = 1 << 20;
