//! The slow, obviously right collector: turns frames back into what was told.
//!
//! It knows the standards and not the tables by which messages are written. Any deviation from a
//! standard is an error with its cause.
use std::collections::HashMap;
use std::net::IpAddr;

use function_cgnat::config::{Config, Format, Logging, Side};
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use packet::PortId;
use wire::{MacAddr, ethernet, ipv4, ipv6, protocol, udp};

mod elements;
mod known;
pub mod lines;

pub use self::known::Facts;

/// The way of messages to a collector.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Ethernet addresses of the next hop and of the port by which messages leave.
    pub macs: [MacAddr; 2],
    /// That port.
    pub leaves_by: PortId,
    /// Where messages come from.
    pub source: (IpAddr, u16),
    /// The collector.
    pub collector: (IpAddr, u16),
}

impl Way {
    /// That of a configuration.
    pub fn new(config: &Config, logging: &Logging) -> Way {
        let (mac, port) = match logging.leaves_by {
            Side::Inside => (config.inside_mac.0, INSIDE),
            Side::Outside => (config.outside_mac.0, OUTSIDE),
        };
        Way::out_of(logging, mac, port)
    }

    /// The same out of a port with an address of its own.
    pub fn out_of(logging: &Logging, source_mac: MacAddr, leaves_by: PortId) -> Way {
        // RFC 7011 section 10.3.4, RFC 5426 section 3.3.
        let standard = if logging.format == Format::Ipfix { 4739 } else { 514 };
        let port = if logging.port == 0 { standard } else { logging.port };
        Way {
            macs: [logging.next_hop_mac.0, source_mac],
            leaves_by,
            source: (logging.source, logging.source_port),
            collector: (logging.collector, port),
        }
    }

    /// Whether a frame that left by a port is a message: it goes between those addresses.
    pub fn is_message(&self, port: PortId, frame: &[u8]) -> bool {
        let octets = |address: IpAddr| match address {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let at = if self.source.0.is_ipv4() { 26 } else { 22 };
        let ends = [octets(self.source.0), octets(self.collector.0)].concat();
        port == self.leaves_by
            && frame.get(..12) == Some(&self.macs.map(|mac| mac.0).concat()[..])
            && frame.get(at..at + ends.len()) == Some(&ends[..])
    }
}

/// A collector of one exporter's messages.
#[derive(Clone)]
pub struct Collected {
    way: Way,
    /// Templates by observation domain and identifier: numbers and lengths of elements.
    templates: HashMap<(u32, u16), Vec<(u16, u16)>>,
    /// The sequence number that comes next in each observation domain.
    sequences: HashMap<u32, u32>,
    /// Seconds since 1970 of the latest export of each observation domain.
    exported_s: HashMap<u32, u32>,
    /// Messages of templates so far.
    template_messages: u64,
}

impl Collected {
    /// A collector that has heard nothing yet.
    pub fn new(way: Way) -> Collected {
        Collected {
            way,
            templates: HashMap::new(),
            sequences: HashMap::new(),
            exported_s: HashMap::new(),
            template_messages: 0,
        }
    }

    /// Hears of an exporter that had begun before: a message says how much it has missed.
    pub fn begin_at(&mut self, frame: &[u8]) {
        let Ok(message) = payload(&self.way, frame) else { return };
        if let (Ok(sequence), Ok(domain)) = (u32_at(message, 8), u32_at(message, 12)) {
            self.sequences.entry(domain).or_insert(sequence);
        }
    }

    /// Another collector hears it from now on, who knows no templates.
    pub fn redirect(&mut self, way: Way) {
        self.way = way;
        self.templates.clear();
    }

    /// Messages of templates so far.
    pub fn template_messages(&self) -> u64 {
        self.template_messages
    }

    /// What a frame with an IPFIX message tells.
    ///
    /// # Errors
    /// What is wrong with the frame or the message.
    pub fn read_ipfix(&mut self, frame: &[u8]) -> Result<Vec<Facts>, String> {
        let message = payload(&self.way, frame)?;
        if message.len() < 16 || u16_at(message, 0)? != 10 {
            return Err("no header of IPFIX".to_owned());
        }
        if usize::from(u16_at(message, 2)?) != message.len() {
            return Err(format!("{} bytes, not {}", message.len(), u16_at(message, 2)?));
        }
        let (export_s, sequence) = (u32_at(message, 4)?, u32_at(message, 8)?);
        let domain = u32_at(message, 12)?;
        let before = self.exported_s.insert(domain, export_s).unwrap_or(0);
        if export_s < before {
            return Err(format!("exported at {export_s}, after {before}"));
        }
        let expected = *self.sequences.entry(domain).or_default();
        if sequence != expected {
            return Err(format!("sequence number {sequence}, not {expected}"));
        }
        let mut told = Vec::new();
        let mut sets = &message[16..];
        let mut has_templates = false;
        while !sets.is_empty() {
            let (id, len) = (u16_at(sets, 0)?, usize::from(u16_at(sets, 2)?));
            if len <= 4 || len > sets.len() {
                return Err(format!("a set of {len} bytes where {} are left", sets.len()));
            }
            let (set, rest) = sets.split_at(len);
            sets = rest;
            match id {
                2 | 3 => {
                    self.read_templates(domain, &set[4..], id == 3)?;
                    has_templates = true;
                }
                256.. => told.append(&mut self.read_records(domain, id, &set[4..])?),
                _ => return Err(format!("a set of kind {id}")),
            }
        }
        if told.iter().any(|facts| facts["at"].parse::<u64>().unwrap_or(0) / 1000 > export_s.into())
        {
            return Err(format!("exported at {export_s}, before it happened: {told:?}"));
        }
        self.template_messages += u64::from(has_templates);
        self.sequences.insert(domain, expected.wrapping_add(told.len() as u32));
        Ok(told)
    }

