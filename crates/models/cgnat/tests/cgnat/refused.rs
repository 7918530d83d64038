//! Who was refused, as an operator sees it: a bounded table, whoever asks.

use function_cgnat::config::Config;
use function_kit::{NetworkFunction, Shard, Sought};
use machine::clock::Ticks;
use testkit::device::Device;
use testkit::pair::clock;

use crate::frames::{INSIDE, kinds};
use crate::laws::datagram;

const NOW: Ticks = 1 << 40;

#[test]
fn whoever_is_refused_is_shown_with_the_reason() {
    let config = Config { sessions_per_subscriber: Some(3), ..kinds()[0].clone() };
    let nat = function_cgnat::Cgnat::function(&config, Shard::WHOLE, clock(), 1 << 30);
    let mut device = Device::new(nat.expect("a small NAT"), 2);
    let table = function_cgnat::Cgnat::TABLES.iter().position(|name| *name == "refused");
    let table = table.expect("there is one");
    let server = (0xc000_0209, 53);
    for port in 0..10 {
        device.pass(INSIDE, &datagram(&config, (0x0a00_0001, 4000 + port), server), NOW);
    }
    device.pass(INSIDE, &datagram(&config, (0x0a00_0002, 4000), server), NOW);
    let page = |device: &mut Device<_>, sought: Option<&str>| {
        let function = device.function_mut();
        match sought {
            None => function_cgnat::Cgnat::table_page(function, table, 0, 100, NOW),
            Some(sought) => {
                let sought: Sought = sought.parse().expect("an address");
                let found =
                    function_cgnat::Cgnat::table_found(function, table, sought, 0, 100, NOW);
                found.expect("it has addresses")
            }
        }
    };
    let all = page(&mut device, None);
    let expected = serde_json::json!([{
        "inside": "10.0.0.1",
        "reason": "session-limit",
        "refused": 7,
        "too-many-by": 0,
        "last-s-ago": 0,
    }]);
    assert_eq!(serde_json::json!(all.entries), expected);
    assert_eq!(all.next, None);
    assert_eq!(page(&mut device, Some("10.0.0.1")).entries, all.entries);
    assert_eq!(page(&mut device, Some("10.0.0.2")).entries.len(), 0);
    let size =
        |device: &mut Device<_>| function_cgnat::Cgnat::table_sizes(device.function_mut())[table];
    assert_eq!((size(&mut device).used, size(&mut device).capacity), (1, 512));
}
