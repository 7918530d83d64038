//! The codecs beside `dhcproto`, which others wrote: it reads what we write, and we read what it
//! writes.

use std::net::{Ipv4Addr, Ipv6Addr};

use dhcproto::v4::relay::{RelayAgentInformation, RelayInfo};
use dhcproto::{Decodable, Decoder, Encodable, v4 as other4, v6 as other6};
use protocol_dhcp::{Kind, v4, v6};
use protocol_kit::Random;

use crate::client4::{DISCOVER, Message4};
use crate::client6::{Message6, SOLICIT, association};
use crate::lines::{ANYBODY, ANYBODY6, Lines, MAC, SERVER, config4, config6, identity};

#[test]
fn dhcproto_reads_an_offer_as_it_was_meant() {
    let mut config = config4();
    config.trusts_access_nodes = true;
    let mut lines = Lines::new(v4::Server::new(config, SERVER.into()).expect("a server"));
    let discover = Message4::new(DISCOVER, 0xabcd, MAC).with(55, &[6, 1, 3, 114, 108]);
    lines.hear(1, MAC, ANYBODY, discover.with(82, &[1, 2, b'a', b'b']).bytes());
    let bytes = lines.only().bytes;
    let message = other4::Message::decode(&mut Decoder::new(&bytes)).expect("it reads it");
    assert_eq!((message.xid(), message.yiaddr()), (0xabcd, Ipv4Addr::new(10, 0, 0, 8)));
    assert_eq!((message.opcode(), message.chaddr()), (other4::Opcode::BootReply, &MAC[..]));
    let mut agent = RelayAgentInformation::default();
    agent.insert(RelayInfo::AgentCircuitId(b"ab".to_vec()));
    use other4::DhcpOption as O;
    let wanted = [
        O::MessageType(other4::MessageType::Offer),
        O::ServerIdentifier(SERVER.into()),
        O::AddressLeaseTime(600),
        O::Renewal(300),
        O::Rebinding(525),
        O::SubnetMask(Ipv4Addr::new(255, 255, 255, 0)),
        O::Router(vec![SERVER.into()]),
        O::DomainNameServer(vec![SERVER.into(), Ipv4Addr::new(10, 0, 0, 2)]),
        O::CaptivePortal("https://portal.example/api".to_owned()),
        O::RelayAgentInformation(agent),
    ];
    for option in &wanted {
        assert_eq!(message.opts().get(option.into()), Some(option));
    }
    // Option 108, which it knows as 106.
    assert_eq!(message.opts().len(), wanted.len() + 1);
}

#[test]
fn dhcproto_reads_an_advertisement_as_it_was_meant() {
    let mut lines = Lines::new(v6::Server::new(config6(), identity()).expect("a server"));
    let solicit = Message6::new(SOLICIT, 7, &[0, 3, 0, 1, 9]).with(6, &[0, 23]);
    let solicit = solicit.with(3, &association(1, &[])).with(25, &association(2, &[]));
    lines.hear(1, MAC, ANYBODY6, solicit.bytes());
    let bytes = lines.only().bytes;
    let message = other6::Message::decode(&mut Decoder::new(&bytes)).expect("it reads it");
    assert_eq!(message.msg_type(), other6::MessageType::Advertise);
    let Some(other6::DhcpOption::IANA(na)) = message.opts().get(other6::OptionCode::IANA) else {
        panic!("no IA_NA")
    };
    assert_eq!((na.id, na.t1, na.t2), (1, 300, 480));
    let Some(other6::DhcpOption::IAAddr(one)) = na.opts.get(other6::OptionCode::IAAddr) else {
        panic!("no address")
    };
    let wanted: Ipv6Addr = "2001:db8:1::8".parse().expect("an address");
    assert_eq!((one.addr, one.preferred_life, one.valid_life), (wanted, 600, 1000));
    let Some(other6::DhcpOption::IAPD(pd)) = message.opts().get(other6::OptionCode::IAPD) else {
        panic!("no IA_PD")
    };
    let Some(other6::DhcpOption::IAPrefix(one)) = pd.opts.get(other6::OptionCode::IAPrefix) else {
        panic!("no prefix")
    };
    assert_eq!((one.prefix_len, one.valid_lifetime), (56, 1000));
    // And it writes the same again.
    assert_eq!(message.to_vec().expect("it writes").len(), bytes.len());
}

#[test]
fn what_dhcproto_writes_is_read_the_same() {
    let seed = 11;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    for _ in 0..5000 {
        let mut message = other4::Message::new_with_id(
            random.bits() as u32,
            (random.bits() as u32).into(),
            (random.bits() as u32).into(),
            Ipv4Addr::UNSPECIFIED,
            (random.bits() as u32).into(),
            &MAC,
        );
        use other4::DhcpOption as O;
        message.opts_mut().insert(O::MessageType(other4::MessageType::Request));
        let len = random.below(700) as usize + 2;
        let id: Vec<u8> = (0..len).map(|_| random.bits() as u8).collect();
        message.opts_mut().insert(O::ClientIdentifier(id.clone()));
        let asked: Ipv4Addr = (random.bits() as u32).into();
        message.opts_mut().insert(O::RequestedIpAddress(asked));
        let bytes = message.to_vec().expect("it writes");
        let read = v4::Message::parse(&bytes).expect("we read it");
        assert_eq!((read.xid(), read.ciaddr()), (message.xid(), message.ciaddr()));
        assert_eq!((read.yiaddr(), read.giaddr()), (message.yiaddr(), message.giaddr()));
        assert_eq!((read.kind(), read.address(50)), (3, Some(asked)));
        assert_eq!(read.option(61).as_deref(), Some(&id[..]), "in as many parts as it needs");
    }
    for _ in 0..5000 {
        let mut message = other6::Message::new_with_id(other6::MessageType::Renew, [1, 2, 3]);
        let duid: Vec<u8> = (0..3 + random.below(100)).map(|_| random.bits() as u8).collect();
        message.opts_mut().insert(other6::DhcpOption::ClientId(duid.clone()));
        let count = random.below(6) as u32;
        for id in 0..count {
            let (t1, t2) = (random.bits() as u32, random.bits() as u32);
            let mut opts = other6::DhcpOptions::new();
            opts.insert(other6::DhcpOption::IAAddr(other6::IAAddr {
                addr: Ipv6Addr::from(u128::from(random.bits()) << 64 | 1),
                preferred_life: t1,
                valid_life: t2,
                opts: other6::DhcpOptions::new(),
            }));
            let ia = other6::IANA { id, t1, t2, opts };
            message.opts_mut().insert(other6::DhcpOption::IANA(ia));
        }
        let bytes = message.to_vec().expect("it writes");
        let read = v6::Message::parse(&bytes).expect("we read it");
        assert_eq!((read.client(), read.xid), (Some(&duid[..]), [1, 2, 3]));
        let mut ids: Vec<u32> = read.options.ias().map(|ia| ia.iaid).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..count).collect::<Vec<_>>());
        for ia in read.options.ias() {
            let leaf = ia.leaves().next().expect("an address");
            assert_eq!((ia.kind, leaf.preferred, leaf.valid), (Kind::Address, ia.t1, ia.t2));
        }
    }
}
