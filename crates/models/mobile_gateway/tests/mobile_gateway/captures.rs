//! Captured tunnels of real networks through pipeline and oracle.
//!
//! They are not part of the project: the variable `PLUMBLINE_DATA` names a folder that has them
//! below `pcap/`, and without it the test says that it was skipped. The gateway takes the addresses
//! of the captured one, and the users whom the capture shows.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use function_kit::Shard;
use function_mobile_gateway::config::Tunnel;
use model_mobile_gateway::MobileGateway;
use model_mobile_gateway::Section;
use model_mobile_gateway::catalogue::{self, User};
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use testkit::mutate::repair;
use testkit::pair::Pair;
use units::BytesPerSec;
use wire::{MacAddr, ethernet, gtpu, ipv4, ipv6, protocol, udp};

use crate::frames::{ACCESS, CORE};

#[test]
fn pipeline_and_oracle_agree_on_captures() {
    let folder = env::var_os("PLUMBLINE_DATA").map(|data| PathBuf::from(data).join("pcap"));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        println!("skipped: no data");
        return;
    };
    let (mut gateways, mut forwarded) = (0, 0);
    for file in files_below(&folder) {
        let frames = read_capture(&file);
        for end in tunnel_ends(&frames) {
            gateways += 1;
            let passed = replay(&frames, end);
            forwarded += passed.unwrap_or_else(|what| panic!("{}: {what}", file.display()));
        }
    }
    println!("{gateways} tunnel ends, {forwarded} packets forwarded");
    assert!(gateways > 0 && forwarded > 0, "no tunnels in {}", folder.display());
}

/// One end of captured tunnels.
#[derive(Clone, Copy, PartialEq)]
struct End {
    mac: MacAddr,
    ip: std::net::Ipv4Addr,
}

/// Where the tunnelled packets of a capture go, up to a few.
fn tunnel_ends(frames: &[Vec<u8>]) -> Vec<End> {
    let mut ends: Vec<End> = Vec::new();
    for frame in frames {
        if let Some((end, _)) = tunnelled(frame)
            && !ends.contains(&end)
        {
            ends.push(end);
        }
    }
    ends.truncate(ENDS_MAX);
    ends
}

/// The far end and the GTP-U message of a frame that has one.
fn tunnelled(frame: &[u8]) -> Option<(End, gtpu::View<'_>)> {
    let frame = ethernet::View::parse(frame).ok()?;
    let outer = ipv4::View::parse_without_checksum(frame.payload()).ok()?;
    let is_tunnel = frame.ether_type() == ethernet::TYPE_IPV4
        && outer.protocol() == protocol::UDP
        && !outer.is_fragment();
    let datagram = udp::View::parse(outer.payload()).ok().filter(|_| is_tunnel)?;
    let is_gtpu = datagram.destination_port() == gtpu::GTPU_PORT;
    let message = gtpu::View::parse(datagram.payload()).ok().filter(|_| is_gtpu)?;
    Some((End { mac: frame.destination(), ip: outer.destination() }, message))
}

/// The user whom a message comes from.
fn user_of(message: &gtpu::View<'_>, number: u32) -> Option<User> {
    let teid = message.teid();
    // Users without an address of the other version get one that no capture has.
    let unused = std::net::Ipv4Addr::from_bits(0xf000_0000 + number);
    let ipv4_of = |packet| ipv4::View::parse_without_checksum(packet).ok().map(|v| v.source());
    let ipv6_of = |packet| ipv6::View::parse(packet).ok().map(|v| v.source().to_bits() >> 64);
    match message.payload().first()? >> 4 {
        ipv4::VERSION => Some(User {
            ipv4: ipv4_of(message.payload())?,
            ipv6_prefix: 0xfec0_0000_0000_0000 + u64::from(number),
            teid,
            base_station: 0,
        }),
        ipv6::VERSION => Some(User {
            ipv4: unused,
            ipv6_prefix: ipv6_of(message.payload())? as u64,
            teid,
            base_station: 0,
        }),
        _ => None,
    }
}

/// Every frame of the capture through a gateway with this address, as it is, with its checksums
/// made right, and as if it were the gateway's; counts what was forwarded.
fn replay(frames: &[Vec<u8>], end: End) -> Result<u64, String> {
    let config = Section {
        gw_ip: end.ip,
        gw_mac: end.mac,
        ipv6: true,
        fakedrop: false,
        tunnel: Some(Tunnel::GtpU),
        rate_limit: BytesPerSec(1e12),
        fluct_user: 1000.0,
        ..Section::default()
    };
    let mut pair = Pair::<MobileGateway>::new(&config, Shard::WHOLE);
    for (number, frame) in frames.iter().enumerate() {
        let Some((_, message)) = tunnelled(frame).filter(|(to, _)| *to == end) else { continue };
        if let Some(user) = user_of(&message, number as u32) {
            pair.update(&user.added())?;
        }
    }
    let prefix = std::net::Ipv4Addr::UNSPECIFIED;
    pair.update(&catalogue::add_route(prefix, 0, 0))?;
    for frame in frames {
        let mut repaired = frame.clone();
        repair(&mut repaired);
        let mut addressed = repaired.clone();
        addressed[..6].copy_from_slice(&end.mac.0);
        for frame in [frame, &repaired, &addressed] {
            for port in [ACCESS, CORE] {
                pair.elapsed += Duration::from_millis(20);
                pair.frame(port, frame)?;
            }
        }
    }
    let passed = |name| pair.coverage.get(name).copied().unwrap_or(0);
    Ok(passed("access") + passed("core"))
}

/// All files in a folder and the folders in it, in a fixed order.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// The first Ethernet frames of a capture that a worker has room for, up to its first damage; a
/// file that is none has no frames.
fn read_capture(file: &Path) -> Vec<Vec<u8>> {
    let Ok(bytes) = fs::read(file) else { return Vec::new() };
    let mut frames = Vec::new();
    let mut keep = |link: DataLink, frame: &[u8]| {
        let fits = (ethernet::HEADER_LEN..=FRAME_LEN_MAX).contains(&frame.len());
        if link == DataLink::ETHERNET && fits && frames.len() < FRAMES_MAX {
            frames.push(frame.to_vec());
        }
    };
    if let Ok(mut reader) = PcapReader::new(&bytes[..]) {
        let link = reader.header().datalink;
        while let Some(Ok(packet)) = reader.next_raw_packet() {
            keep(link, &packet.data);
        }
    } else if let Ok(mut reader) = PcapNgReader::new(&bytes[..]) {
        let mut links = Vec::new();
        while let Some(Ok(block)) = reader.next_block() {
            match block {
                Block::SectionHeader(_) => links.clear(),
                Block::InterfaceDescription(interface) => links.push(interface.linktype),
                Block::EnhancedPacket(packet) => {
                    let link = links.get(packet.interface_id as usize);
                    keep(link.copied().unwrap_or(DataLink::NULL), &packet.data);
                }
                _ => {}
            }
        }
    }
    frames
}

/// Gateways tried of one capture.
const ENDS_MAX: usize = 4;

/// Frames used of one capture.
const FRAMES_MAX: usize = 2000;

const FRAME_LEN_MAX: usize = 2014;
