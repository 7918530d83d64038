//! A logger beside its collector: what is noted must come out, once, in order, or be counted.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr};

use export::record::Class;
use export::{Count, Epoch, FRAMES_MAX, Format, Logger, Logging};
use function_cgnat::log::{Event, Kind};
use machine::clock::{Clock, Ticks};
use model_kit::random::Random;
use packet::{Made, PortId, Room, Verdict};
use wire::MacAddr;

use super::facts;
use super::oracle::{Collected, Facts, Way};

/// A logger, its collector, and what is still to come.
pub struct Trial {
    config: Logging,
    logger: Logger<Event>,
    made: Made,
    collected: Collected,
    outstanding: VecDeque<Facts>,
    epoch: Epoch,
    now: Ticks,
    /// Frames of the batch that were read already.
    read: usize,
    /// Records that came out, and frames.
    pub records: u64,
    /// Bytes of frames with records.
    pub bytes: u64,
    frames: u64,
}

/// Nanoseconds since 1970 at the beginning: 2026-11-22 08:15:30.123 UTC.
pub const BEGINNING_NS: i128 = 1_795_335_330_123_000_000;

/// The Ethernet address from which messages come.
pub const SOURCE_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

/// The port by which they leave.
pub const LEAVES_BY: PortId = PortId(1);

/// Logs over IPv4 by the defaults.
pub fn over_ipv4(format: Format) -> Logging {
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    Logging::to(format, [192, 0, 2, 1].into(), [192, 0, 2, 2].into(), mac)
}

/// Logs over IPv6 by the defaults.
pub fn over_ipv6(format: Format) -> Logging {
    let address = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last).into();
    Logging { collector: address(1), source: address(2), ..over_ipv4(format) }
}

/// An event whose every field that its kind has follows from a number.
pub fn event(kind: Kind, number: u64) -> Event {
    let mut random = Random::new(number);
    let mut event = Event::of(kind, 0);
    let ipv6 = u128::from(random.bits()) << 64 | u128::from(random.bits()) | 1 << 125;
    let inside = random.bits() as u32 | 1;
    match number % 3 {
        0 => event.inside = Ipv4Addr::from_bits(inside).to_ipv6_mapped().to_bits(),
        1 => event.inside = ipv6,
        _ => {
            event.inside = ipv6;
            event.inside_ipv4 = Ipv4Addr::from_bits(inside);
        }
    }
    event.outside = Ipv4Addr::from_bits(random.bits() as u32);
    event.remote = Ipv4Addr::from_bits(random.bits() as u32);
    event.realm = random.bits() as u32;
    event.pool = random.bits() as u32;
    event.limit = random.bits() as u32;
    event.inside_port = random.bits() as u16;
    event.first_port = random.bits() as u16;
    event.last_port = random.bits() as u16;
    event.remote_port = random.bits() as u16;
    event.protocol = random.bits() as u8;
    event
}

impl Trial {
    /// A logger of a worker whose frames have so much room. A tick is a nanosecond.
    ///
    /// # Panics
    /// When the configuration is not valid, or there is no memory.
    pub fn new(config: &Logging, frame_room: usize) -> Trial {
        config.validate().expect("a valid configuration");
        let epoch = Epoch::new(BEGINNING_NS, Clock::with_rate(1e9));
        let way = config.collector(SOURCE_MAC, LEAVES_BY);
        let room = Room { headroom: 0, frame: frame_room, long: 0 };
        Trial {
            logger: Logger::new(config, way, 3, epoch),
            config: config.clone(),
            made: Made::new(room).expect("memory"),
            collected: Collected::new(Way::out_of(config, SOURCE_MAC, LEAVES_BY)),
            outstanding: VecDeque::new(),
            epoch,
            now: 0,
            read: 0,
            records: 0,
            bytes: 0,
            frames: 0,
        }
    }

    /// The logger.
    pub fn logger(&self) -> &Logger<Event> {
        &self.logger
    }

    /// Lets nanoseconds go by.
    pub fn wait(&mut self, span: Ticks) {
        self.now += span;
    }

