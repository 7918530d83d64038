//! A real PPTP server and two real clients on both sides of a NAT with its gateway: both have a
//! call at a time from one outside address, and what they say by enhanced GRE comes to the right
//! one.
//!
//! In the place of `pppd`, which needs a kernel that has PPP, stand programs that say the same
//! frame again and again and keep what they hear: client (pptp) and server (pptpd) pass on any
//! frame of HDLC (RFC 1662).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::kit::until;
use crate::nat_network::{Network, PATIENCE, tally};

/// The clients' addresses, in one namespace.
const CLIENTS: [&str; 2] = ["100.64.0.2", "100.64.0.3"];

#[test]
fn two_subscribers_have_calls_to_one_server() {
    let Some(network) = Network::new(&["pptp", "pptpd", "script", "unshare"], &CLIENTS) else {
        return;
    };
    for number in [1, 2] {
        for (name, who) in [("client", "subscriber"), ("server", "server")] {
            network.write(&format!("{name}-{number}-says"), &frame(&format!("{who} {number}")));
        }
    }
    let _nat = network.nat("pools: [198.18.0.0/32]\n  alg: {pptp: true}");
    let _server = server(&network);
    let mut clients = [1, 2].map(|number| client(&network, number));
    let heard = |name: &str, said: &str| {
        let bytes = fs::read(network.path(name)).unwrap_or_default();
        bytes.windows(said.len()).any(|part| part == said.as_bytes())
    };
    for client in [1, 2] {
        let (own, others) = (format!("subscriber {client}"), format!("subscriber {}", 3 - client));
        let name = format!("client-{client}");
        let has_call = |call: &u32| heard(&name, &format!("server {call}"));
        until("a call", || [1, 2].iter().find(|call| has_call(call)).copied());
        let calls: Vec<u32> = [1, 2].into_iter().filter(has_call).collect();
        assert_eq!(calls.len(), 1, "one call of the server's is a client's");
        let call = format!("call-{}", calls[0]);
        until("what the client says", || heard(&call, &own).then_some(()));
        assert!(!heard(&call, &others), "another one's call");
    }
    let shown = network.shown();
    // A request and an answer of each.
    assert!(tally(&shown, "alg-rewritten") >= 4, "{shown}");
    assert_eq!(tally(&shown, "alg-damaged"), 0, "{shown}");
    for client in &mut clients {
        client.stop(PATIENCE);
    }
    for call in [1, 2] {
        let over = network.path(&format!("over-{call}"));
        until("the end of a call", || fs::metadata(&over).ok());
    }
}

/// Starts the server, which gives each call a frame of its own to say, and waits until it takes
/// connections.
fn server(network: &Network) -> netns::Child {
    let script = format!(
        "#!/bin/sh\ntrap '' HUP TERM\nstty raw -echo\ncd {}\n\
             call=1\nmkdir claimed 2>/dev/null || call=2\n\
             (while cat server-$call-says; do sleep 0.1; done) 2>/dev/null &\n\
             cat > call-$call 2>/dev/null\ntouch over-$call\n",
        network.lab.folder.path().display()
    );
    let ppp = network.lab.write("ppp", &script);
    fs::set_permissions(&ppp, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let configuration = format!("ppp {}\ndelegate\nnoipparam\n", network.path("ppp"));
    let file = network.lab.write("pptpd.conf", &configuration);
    let options = network.lab.write("options", "");
    // A process for each call leaves its parent; all of them end with their namespace.
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "/usr/sbin/pptpd"]);
    command.arg("--fg").arg("--conf").arg(file).arg("--option").arg(options);
    command.args(["--pidfile", &network.path("pptpd.pid")]);
    let mut server = network.internet.spawn(command).expect("it starts");
    until("the server", || {
        assert!(server.ended().is_none(), "the server ended");
        let listens = network.internet.command("ss", &["-ltn"], None).expect("ss");
        listens.contains(":1723").then_some(())
    });
    server
}

/// Starts a client on a terminal of its own, which it takes for that of a modem.
fn client(network: &Network, number: usize) -> netns::Child {
    let pptp = format!(
        "stty raw -echo; exec /usr/sbin/pptp 192.0.2.9 --nolaunchpppd --nohostroute --localbind {}",
        CLIENTS[number - 1]
    );
    // Each ends with what it is a part of. Clients that start together and find no folder below
    // `/run` both make it, and the second one fails: each has a `/run` of its own.
    let says = format!("(while cat client-{number}-says; do sleep 0.1; done)");
    let script = format!("script --quiet --flush --command '{pptp}' client-{number}");
    let line = format!(
        "mount -t tmpfs tmpfs /run && {says} | setpriv --pdeathsig TERM -- {script} >/dev/null 2>&1"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &line]).current_dir(network.lab.folder.path());
    network.subscribers.spawn(command).expect("it starts")
}

/// A frame of HDLC with a packet of LCP that says something (RFC 1662 sections 3 and 4).
fn frame(said: &str) -> Vec<u8> {
    let mut bytes = [&[0xff, 0x03, 0xc0, 0x21], said.as_bytes()].concat();
    let sum =
        !bytes.iter().fold(0xffff_u16, |sum, &byte| {
            (0..8).fold(sum ^ u16::from(byte), |sum, _| {
                if sum & 1 == 1 { sum >> 1 ^ 0x8408 } else { sum >> 1 }
            })
        });
    bytes.extend(sum.to_le_bytes());
    let escaped = bytes.into_iter().flat_map(|byte| match byte {
        0..0x20 | 0x7d | 0x7e => vec![0x7d, byte ^ 0x20],
        _ => vec![byte],
    });
    [0x7e].into_iter().chain(escaped).chain([0x7e]).collect()
}
