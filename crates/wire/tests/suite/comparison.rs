//! The `etherparse` crate, which shares no code with this one, writes and reads the same headers.

use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpFragOffset, IpNumber, Ipv4Header, Ipv4Options,
    Ipv6FlowLabel, Ipv6Header, TcpHeader, UdpHeader,
};
use proptest::prelude::*;
use wire::{ethernet, ipv4, ipv6, tcp, udp};

use crate::random::*;

/// Returns the `etherparse` header with these values.
fn their_ethernet(fields: &ethernet::Fields) -> Ethernet2Header {
    Ethernet2Header {
        source: fields.source.0,
        destination: fields.destination.0,
        ether_type: EtherType(fields.ether_type),
    }
}

/// Returns the `etherparse` header with these values and options, and its checksum.
fn their_ipv4(fields: &ipv4::Fields, options: Ipv4Options) -> Ipv4Header {
    let mut header = Ipv4Header {
        dscp: IpDscp::try_new(fields.dscp).unwrap(),
        ecn: IpEcn::try_new(fields.ecn).unwrap(),
        total_len: fields.total_len + options.len() as u16,
        identification: fields.identification,
        dont_fragment: fields.dont_fragment,
        more_fragments: fields.more_fragments,
        fragment_offset: IpFragOffset::try_new(fields.fragment_offset).unwrap(),
        time_to_live: fields.ttl,
        protocol: IpNumber(fields.protocol),
        header_checksum: 0,
        source: fields.source.octets(),
        destination: fields.destination.octets(),
        options,
    };
    header.header_checksum = header.calc_header_checksum();
    header
}

/// Returns the `etherparse` header with these values.
fn their_ipv6(fields: &ipv6::Fields) -> Ipv6Header {
    Ipv6Header {
        traffic_class: fields.traffic_class,
        flow_label: Ipv6FlowLabel::try_new(fields.flow_label).unwrap(),
        payload_length: fields.payload_len,
        next_header: IpNumber(fields.next_header),
        hop_limit: fields.hop_limit,
        source: fields.source.octets(),
        destination: fields.destination.octets(),
    }
}

/// Returns the `etherparse` header with these values and options, and a checksum of zero.
fn their_tcp(fields: &tcp::Fields, options: &[u8]) -> TcpHeader {
    let has = |flag| fields.flags & flag != 0;
    let (source, destination) = (fields.source_port, fields.destination_port);
    let mut header = TcpHeader::new(source, destination, fields.sequence, fields.window);
    header.acknowledgment_number = fields.acknowledgment;
    header.fin = has(tcp::FLAG_FIN);
    header.syn = has(tcp::FLAG_SYN);
    header.rst = has(tcp::FLAG_RST);
    header.psh = has(tcp::FLAG_PSH);
    header.ack = has(tcp::FLAG_ACK);
    header.urg = has(tcp::FLAG_URG);
    header.ece = has(tcp::FLAG_ECE);
    header.cwr = has(tcp::FLAG_CWR);
    header.urgent_pointer = fields.urgent;
    header.set_options_raw(options).unwrap();
    header
}

