//! What can be told without starting a program; `plumbline`'s own tests start it.

use std::sync::Arc;
use std::time::Duration;

use function_kit::PortName;
use serde_json::{Map, json};

use super::*;

fn options(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

#[test]
fn keys_are_read_and_wrong_ones_named() {
    let read = Options::read(&options(json!({"ports": "memif"}))).expect("good");
    assert_eq!(read.ports, Ports::Memif);
    assert_eq!(Options::read(&Map::new()).expect("all defaults").ports, Ports::AfPacket);
    for wrong in [json!({"ports": "token-ring"}), json!({"port": "memif"})] {
        let invalid = Options::read(&options(wrong)).expect_err("no such key or value");
        let error = DriverError::from(invalid);
        assert!(error.what.starts_with("device") && !error.remedy.is_empty(), "{error}");
    }
    let guests = Options::read(&options(json!({"topology": "vm-to-vm", "ports": "vhost-user"})));
    assert_eq!(guests.expect("good").topology, Topology::VmToVm);
    let error = Options::read(&options(json!({"topology": "full-path"}))).expect_err("af-packet");
    assert!(error.remedy.contains("ports: vhost-user"), "{error}");
    let absent = Options::read(&options(json!({"program": "/nowhere/at/all"}))).expect("a path");
    let error = absent.program().expect_err("it is not there");
    assert!(error.what.contains("/nowhere/at/all") && error.remedy.contains("`program`"));
}

#[test]
fn a_wire_of_each_kind_meets_itself() {
    if !netns::may_make_namespaces() {
        println!("skipped: no right to make network namespaces");
        return;
    }
    for kind in [Ports::AfPacket, Ports::Memif, Ports::VhostUser, Ports::VirtioUser] {
        let service = Service::Bridge(model_kit::service::Bridge {
            ports: 2,
            beyond: vec![],
            stations: Vec::new(),
            ageing_s: None,
            floods: false,
            patch: Some([None, None]),
        });
        let options = options(json!({"ports": kind}));
        let request = Start {
            service: &service,
            function: "l2-switch",
            port_names: &["downlink", "uplink"].map(PortName::new),
            configuration: &Value::Null,
            initial: &|| Ok(Vec::new()),
            beside: &[],
            standby: None,
            options: &options,
            workers: 1,
            cores: &[0],
            frame_bytes_max: 1600,
            clock: machine::clock::Clock::calibrate(Duration::from_millis(10)),
            stop: Arc::default(),
        };
        let wire = Process.wire(&request).expect("this kind of port").expect("a wire");
        assert_eq!({ wire }.ports().len(), 2, "{}", kind.name());
    }
}
