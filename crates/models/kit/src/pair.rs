//! A function beside its oracle: the same frames and changes at the same times, and every
//! difference named.

use std::collections::BTreeMap;
use std::time::Duration;

use function_kit::{NetworkFunction, PortName, Shard};
use machine::clock::{Clock, Ticks};
use packet::PortId;

use crate::check::{Expected, History, Oracle, Step, hear, in_order, without_reports};
use crate::device::Device;
use crate::unit::{Model, PipelineOf, UpdateOf, load};

/// One worker's function and the oracle of the same shard.
pub struct Pair<N: Model> {
    device: Device<PipelineOf<N>>,
    oracle: N::Oracle,
    /// Names of the function's own ports.
    ports: Vec<PortName>,
    /// Frames so far, by what became of them.
    pub coverage: BTreeMap<String, u64>,
    /// Time since both were set up.
    pub elapsed: Duration,
    /// What became of the frames that were made beside the last one, or by the last change or wait.
    pub made: Vec<Expected>,
    /// Reports so far.
    pub reports: u64,
}

impl<N: Model> Pair<N> {
    /// Sets both up.
    ///
    /// # Panics
    /// When the function's state does not fit.
    pub fn new(config: &N::Section, shard: Shard) -> Pair<N> {
        let function = load::<N>(config, &N::config(config), shard, clock(), SET_UP_AT)
            .unwrap_or_else(|error| panic!("the function cannot be set up: {error}"));
        Pair {
            device: Device::new(function, N::Unit::ports_of_worker(&N::config(config), shard)),
            oracle: N::oracle(config, shard),
            ports: N::Unit::ports(&N::config(config)),
            coverage: BTreeMap::new(),
            elapsed: Duration::ZERO,
            made: Vec::new(),
            reports: 0,
        }
    }

    /// Takes all steps.
    ///
    /// # Errors
    /// The first difference.
    pub fn take(&mut self, steps: &[Step<UpdateOf<N>>]) -> Result<(), String> {
        let mut history = History::default();
        for (number, step) in steps.iter().enumerate() {
            let (port, frame, about) = match step {
                Step::Wait(time) => {
                    self.wait(*time).map_err(|what| format!("step {number}: {what}"))?;
                    continue;
                }
                Step::Update(update) => {
                    self.update(update)?;
                    continue;
                }
                Step::Frame { port, frame, about } => (*port, frame.clone(), about),
                Step::Answer { port, answer, about } => (*port, history.fill(answer), about),
            };
            let verdict = self.frame(port, &frame);
            history.note(&verdict.map_err(|what| format!("step {number}, {about}: {what}"))?);
        }
        Ok(())
    }

    /// Sends a frame through both, and gives the verdict on which they agree; they agree on the
    /// frames made beside it as well.
    ///
    /// # Errors
    /// How they differ.
    pub fn frame(&mut self, port: PortId, frame: &[u8]) -> Result<Expected, String> {
        let got = self.device.exchange(port, frame, self.now());
        let (got, reports) = without_reports(&self.oracle, got);
        let expected = self.oracle.expect_of(port, frame, self.elapsed, &got);
        *self.coverage.entry(name::<N>(&self.ports, &expected)).or_default() += 1;
        self.agree(Some(&expected), &got)
            .map_err(|difference| format!("\n   frame {}{difference}", hex(frame)))?;
        self.hear(reports)?;
        Ok(expected)
    }

    /// Lets time pass for both.
    ///
    /// # Errors
    /// How the frames differ that they made meanwhile.
    pub fn wait(&mut self, time: Duration) -> Result<(), String> {
        self.elapsed += time;
        self.rest()
    }

    /// Lets the device make what it makes without a frame.
    fn rest(&mut self) -> Result<(), String> {
        let got = self.device.rest(self.now());
        let (got, reports) = without_reports(&self.oracle, got);
        self.agree(None, &got)?;
        self.hear(reports)
    }

