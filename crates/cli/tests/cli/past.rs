//! Who had an outside end at a time, from a log of syslog as a collector keeps it.

use serde_json::Value;

use crate::{Ended, run, temporary_folder, write};

/// Two workers; the first one ends in good order and begins again, the second one is killed. What a
/// collector puts before a line is no matter.
const LOG: &str = r#"<134>1 2026-11-22T08:00:00.000Z 192.0.2.1 cgnat 0 log-begin [nat@32473 domain="0"]
<134>1 2026-11-22T08:00:00.000Z 192.0.2.1 cgnat 1 log-begin [nat@32473 domain="1"]
<134>1 2026-11-22T08:00:01.000Z 192.0.2.1 cgnat 0 block-allocate [nat@32473 inside="10.0.0.1" outside="198.51.100.7" first="1024" last="1535" vrf="0"]
Nov 22 08:00:01 host <134>1 2026-11-22T08:00:01.500Z 192.0.2.1 cgnat 0 session-create [nat@32473 inside="10.0.0.1" outside="198.51.100.7" proto="17" inport="5000" outport="1300" vrf="0"]
<134>1 2026-11-22T08:00:01.600Z 192.0.2.1 cgnat 0 session-create [nat@32473 inside="10.0.0.1" outside="198.51.100.7" proto="17" inport="5000" outport="1300" vrf="0"]
a line of something else
<134>1 2026-11-22T08:00:02.000Z 192.0.2.1 cgnat 1 block-allocate [nat@32473 inside="10.0.0.2" outside="198.51.100.7" first="2048" last="2559" vrf="0"]
<134>1 2026-11-22T08:10:00.000Z 192.0.2.1 cgnat 0 session-delete [nat@32473 inside="10.0.0.1" outside="198.51.100.7" proto="17" inport="5000" outport="1300" vrf="0"]
<134>1 2026-11-22T08:20:00.000Z 192.0.2.1 cgnat 0 session-delete [nat@32473 inside="10.0.0.1" outside="198.51.100.7" proto="17" inport="5000" outport="1300" vrf="0"]
<134>1 2026-11-22T08:20:00.000Z 192.0.2.1 cgnat 0 block-release [nat@32473 inside="10.0.0.1" outside="198.51.100.7" first="1024" last="1535" vrf="0"]
<134>1 2026-11-22T08:20:00.000Z 192.0.2.1 cgnat 0 log-end [nat@32473 domain="0" told="7" lost="0"]
<134>1 2026-11-22T09:00:00.000Z 192.0.2.1 cgnat 0 log-begin [nat@32473 domain="0"]
<134>1 2026-11-22T09:00:00.000Z 192.0.2.1 cgnat 1 log-begin [nat@32473 domain="1"]
<134>1 2026-11-22T09:00:01.000Z 192.0.2.1 cgnat 0 block-allocate [nat@32473 inside="10.0.0.3" outside="198.51.100.7" first="1024" last="1535" vrf="0"]
"#;

fn ask(arguments: &str) -> Ended {
    let folder = temporary_folder();
    write(folder.path(), "nat.log", LOG);
    let arguments: Vec<&str> = ["show", "table"].into_iter().chain(arguments.split(' ')).collect();
    run(folder.path(), &arguments)
}

/// Who it was, each with since when and until when.
fn who(table: &str, sought: &str, time: &str) -> Vec<[String; 3]> {
    let at = format!("{table} --for {sought} --at 2026-11-22T{time}Z --log nat.log --json");
    let found = ask(&at).expect(0).json();
    let text = |value: &Value| value.as_str().unwrap_or("-").replace("2026-11-22T", "");
    let entry = |one: &Value| ["inside", "since", "until"].map(|key| text(&one[key]));
    found.as_array().expect("entries").iter().map(entry).collect()
}

fn entry(words: [&str; 3]) -> Vec<[String; 3]> {
    vec![words.map(str::to_owned)]
}

#[test]
fn a_log_tells_who_had_an_outside_port_at_a_time() {
    let first = entry(["10.0.0.1", "08:00:01Z", "08:20:00Z"]);
    for port in [1024, 1300, 1535] {
        let end = format!("198.51.100.7:{port}");
        assert_eq!(who("blocks", &end, "08:05:00"), first);
        assert_eq!(who("blocks", &end, "08:00:00.500"), Vec::<[String; 3]>::new());
        assert_eq!(who("blocks", &end, "08:30:00"), Vec::<[String; 3]>::new());
        assert_eq!(who("blocks", &end, "10:00:00"), entry(["10.0.0.3", "09:00:01Z", "-"]));
    }
    // Of two sessions in the same words one goes on.
    let session = entry(["10.0.0.1", "08:00:01.5Z", "08:20:00Z"]);
    assert_eq!(who("sessions", "198.51.100.7:1300", "08:15:00"), session);
    assert_eq!(who("sessions", "10.0.0.1:5000", "08:15:00"), session);
    assert_eq!(who("sessions", "198.51.100.7:1301", "08:15:00"), Vec::<[String; 3]>::new());
    // One that was killed tells no end: it is over when its log begins again.
    let killed = entry(["10.0.0.2", "08:00:02Z", "09:00:00Z"]);
    assert_eq!(who("blocks", "198.51.100.7:2048", "08:40:00"), killed);
    assert_eq!(who("blocks", "198.51.100.7:2048", "09:00:00"), Vec::<[String; 3]>::new());
}

#[test]
fn what_a_log_cannot_tell_is_said() {
    let shown = ask("blocks --for 198.51.100.7 --at 2026-11-22T07:00:00Z --log nat.log").expect(0);
    assert_eq!(shown.stderr, "note: the log begins at 2026-11-22T08:00:00Z\n");
    let shown = ask("pools --for 198.51.100.7 --at 2026-11-22T07:00:00Z --log nat.log").expect(2);
    assert!(shown.stderr.contains("logs tell nothing of the table `pools`"), "{}", shown.stderr);
    let shown = ask("blocks --for 198.51.100.7 --at 2026-11-22T07:00:00Z --log other").expect(2);
    assert!(shown.stderr.contains("file: other"), "{}", shown.stderr);
    let shown = ask("blocks --for 198.51.100.7 --at 2026-11-22T08:05:00Z").expect(2);
    assert!(shown.stderr.contains("--log"), "{}", shown.stderr);
}
