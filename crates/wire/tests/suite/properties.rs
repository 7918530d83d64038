//! Any bytes are survived, and what is emitted is read back.

use proptest::prelude::*;
use wire::{LAWS, MacAddr, arp, checksum, ethernet, gtpu, ipv4, ipv6, pcp, tcp, udp, vxlan};

use crate::random::*;

/// Generates any bytes.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..200)
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in noise()) {
        LAWS.iter().for_each(|law| (law.holds)(&bytes));
    }

    /// The first bytes are valid, so that the random bytes reach the code after the first checks.
    #[test]
    fn noise_behind_a_good_start_is_survived(
        mut bytes in noise(),
        header_words in 5u8..16,
        flags in 0u8..8,
        lengths in any::<[u8; 2]>(),
        extension in prop::sample::select(vec![0u8, 43, 44, 51, 60]),
    ) {
        bytes.resize(bytes.len().max(64), 0);
        let put = |bytes: &mut [u8], start: &[u8]| bytes[..start.len()].copy_from_slice(start);

        put(&mut bytes, &[0x40 | header_words, 0, 0, lengths[0]]);
        (ipv4::LAW.holds)(&bytes);
        put(&mut bytes, &[0x60, 0, 0, 0, 0, lengths[0] % 24, extension]);
        bytes[40] = extension;
        (ipv6::LAW.holds)(&bytes);
        put(&mut bytes, &[gtpu::FLAGS | flags, gtpu::MESSAGE_G_PDU, 0, lengths[1] % 56]);
        // Short extension headers make long chains.
        bytes[12] &= 3;
        (gtpu::LAW.holds)(&bytes);
        bytes[tcp::offset::DATA_OFFSET] = header_words << 4;
        (tcp::LAW.holds)(&bytes);
    }

    #[test]
    fn addresses_are_read_as_printed(octets in any::<[u8; 6]>()) {
        let mac = MacAddr(octets);
        prop_assert_eq!(mac.to_string().parse(), Ok(mac));
        prop_assert_eq!(mac.to_string().to_uppercase().replace(':', "-").parse(), Ok(mac));
    }

    #[test]
    fn any_text_is_survived_as_an_address(text in any::<String>(), near in "[0-9a-g:-]{16,18}") {
        let _ = (text.parse::<MacAddr>(), near.parse::<MacAddr>());
    }

    #[test]
    fn ethernet_is_read_as_emitted(fields in ethernet_fields(), payload in noise()) {
        let mut header = [0xff; ethernet::HEADER_LEN];
        fields.emit(&mut header);
        let frame = [&header[..], &payload].concat();
        let view = ethernet::View::parse(&frame).unwrap();
        prop_assert_eq!(view.fields(), fields);
        prop_assert_eq!(view.payload(), payload);
    }

    #[test]
    fn arp_is_read_as_emitted(fields in arp_fields()) {
        let mut packet = [0xff; arp::HEADER_LEN];
        fields.emit(&mut packet);
        prop_assert_eq!(arp::View::parse(&packet).unwrap().fields(), fields);
    }

    #[test]
    fn ipv4_is_read_as_emitted((fields, payload) in with_payload(ipv4_fields), padding in noise()) {
        let mut header = [0xff; ipv4::HEADER_LEN];
        fields.emit(&mut header);
        let packet = [&header[..], &payload, &padding].concat();
        let view = ipv4::View::parse(&packet).unwrap();
        prop_assert_eq!(view.fields(), fields);
        prop_assert_eq!(view.payload(), payload);
    }

    #[test]
    fn ipv4_setters_keep_the_checksum_right(
        (fields, payload) in with_payload(ipv4_fields),
        new in any::<(std::net::Ipv4Addr, std::net::Ipv4Addr)>(),
        dscp in 0u8..64,
    ) {
        let mut header = [0xff; ipv4::HEADER_LEN];
        fields.emit(&mut header);
        let mut packet = [&header[..], &payload].concat();
        let mut view = ipv4::ViewMut::parse(&mut packet).unwrap();
        view.set_source(new.0);
        view.set_destination(new.1);
        view.set_dscp(dscp);
        let ttl = if view.decrement_ttl() { fields.ttl - 1 } else { fields.ttl };

        let expected = ipv4::Fields { source: new.0, destination: new.1, dscp, ttl, ..fields };
        expected.emit(&mut header);
        prop_assert_eq!(&packet[..ipv4::HEADER_LEN], header);
        prop_assert!(checksum::header_is_valid(&header));
    }

    #[test]
    fn ipv6_is_read_as_emitted((fields, payload) in with_payload(ipv6_fields), padding in noise()) {
        let mut header = [0xff; ipv6::HEADER_LEN];
        fields.emit(&mut header);
        let packet = [&header[..], &payload, &padding].concat();
        let view = ipv6::View::parse(&packet).unwrap();
        prop_assert_eq!(view.fields(), fields);
        prop_assert_eq!(view.payload(), payload);
    }

    #[test]
    fn tcp_is_read_as_emitted(fields in tcp_fields(), options in noise(), payload in noise()) {
        let mut header = [0xff; tcp::HEADER_LEN];
        fields.emit(&mut header);
        let mut options = options;
        options.resize(usize::from(fields.header_len) - tcp::HEADER_LEN, 0);
        let segment = [&header[..], &options, &payload].concat();
        let view = tcp::View::parse(&segment).unwrap();
        prop_assert_eq!(view.fields(), fields);
        prop_assert_eq!(view.payload(), payload);
    }

    #[test]
    fn udp_is_read_as_emitted((fields, payload) in with_payload(udp_fields), surplus in noise()) {
        let mut header = [0xff; udp::HEADER_LEN];
        fields.emit(&mut header);
        let datagram = [&header[..], &payload, &surplus].concat();
        let view = udp::View::parse(&datagram).unwrap();
        prop_assert_eq!(view.fields(), fields);
        prop_assert_eq!(view.payload(), payload);
    }

    #[test]
    fn gtpu_is_read_as_emitted((fields, payload) in with_payload(gtpu_fields), surplus in noise()) {
        let mut header = [0xff; gtpu::HEADER_LEN];
        fields.emit(&mut header);
        let message = [&header[..], &payload, &surplus].concat();
        let view = gtpu::View::parse(&message).unwrap();
        prop_assert_eq!(view.fields(), fields);
        prop_assert_eq!(view.optional_fields(), None);
        prop_assert_eq!(view.payload(), payload);
    }

    #[test]
    fn gtpu_with_optional_fields_is_read_as_emitted(
        (fields, payload) in with_payload(|len| gtpu_fields(4 + len)),
        optional in gtpu_optional_fields(),
    ) {
        let mut header = [0xff; gtpu::HEADER_LEN_OPTIONAL];
        fields.emit_with(&optional, &mut header);
        let message = [&header[..], &payload].concat();
        let view = gtpu::View::parse(&message).unwrap();
        prop_assert_eq!(view.fields(), fields);
        prop_assert_eq!(view.optional_fields(), Some(optional));
        prop_assert_eq!(view.header_len(), gtpu::HEADER_LEN_OPTIONAL);
        prop_assert_eq!(view.payload(), payload);
    }

    #[test]
    fn vxlan_is_read_as_emitted(fields in vxlan_fields(), payload in noise()) {
        let mut header = [0xff; vxlan::HEADER_LEN];
        fields.emit(&mut header);
        let packet = [&header[..], &payload].concat();
        let view = vxlan::View::parse(&packet).unwrap();
        prop_assert_eq!(view.fields(), fields);
        prop_assert_eq!(view.payload(), payload);
    }

    #[test]
    fn pcp_is_read_as_emitted(
        (request, response) in pcp_headers(),
        map in pcp_map(),
        options in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 0..9)), 0..5),
    ) {
        let (mut header, mut data) = ([0xff; pcp::HEADER_LEN], [0xff; pcp::MAP_LEN]);
        map.emit(&mut data);
        let mut behind = Vec::new();
        for (code, data) in &options {
            behind.extend([*code, 0, 0, data.len() as u8]);
            behind.extend(data);
            behind.resize(behind.len().next_multiple_of(4), 0);
        }
        request.emit(&mut header);
        let message = [&header[..], &data, &behind].concat();
        let view = pcp::View::parse(&message).unwrap();
        prop_assert!(!view.is_response());
        prop_assert_eq!(view.request(), request);
        let (read, rest) = view.map().unwrap();
        prop_assert_eq!(read, map);
        let read: Vec<_> = pcp::options(rest).map(|option| option.unwrap()).collect();
        let read: Vec<_> = read.iter().map(|one| (one.code, one.data.to_vec())).collect();
        prop_assert_eq!(read, options);
        response.emit(&mut header);
        let message = [&header[..], &data].concat();
        let view = pcp::View::parse(&message).unwrap();
        prop_assert!(view.is_response());
        prop_assert_eq!(view.response(), response);
    }
}