    /// Holds reports to what happened.
    fn hear(&mut self, reports: Vec<Vec<u8>>) -> Result<(), String> {
        self.reports += reports.len() as u64;
        let wrong = hear(&mut self.oracle, &reports, self.elapsed);
        if wrong.is_empty() { Ok(()) } else { Err(format!("reports: {}", wrong.join("; "))) }
    }

    /// Whether a frame and those made beside it became what they are to.
    fn agree(&mut self, expected: Option<&Expected>, got: &[Expected]) -> Result<(), String> {
        self.made = self.oracle.made(self.elapsed);
        for made in &self.made {
            *self.coverage.entry(name::<N>(&self.ports, made)).or_default() += 1;
        }
        let expected = in_order(expected.into_iter().chain(&self.made).cloned().collect());
        if got == expected {
            return Ok(());
        }
        let [expected, got] = [&expected, got].map(|all| {
            all.iter().map(|one| self.describe(one)).collect::<Vec<_>>().join("\n           and ")
        });
        Err(format!("\nexpected {expected}\n     got {got}"))
    }

    /// Changes both; whether they agree that it is possible.
    ///
    /// # Errors
    /// How they differ.
    pub fn update(&mut self, update: &UpdateOf<N>) -> Result<bool, String> {
        let expected = self.oracle.apply(update, self.elapsed);
        let got = self.device.update(update.clone(), self.now());
        let word = |done| if done { "possible" } else { "refused" };
        if got != expected {
            return Err(format!("{update:?}: expected {}, got {}", word(expected), word(got)));
        }
        self.rest().map_err(|difference| format!("{update:?}: {difference}"))?;
        Ok(got)
    }

    /// The names of the ports, in the order of their numbers.
    pub fn ports(&self) -> &[PortName] {
        &self.ports
    }

    fn describe(&self, verdict: &Expected) -> String {
        let name = name::<N>(&self.ports, verdict);
        match verdict {
            Expected::Forward { frame, .. } => format!("{name} {}", hex(frame)),
            Expected::Drop(_) => format!("drop {name}"),
            Expected::Punt => name,
        }
    }

    /// Drop reasons that no frame met so far.
    pub fn uncovered(&self) -> Vec<&'static str> {
        let names = self.device.names().drops.0.iter().copied();
        names.filter(|name| !self.coverage.contains_key(*name)).collect()
    }

    /// The function's side.
    pub fn device_mut(&mut self) -> &mut Device<PipelineOf<N>> {
        &mut self.device
    }

    /// The oracle's side.
    pub fn oracle(&self) -> &N::Oracle {
        &self.oracle
    }

    /// Puts another device into the place of the function's, which it gives back: the oracle goes
    /// on with what it knows of the former one.
    pub fn replace(&mut self, device: Device<PipelineOf<N>>) -> Device<PipelineOf<N>> {
        std::mem::replace(&mut self.device, device)
    }

    /// The present in ticks.
    pub fn now(&self) -> Ticks {
        SET_UP_AT + clock().ticks(self.elapsed)
    }
}

/// `access`, `drop spoofed-source` … as coverage counts it.
fn name<N: Model>(ports: &[PortName], verdict: &Expected) -> String {
    match verdict {
        Expected::Forward { port, .. } => N::Unit::port_name(ports, *port).to_string(),
        Expected::Drop(reason) => (*reason).to_owned(),
        Expected::Punt => "punt".to_owned(),
    }
}

/// Bytes as text.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from text; white space does not count.
///
/// # Errors
/// What is no byte.
pub fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).map_err(|error| error.to_string())?;
        match pair.len() {
            2 => u8::from_str_radix(pair, 16).map_err(|error| format!("'{pair}': {error}")),
            _ => Err(format!("'{pair}' is half a byte")),
        }
    };
    digits.chunks(2).map(byte).collect()
}

/// A clock that is close to real ones, and whose ticks are no round numbers of nanoseconds.
pub fn clock() -> Clock {
    Clock::with_rate(2.6e9)
}

/// Not zero, as on no real machine.
const SET_UP_AT: Ticks = 1 << 40;
