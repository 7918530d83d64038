//! A NAT that runs: the use of its pools as metrics, and changes of them.

use daemon::protocol::Ask;
use serde_json::json;

use crate::kit::start;
use crate::metrics::{address, get};

const NAT: &str = "\
function:
  name: cgnat
  core: 2
  secret: 7
  sessions: 1000
  subscribers: 100
  pools: [198.18.0.0/30]
  spare-addresses: 2
  inside-next-hop: 100.64.0.9
  outside-next-hop: 203.0.113.9
ports:
  inside: {type: wired, interface: @down}
  outside: {type: wired, interface: @up}
workers: {idle: sleep, cores: [@cores]}
control: {socket: @/control.sock}
metrics: {listen: \"127.0.0.1:0\"}
";

#[test]
fn the_use_of_pools_is_told_as_metrics_and_a_pool_too_many_names_its_key() {
    let core = machine::cpu::available_cores().first().copied().unwrap_or(0);
    let run = start(&NAT.replace("@cores", &format!("{core}, {core}")));
    let metric = |name: &str, pool: &str| {
        let page = get(&address(&run), "/metrics");
        let start = format!("plumbline_pools_{name}{{pool=\"{pool}\",of=\"blocks\"}} ");
        let line = page.lines().find_map(|line| line.strip_prefix(&start));
        line.unwrap_or_else(|| panic!("{start} is not in {page}")).to_owned()
    };
    let all = |pool: &str| {
        ["addresses", "capacity", "used", "free", "drained"].map(|name| metric(name, pool))
    };
    // 126 blocks of 512 ports each, of both workers.
    let open = |addresses: u32| {
        let blocks = 126 * addresses;
        [addresses, blocks, 0, blocks, 0].map(|number| number.to_string())
    };
    assert_eq!(all("198.18.0.0/30"), open(4));
    let set =
        |update: serde_json::Value| run.ask(Ask::Set(update)).map_err(|error| error.to_string());
    set(json!({"add-pool": {"pool": "198.18.1.0/31"}})).expect("there is room");
    assert_eq!(all("198.18.1.0/31"), open(2));
    set(json!({"drain-pool": {"pool": "198.18.1.0/31"}})).expect("it is there");
    let drained = ["2", "252", "0", "0", "252"].map(str::to_owned);
    assert_eq!(all("198.18.1.0/31"), drained);
    let refused = set(json!({"add-pool": {"pool": "198.18.2.0/31"}})).expect_err("no room");
    assert!(refused.contains("raise `spare-addresses`"), "{refused}");
    let refused = set(json!({"add-pool": {"pool": "198.18.0.0/31"}})).expect_err("it has them");
    assert!(refused.contains("exists already"), "{refused}");
    run.stop().expect("it ends well");
}
