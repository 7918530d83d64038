//! Functions with four ports: the daemon joins each to its link by name.

use crate::kit::{Far, Run, start, until};

/// Returns the rest of a configuration: a link for each port, and a worker.
fn links(names: [&str; 4]) -> String {
    let each = names.map(|name| format!("  {name}: {{type: wired, interface: @{name}}}\n"));
    let core = machine::cpu::available_cores().first().copied().unwrap_or(0);
    format!(
        "ports:\n{}workers: {{idle: sleep, cores: [{core}]}}\ncontrol: {{socket: @/control.sock}}\n",
        each.concat()
    )
}

fn ends(run: &Run, names: [&str; 4]) -> [Far; 4] {
    names.map(|name| run.far(name))
}

fn send(from: &mut Far, frame: &[u8]) {
    assert!(from.0.send(frame), "the ring has room");
    from.0.publish();
}

fn next(to: &mut Far) -> Vec<u8> {
    until("the frame", || {
        let got = to.1.next_frame().map(<[u8]>::to_vec)?;
        to.1.release();
        Some(got)
    })
}

#[test]
fn a_router_forwards_between_any_two_of_four_ports() {
    const NAMES: [&str; 4] = ["ge-1", "ge-2", "ge-3", "trunk"];
    let port = |number: usize| {
        let name = NAMES[number];
        format!("{{name: {name}, mac: '02:00:00:00:01:0{number}', ip: 10.{number}.0.1/24}}")
    };
    let hop = |number: usize| {
        let name = NAMES[number];
        format!("{{port: {name}, mac: '02:00:00:00:02:0{number}', ip: 10.{number}.0.2}}")
    };
    let all = |of: &dyn Fn(usize) -> String| (0..4).map(of).collect::<Vec<_>>().join(", ");
    let function = format!(
        "function:\n  name: l3-router\n  ports: [{}]\n  next-hops: [{}]\n",
        all(&port),
        all(&hop)
    );
    let run = start(&(function + &links(NAMES)));
    let mut ends = ends(&run, NAMES);
    for from in 0..4 {
        for to in (0..4).filter(|to| *to != from) {
            send(&mut ends[from], &packet(from as u8, to as u8));
            let left = next(&mut ends[to]);
            assert_eq!(left[..6], [2, 0, 0, 0, 2, to as u8], "{from} to {to}");
            assert_eq!(left[6..12], [2, 0, 0, 0, 1, to as u8], "{from} to {to}");
        }
    }
}

#[test]
fn a_switch_floods_to_three_of_four_ports_and_learns() {
    const NAMES: [&str; 4] = ["downlink", "uplink", "port-3", "port-4"];
    let function = "function: {name: l2-switch, ports: 4}\n";
    let run = start(&(function.to_owned() + &links(NAMES)));
    let mut ends = ends(&run, NAMES);
    for from in 0..4 {
        let flood = frame([0xff; 6], from as u8);
        send(&mut ends[from], &flood);
        for to in (0..4).filter(|to| *to != from) {
            assert_eq!(next(&mut ends[to]), flood, "{from} to {to}");
        }
    }
    for from in 0..4 {
        for to in (0..4).filter(|to| *to != from) {
            let known = frame([0x0a, 0, 0, 0, 0, to as u8], from as u8);
            send(&mut ends[from], &known);
            assert_eq!(next(&mut ends[to]), known, "{from} to {to}");
        }
    }
    // Nothing else has left by any port.
    assert!(ends.iter_mut().all(|end| end.1.next_frame().is_none()));
}

/// Returns a frame of a station behind a port.
fn frame(destination: [u8; 6], from: u8) -> Vec<u8> {
    let mut frame = destination.to_vec();
    frame.extend([0x0a, 0, 0, 0, 0, from, 8, 0]);
    frame.extend([0x45; 50]);
    frame
}

/// Returns a packet from the neighbour behind a port to the one behind another.
fn packet(from: u8, to: u8) -> Vec<u8> {
    let mut header = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
    header.extend([10, from, 0, 2, 10, to, 0, 2]);
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    let macs = [2, 0, 0, 0, 1, from, 2, 0, 0, 0, 2, from, 8, 0];
    [&macs[..], &header, &[0x9c, 0x40, 0, 9, 0, 8, 0, 0]].concat()
}
