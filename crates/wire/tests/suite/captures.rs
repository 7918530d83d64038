//! Captures of real networks, many of them malformed on purpose, through every parser.
//!
//! They are not part of the project: the variable `PLUMBLINE_DATA` names a folder that has them
//! below `pcap/`, and without it the test says that it was skipped. Compressed files are left out,
//! and a damaged file is read as far as it goes.

use std::path::{Path, PathBuf};
use std::{env, fs};

use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, UdpHeaderSlice};
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use wire::{LAWS, arp, ethernet, gtpu, ipv4, ipv6, protocol, udp, vxlan};

#[test]
fn captures_are_survived_and_understood() {
    let Some(folder) = data_folder() else {
        println!("skipped: no data");
        return;
    };
    let files = files_below(&folder.join("pcap"));
    let mut all = Seen::default();
    for file in &files {
        read_capture(file, |link, bytes| {
            // Headers may begin anywhere, so every parser is offered several places.
            for start in [0, 14, 34, 42, 50].into_iter().filter(|&start| start <= bytes.len()) {
                LAWS.iter().for_each(|law| (law.holds)(&bytes[start..]));
            }
            all.frame(link, bytes);
        });
    }
    println!("{} files: {all:?}", files.len());
    assert!(all.frames > 0, "no frame in {}", folder.display());
    // Some captures were taken before the network card filled the checksums in.
    assert!(all.ipv4_checksum_valid * 2 > all.ipv4, "most IPv4 checksums are right");
    assert!(all.udp_checksum_valid * 2 > all.udp, "most UDP checksums are right");
    if all.gtpu_port > 0 {
        assert!(all.gtpu * 2 > all.gtpu_port, "most datagrams to the port of GTP-U are GTP-U");
        assert!(all.g_pdu > 0, "no G-PDU among the messages of GTP-U");
        assert!(all.g_pdu_with_ip * 2 > all.g_pdu, "most G-PDUs carry a user's IP packet");
    }
}

/// Number of headers of each kind.
#[derive(Debug, Default)]
struct Seen {
    frames: u64,
    arp: u64,
    ipv4: u64,
    ipv4_checksum_valid: u64,
    ipv6: u64,
    udp: u64,
    udp_checksum_valid: u64,
    vxlan: u64,
    gtpu_port: u64,
    gtpu: u64,
    gtpu_extensions: u64,
    g_pdu: u64,
    g_pdu_with_ip: u64,
}

impl Seen {
    fn frame(&mut self, link: DataLink, bytes: &[u8]) {
        self.frames += 1;
        match link {
            DataLink::ETHERNET => self.ethernet(bytes),
            DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => {
                self.ip(bytes);
            }
            _ => {}
        }
    }

    fn ethernet(&mut self, bytes: &[u8]) {
        let Ok(view) = ethernet::View::parse(bytes) else { return };
        let (mut ether_type, mut payload) = (view.ether_type(), view.payload());
        while let ethernet::TYPE_VLAN | ethernet::TYPE_SERVICE_VLAN = ether_type {
            let Some((tag, rest)) = payload.split_first_chunk::<4>() else { return };
            (ether_type, payload) = (wire::bytes::u16_at(tag, 2), rest);
        }
        match ether_type {
            ethernet::TYPE_ARP => self.arp += u64::from(arp::View::parse(payload).is_ok()),
            ethernet::TYPE_IPV4 | ethernet::TYPE_IPV6 => {
                self.ip(payload);
            }
            _ => {}
        }
    }

    /// Parses an IPv4 or IPv6 packet; returns true if it is one.
    fn ip(&mut self, bytes: &[u8]) -> bool {
        if let Ok(view) = ipv4::View::parse_without_checksum(bytes) {
            self.ipv4(&view, bytes);
            true
        } else if let Ok(view) = ipv6::View::parse(bytes) {
            self.ipv6(&view, bytes);
            true
        } else {
            false
        }
    }