    /// Notes an event of the present moment, and holds that it is dropped only when it may be.
    ///
    /// # Errors
    /// Where it was dropped and should not have been, or the other way round.
    #[inline]
    pub fn note(&mut self, event: &Event) -> Result<(), String> {
        let event = Event { at: self.now, ..*event };
        let class = event.kind.class();
        let before = *self.logger.counts();
        self.logger.note(&event);
        let changed = |count: Count| self.logger.counts()[count as usize] - before[count as usize];
        let (lost, frequent) = match class {
            Class::Sessions => (changed(Count::LostSessions), true),
            Class::Mappings => (changed(Count::LostMappings), true),
            Class::Blocks => (changed(Count::LostBlocks), false),
            Class::Alarms => (changed(Count::LostAlarms), false),
        };
        let limited = changed(Count::LimitedAlarms);
        let counted: u64 = (0..before.len()).map(|at| self.logger.counts()[at] - before[at]).sum();
        if counted != lost + limited || counted > 1 {
            return Err(format!("{event:?} changed {before:?} to {:?}", self.logger.counts()));
        }
        let is_told = match class {
            Class::Sessions => self.config.sessions,
            Class::Mappings => self.config.mappings,
            Class::Blocks | Class::Alarms => true,
        };
        if !is_told {
            let silent = counted == 0 && !self.logger.tells(event.kind);
            return if silent { Ok(()) } else { Err(format!("{event:?} is not to be told")) };
        }
        if limited > 0 {
            return if class == Class::Alarms {
                Ok(())
            } else {
                Err(format!("limited: {event:?}"))
            };
        }
        let capacity = self.config.queue.next_power_of_two() as usize;
        let most = if frequent { capacity - capacity / 8 } else { capacity };
        let waiting = self.logger.waiting() - usize::from(lost == 0);
        if (lost > 0) != (waiting >= most) {
            return Err(format!("{lost} lost of {event:?} with {waiting} waiting of {most}"));
        }
        if lost == 0 {
            let unix_ms = self.epoch.unix_ms(self.now);
            self.outstanding.push_back(facts(&event, unix_ms, self.config.destinations));
        }
        Ok(())
    }

    /// One round of the worker, and what the collector reads of it; with `taken` the frames leave,
    /// else they stay and take places.
    ///
    /// # Errors
    /// Where something else comes out than what was noted.
    #[inline]
    pub fn flush(&mut self, taken: bool) -> Result<(), String> {
        self.logger.flush(self.now, &mut self.made);
        let batch = self.made.batch_mut();
        let news = batch.len() - self.read;
        if news > FRAMES_MAX {
            return Err(format!("{news} frames in one round"));
        }
        for slot in batch.slots().skip(self.read) {
            let frame = batch.frame(slot);
            if batch.verdict(slot) != Verdict::Forward(LEAVES_BY) {
                return Err(format!("a frame with {:?}", batch.verdict(slot)));
            }
            if frame.len() > 14 + usize::from(self.config.mtu) {
                return Err(format!("a frame of {} bytes", frame.len()));
            }
            let told = match self.config.format {
                Format::Ipfix => self.collected.read_ipfix(frame)?,
                Format::Syslog => {
                    let (facts, header) = self.collected.read_syslog(frame)?;
                    if header.process != "3"
                        || header.priority / 8 != u32::from(self.config.facility)
                    {
                        return Err(format!("{header:?}"));
                    }
                    vec![facts]
                }
            };
            self.bytes += if told.is_empty() { 0 } else { frame.len() as u64 };
            for told in told {
                let expected = self.outstanding.pop_front();
                if expected.as_ref() != Some(&told) {
                    return Err(format!("told: {told:?}\nnot:  {expected:?}"));
                }
                self.records += 1;
            }
            self.frames += 1;
        }
        self.read = batch.len();
        if taken {
            batch.clear();
            self.read = 0;
        }
        let may = match self.config.rate {
            0 => f64::INFINITY,
            rate => f64::from(rate) * self.now as f64 / 1e9 + FRAMES_MAX as f64 + 1.0,
        };
        if self.frames as f64 > may {
            return Err(format!("{} frames where {may} may be", self.frames));
        }
        Ok(())
    }

    /// Frames that wait to leave, copied: for those who look at bytes.
    pub fn frames(&mut self) -> Vec<Vec<u8>> {
        let batch = self.made.batch_mut();
        batch.slots().map(|slot| batch.frame(slot).to_vec()).collect()
    }

    /// Lets everything come out.
    ///
    /// # Errors
    /// When it does not, or counts do not say what happened.
    #[inline]
    pub fn drain(&mut self) -> Result<(), String> {
        let most = 16 + self.outstanding.len() * 4;
        for _ in 0..most {
            if self.outstanding.is_empty() {
                break;
            }
            self.flush(true)?;
            self.wait(u64::from(self.config.delay_ms) * 1_000_000 + 50_000_000);
        }
        if !self.outstanding.is_empty() {
            return Err(format!("{} records never came", self.outstanding.len()));
        }
        let counts = self.logger.counts();
        let frames = counts[Count::Messages as usize] + counts[Count::Templates as usize];
        if counts[Count::Records as usize] != self.records || frames != self.frames {
            return Err(format!("{counts:?} for {} records, {} frames", self.records, self.frames));
        }
        if self.collected.template_messages() != counts[Count::Templates as usize] {
            return Err(format!("{counts:?} with {}", self.collected.template_messages()));
        }
        Ok(())
    }
}
