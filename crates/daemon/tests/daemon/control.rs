//! The control socket: who may use it, who is served, and what a hostile client can do.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use daemon::client::Client;
use daemon::protocol::{Ask, REQUEST_BYTES_MAX};

use crate::kit::{BRIDGE, Run, start, try_start};

/// Sends bytes and returns the complete answer.
fn exchange(run: &Run, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(&run.socket).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    // A server that has seen enough may have closed its end.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn the_protocol_is_lines_of_json() {
    let run = start(BRIDGE);
    let two = b"{\"version\":1,\"id\":4,\"ask\":\"ready\"}\n{\"version\":1,\"id\":5,\"ask\":{\"show\":\"drops\"}}\n";
    let answers = exchange(&run, two);
    let lines: Vec<serde_json::Value> =
        answers.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&lines[0]["id"], &lines[1]["id"]), (&4.into(), &5.into()));
    assert_eq!(lines[0]["ok"]["function"], "l2-switch");
    assert!(lines[1]["ok"]["drops"]["function"].is_object());
}

#[test]
fn hostile_clients_are_refused_and_others_served() {
    let run = start(BRIDGE);
    for (bytes, part) in [
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "not JSON"),
        (b"{}\n".to_vec(), "version 1"),
        (b"{\"version\":2,\"ask\":\"ready\"}\n".to_vec(), "version 1"),
        (b"{\"version\":1,\"ask\":\"rm\"}\n".to_vec(), "is invalid"),
        (b"{\"version\":1,\"ask\":\"ready\",\"more\":1}\n".to_vec(), "is invalid"),
        (b"\xff\xfe\n".to_vec(), "not JSON"),
        (format!("{}\n", "[".repeat(50_000)).into_bytes(), "not JSON"),
        (vec![b'x'; 2 * REQUEST_BYTES_MAX], "at most"),
        (b"{\"version\":1".to_vec(), ""),
        (Vec::new(), ""),
    ] {
        let answer = exchange(&run, &bytes);
        assert!(answer.contains(part), "{part}: {answer}");
        run.ask(Ask::Ready).expect("others are served");
    }
}

#[test]
fn silent_clients_make_room() {
    let run = start(BRIDGE);
    let silent: Vec<UnixStream> = (0..100)
        .map(|index| {
            let mut stream = UnixStream::connect(&run.socket).expect("it listens");
            if index % 2 == 0 {
                stream.write_all(b"{\"vers").expect("it takes it");
            }
            stream
        })
        .collect();
    for _ in 0..10 {
        run.ask(Ask::Ready).expect("one that speaks is served");
    }
    drop(silent);
}

#[test]
fn the_socket_has_its_mode_and_goes_with_the_daemon() {
    let text = BRIDGE.replace("control.sock}", "control.sock, mode: \"0660\"}");
    let run = start(&text);
    let mode = |run: &Run| {
        std::fs::metadata(&run.socket).expect("the socket").permissions().mode() & 0o777
    };
    assert_eq!(mode(&run), 0o660);
    let folder = Arc::clone(&run.folder);
    let second = try_start(BRIDGE, true, Arc::clone(&folder)).err().expect("it is taken");
    assert!(second.to_string().contains("another daemon"), "{second}");
    run.ask(Ask::Stop).expect("it ends");
    let socket = run.socket.clone();
    run.stop().expect("it ends well");
    assert!(!socket.exists());
    // One that a killed daemon left behind is replaced.
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket that nobody serves"));
    let run = try_start(BRIDGE, true, folder).expect("it starts");
    assert_eq!(mode(&run), 0o600);
    run.ask(Ask::Ready).expect("it is served");
}

#[test]
fn many_changes_go_in_one_request() {
    let run = start(BRIDGE);
    let station = |number: u32| {
        let mac = format!("02:00:00:00:{:02x}:{:02x}", number >> 8, number & 255);
        serde_json::json!({"set-station": {"mac": mac, "port": "uplink"}}).to_string()
    };
    let mut lines: Vec<String> = (0..3000).map(station).collect();
    lines[4] = "{\"set-station\"".to_owned();
    lines[6] = r#"{"remove-station": {"mac": "02:00:00:00:99:99"}}"#.to_owned();
    lines[8] = "# a comment".to_owned();
    let text = format!(
        "{{\"version\":1,\"id\":9,\"ask\":\"updates\"}}\n{}\n\n{{\"version\":1,\"ask\":\"ready\"}}\n",
        lines.join("\n")
    );
    let answers = exchange(&run, text.as_bytes());
    let answers: Vec<serde_json::Value> =
        answers.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told = &answers[0]["ok"];
    assert_eq!(
        (&answers[0]["id"], &told["applied"], &told["refused"]),
        (&9.into(), &2997.into(), &2.into())
    );
    let errors = told["errors"].as_array().expect("a list");
    assert_eq!((&errors[0]["line"], &errors[1]["line"]), (&5.into(), &7.into()));
    assert_eq!(errors[1]["what"], "no such entry");
    assert_eq!(answers[1]["ok"]["function"], "l2-switch", "the connection goes on");
    // The client's own way, and a line that is none.
    let words = "set-station mac=02:00:00:00:00:09 port=uplink";
    let lines = [&station(7), "", "# nothing", &station(8), words].join("\n");
    let mut client = Client::connect(&run.socket).expect("it listens");
    let told = client.updates(&mut lines.as_bytes()).expect("it answers");
    assert_eq!((&told["applied"], &told["refused"]), (&3.into(), &0.into()));
    let long = vec![b'x'; 2 * REQUEST_BYTES_MAX];
    let refused = client.updates(&mut &long[..]).expect_err("no change is so long");
    assert!(refused.to_string().contains("has more than"), "{refused}");
    run.ask(Ask::Ready).expect("others are served");
}