    /// What a frame with a syslog message tells, and the rest of it.
    ///
    /// # Errors
    /// What is wrong with the frame or the message.
    pub fn read_syslog(&self, frame: &[u8]) -> Result<(Facts, lines::Header), String> {
        let message = payload(&self.way, frame)?;
        lines::read(std::str::from_utf8(message).map_err(|error| error.to_string())?)
    }

    /// Templates, or templates of options, whose first elements say of what the others are true.
    fn read_templates(
        &mut self,
        domain: u32,
        mut set: &[u8],
        has_scope: bool,
    ) -> Result<(), String> {
        let header_len = if has_scope { 6 } else { 4 };
        while !set.is_empty() {
            let (id, count) = (u16_at(set, 0)?, usize::from(u16_at(set, 2)?));
            if id < 256 || count == 0 {
                return Err(format!("template {id} of {count} elements"));
            }
            // RFC 7011 section 3.4.2.2: not none, and not more than there are.
            if has_scope && !(1..=count).contains(&usize::from(u16_at(set, 4)?)) {
                return Err(format!("template {id} of options with another scope"));
            }
            let mut elements = Vec::new();
            for at in (header_len..header_len + 4 * count).step_by(4) {
                elements.push((u16_at(set, at)?, u16_at(set, at + 2)?));
            }
            set = &set[header_len + 4 * count..];
            let before = self.templates.insert((domain, id), elements.clone());
            if before.is_some_and(|before| before != elements) {
                return Err(format!("template {id} is another one now"));
            }
        }
        Ok(())
    }

    fn read_records(&self, domain: u32, id: u16, set: &[u8]) -> Result<Vec<Facts>, String> {
        let elements = self.templates.get(&(domain, id));
        let elements = elements.ok_or_else(|| format!("nothing is known of template {id}"))?;
        let len: usize = elements.iter().map(|(_, len)| usize::from(*len)).sum();
        if !set.len().is_multiple_of(len) {
            return Err(format!("{} bytes are no whole records of {len}", set.len()));
        }
        set.chunks(len).map(|record| elements::read(elements, record)).collect()
    }
}

/// What a frame carries, if it is one to the collector.
fn payload<'a>(way: &Way, frame: &'a [u8]) -> Result<&'a [u8], String> {
    let text = |error: wire::Malformed| format!("{error:?}");
    let link = ethernet::View::parse(frame).map_err(text)?;
    if (link.source(), link.destination()) != (way.macs[1], way.macs[0]) {
        return Err(format!("from {} to {}", link.source(), link.destination()));
    }
    let datagram = match (way.source.0, way.collector.0) {
        (IpAddr::V4(source), IpAddr::V4(address)) => {
            let packet = ipv4::View::parse(link.payload()).map_err(text)?;
            if usize::from(packet.total_len()) != link.payload().len()
                || (packet.source(), packet.destination()) != (source, address)
                || packet.protocol() != protocol::UDP
                || packet.is_fragment()
                || !packet.dont_fragment()
                || link.ether_type() != ethernet::TYPE_IPV4
            {
                return Err(format!("{packet:?}"));
            }
            let datagram = udp::View::parse(packet.payload()).map_err(text)?;
            datagram.verify_ipv4(source, address).map_err(text)?;
            datagram
        }
        (IpAddr::V6(source), IpAddr::V6(address)) => {
            let packet = ipv6::View::parse(link.payload()).map_err(text)?;
            if ipv6::HEADER_LEN + usize::from(packet.payload_len()) != link.payload().len()
                || (packet.source(), packet.destination()) != (source, address)
                || packet.next_header() != protocol::UDP
                || link.ether_type() != ethernet::TYPE_IPV6
            {
                return Err(format!("{packet:?}"));
            }
            let datagram = udp::View::parse(packet.payload()).map_err(text)?;
            datagram.verify_ipv6(source, address).map_err(text)?;
            datagram
        }
        _ => return Err("addresses of two versions".to_owned()),
    };
    if datagram.checksum() == udp::CHECKSUM_NONE
        || (datagram.source_port(), datagram.destination_port()) != (way.source.1, way.collector.1)
    {
        return Err(format!("{datagram:?}"));
    }
    Ok(datagram.payload())
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, String> {
    let bytes = bytes.get(at..at + 2).ok_or("it ends too early")?;
    Ok(u16::from(bytes[0]) << 8 | u16::from(bytes[1]))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    Ok(u32::from(u16_at(bytes, at)?) << 16 | u32::from(u16_at(bytes, at + 2)?))
}