proptest! {
    #[test]
    fn ethernet_is_the_same(fields in ethernet_fields()) {
        let theirs = their_ethernet(&fields);
        let mut ours = [0; ethernet::HEADER_LEN];
        fields.emit(&mut ours);
        prop_assert_eq!(ours, theirs.to_bytes());
        prop_assert_eq!(Ethernet2Header::from_bytes(ours), theirs);
    }

    #[test]
    fn ipv4_is_the_same((fields, payload) in with_payload(ipv4_fields)) {
        let theirs = their_ipv4(&fields, Ipv4Options::new());
        let mut ours = [0; ipv4::HEADER_LEN];
        fields.emit(&mut ours);
        prop_assert_eq!(&ours[..], &theirs.to_bytes()[..]);
        let packet = [&ours[..], &payload].concat();
        prop_assert_eq!(Ipv4Header::from_slice(&packet), Ok((theirs, &payload[..])));
    }

    #[test]
    fn ipv4_with_options_is_the_same(
        (fields, payload) in with_payload(ipv4_fields),
        words in prop::collection::vec(any::<[u8; 4]>(), 0..=10),
    ) {
        let options = Ipv4Options::try_from(words.as_flattened()).unwrap();
        let theirs = their_ipv4(&fields, options);
        let packet = [&theirs.to_bytes()[..], &payload].concat();
        let view = ipv4::View::parse(&packet).unwrap();
        prop_assert_eq!(view.fields(), ipv4::Fields { total_len: theirs.total_len, ..fields });
        prop_assert_eq!(view.header_len(), theirs.header_len());
        prop_assert_eq!(view.checksum(), theirs.header_checksum);
        prop_assert_eq!(view.payload(), payload);
    }

    #[test]
    fn ipv6_is_the_same((fields, payload) in with_payload(ipv6_fields)) {
        let theirs = their_ipv6(&fields);
        let mut ours = [0; ipv6::HEADER_LEN];
        fields.emit(&mut ours);
        prop_assert_eq!(ours, theirs.to_bytes());
        let packet = [&ours[..], &payload].concat();
        prop_assert_eq!(Ipv6Header::from_slice(&packet), Ok((theirs, &payload[..])));
    }

    #[test]
    fn tcp_is_the_same(
        (ipv4, ipv6) in (ipv4_fields(0), ipv6_fields(0)),
        fields in tcp_fields(),
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let options = vec![tcp::OPTION_NO_OPERATION; usize::from(fields.header_len) - tcp::HEADER_LEN];
        let mut theirs = their_tcp(&fields, &options);
        let mut ours = [0; tcp::HEADER_LEN];
        tcp::Fields { checksum: 0, ..fields }.emit(&mut ours);
        let segment = [&ours[..], &options, &payload].concat();
        prop_assert_eq!(&theirs.to_bytes()[..], &segment[..usize::from(fields.header_len)]);

        let their_ipv4 = their_ipv4(&ipv4, Ipv4Options::new());
        theirs.checksum = theirs.calc_checksum_ipv4(&their_ipv4, &payload).unwrap();
        prop_assert_eq!(tcp::checksum_ipv4(ipv4.source, ipv4.destination, &segment), theirs.checksum);
        let sent = [&theirs.to_bytes()[..], &payload].concat();
        let view = tcp::View::parse(&sent).unwrap();
        prop_assert_eq!(view.fields(), tcp::Fields { checksum: theirs.checksum, ..fields });
        prop_assert_eq!(view.verify_ipv4(ipv4.source, ipv4.destination), Ok(()));

        let sum = theirs.calc_checksum_ipv6(&their_ipv6(&ipv6), &payload).unwrap();
        prop_assert_eq!(tcp::checksum_ipv6(ipv6.source, ipv6.destination, &segment), sum);
    }

    #[test]
    fn udp_over_ipv4_is_the_same(
        ip in ipv4_fields(0),
        (fields, payload) in with_payload(udp_fields),
    ) {
        let their_ip = their_ipv4(&ip, Ipv4Options::new());
        let (from, to) = (fields.source_port, fields.destination_port);
        let theirs = UdpHeader::with_ipv4_checksum(from, to, &their_ip, &payload).unwrap();
        let datagram = [&theirs.to_bytes()[..], &payload].concat();
        let view = udp::View::parse(&datagram).unwrap();
        prop_assert_eq!(view.verify_ipv4(ip.source, ip.destination), Ok(()));

        let mut ours = [0; udp::HEADER_LEN];
        fields.emit(&mut ours);
        let checksum = udp::checksum_ipv4(ip.source, ip.destination, &ours, &payload);
        udp::Fields { checksum, ..fields }.emit(&mut ours);
        prop_assert_eq!(ours, theirs.to_bytes());
    }

    #[test]
    fn udp_over_ipv6_is_the_same(
        ip in ipv6_fields(0),
        (fields, payload) in with_payload(udp_fields),
    ) {
        let their_ip = their_ipv6(&ip);
        let (from, to) = (fields.source_port, fields.destination_port);
        let theirs = UdpHeader::with_ipv6_checksum(from, to, &their_ip, &payload).unwrap();
        let datagram = [&theirs.to_bytes()[..], &payload].concat();
        let view = udp::View::parse(&datagram).unwrap();
        prop_assert_eq!(view.verify_ipv6(ip.source, ip.destination), Ok(()));

        let mut ours = [0; udp::HEADER_LEN];
        fields.emit(&mut ours);
        let checksum = udp::checksum_ipv6(ip.source, ip.destination, &ours, &payload);
        udp::Fields { checksum, ..fields }.emit(&mut ours);
        prop_assert_eq!(ours, theirs.to_bytes());
    }
}