    fn ipv4(&mut self, view: &ipv4::View<'_>, bytes: &[u8]) {
        let theirs = Ipv4HeaderSlice::from_slice(bytes).expect("etherparse accepts it too");
        assert_eq!(view.source(), theirs.source_addr());
        assert_eq!(view.destination(), theirs.destination_addr());
        assert_eq!(view.protocol(), theirs.protocol().0);
        assert_eq!(view.header_len(), theirs.slice().len());
        assert_eq!(view.fragment_offset(), theirs.fragments_offset().value());
        let expected = theirs.to_header().calc_header_checksum() == theirs.header_checksum();
        assert_eq!(view.checksum_is_valid(), expected);

        self.ipv4 += 1;
        self.ipv4_checksum_valid += u64::from(expected);
        if view.protocol() == protocol::UDP && !view.is_fragment() {
            let (source, destination) = (view.source(), view.destination());
            self.udp(view.payload(), |udp| udp.verify_ipv4(source, destination).is_ok());
        }
    }

    fn ipv6(&mut self, view: &ipv6::View<'_>, bytes: &[u8]) {
        let theirs = Ipv6HeaderSlice::from_slice(bytes).expect("etherparse accepts it too");
        assert_eq!(view.source(), theirs.source_addr());
        assert_eq!(view.destination(), theirs.destination_addr());
        assert_eq!(view.next_header(), theirs.next_header().0);
        assert_eq!(view.flow_label(), theirs.flow_label().value());

        self.ipv6 += 1;
        let Ok(upper) = view.upper_layer() else { return };
        if upper.protocol == protocol::UDP && upper.fragment.is_none() {
            let (source, destination) = (view.source(), view.destination());
            self.udp(upper.payload, |udp| udp.verify_ipv6_tunnel(source, destination).is_ok());
        }
    }

    fn udp(&mut self, bytes: &[u8], is_valid: impl FnOnce(&udp::View<'_>) -> bool) {
        let Ok(view) = udp::View::parse(bytes) else { return };
        let theirs = UdpHeaderSlice::from_slice(bytes).expect("etherparse accepts it too");
        assert_eq!(view.source_port(), theirs.source_port());
        assert_eq!(view.destination_port(), theirs.destination_port());

        self.udp += 1;
        self.udp_checksum_valid += u64::from(is_valid(&view));
        match view.destination_port() {
            gtpu::GTPU_PORT => self.gtpu(view.payload()),
            vxlan::VXLAN_PORT => self.vxlan(view.payload()),
            _ => {}
        }
    }

    fn gtpu(&mut self, bytes: &[u8]) {
        self.gtpu_port += 1;
        let Ok(view) = gtpu::View::parse(bytes) else { return };
        self.gtpu += 1;
        self.gtpu_extensions += view.extensions().count() as u64;
        if view.message_type() == gtpu::MESSAGE_G_PDU {
            self.g_pdu += 1;
            self.g_pdu_with_ip += u64::from(self.ip(view.payload()));
        }
    }

    fn vxlan(&mut self, bytes: &[u8]) {
        let Ok(view) = vxlan::View::parse(bytes) else { return };
        self.vxlan += 1;
        self.ethernet(view.payload());
    }
}

/// Returns the folder with the captures, if it exists on this machine.
fn data_folder() -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os("PLUMBLINE_DATA")?);
    folder.join("pcap").is_dir().then_some(folder)
}

/// Returns all files in a folder and its subfolders, in a fixed order.
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

/// Calls `visit` with every frame until the end of the file or its first error; a file that is not
/// a capture has no frames.
fn read_capture(file: &Path, mut visit: impl FnMut(DataLink, &[u8])) {
    let Ok(bytes) = fs::read(file) else { return };
    if let Ok(mut reader) = PcapReader::new(&bytes[..]) {
        let link = reader.header().datalink;
        while let Some(Ok(packet)) = reader.next_raw_packet() {
            visit(link, &packet.data);
        }
    } else if let Ok(mut reader) = PcapNgReader::new(&bytes[..]) {
        let mut links = Vec::new();
        while let Some(Ok(block)) = reader.next_block() {
            match block {
                Block::SectionHeader(_) => links.clear(),
                Block::InterfaceDescription(interface) => links.push(interface.linktype),
                Block::EnhancedPacket(packet) => {
                    let link = links.get(packet.interface_id as usize);
                    visit(link.copied().unwrap_or(DataLink::NULL), &packet.data);
                }
                _ => {}
            }
        }
    }
}
