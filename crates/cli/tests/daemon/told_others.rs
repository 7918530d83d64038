//! What a route reflector tells others who are no peers: files of MRT, which `bgpdump` reads, and a
//! collector of BMP, pmacct's.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::tshark;

use crate::frr_routing::start_bird;
use crate::kit::{Lab, PLUMBLINE, until};
use crate::neighbours::host;

const BIRD: &str = "\
router id 10.0.4.2;
protocol device {}
protocol static { ipv4; route 203.0.113.0/24 blackhole; route 203.0.114.0/24 blackhole; }
protocol bgp reflector {
  local 10.0.4.2 as 64500;
  neighbor 10.0.4.1 as 64500;
  connect delay time 1;
  error wait time 1, 2;
  ipv4 { import all; export all; };
}
";

fn reflector(folder: &Path) -> String {
    format!(
        "controllers:
  - name: route-reflector
    as: 64500
    identifier: 10.0.4.1
    listen: [\"0.0.0.0:179\"]
    peers: [{{address: 10.0.4.2, passive: true}}]
    mrt: {{folder: {}, updates: true, rotate-every-s: 86400}}
    bmp:
      - {{address: 127.0.0.1, port: 1790, statistics-every-s: 1, what: [loc-rib, adj-rib-in]}}
",
        folder.display()
    )
}

/// The files of a folder whose names begin so.
fn files(folder: &Path, begin: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let all = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(begin));
    all.map(|entry| entry.path()).collect()
}

/// - `route-reflector`, RFC 6396, RFC 7854 and RFC 9069: `bgpdump` reads its files, `pmbmpd` takes
///   what it tells of its table and of BIRD, and tshark finds nothing malformed in that
#[test]
fn bgpdump_and_pmbmpd_know_what_bird_tells() {
    for program in ["bird", "bgpdump", "pmbmpd"] {
        if !netns::is_installed(program) {
            return println!("skipped: this needs {program}");
        }
    }
    let Some(lab) = Lab::bare() else { return };
    let bird = host(&lab, "bird0", &["10.0.4.2/24"], &[]);
    lab.namespace.ip("addr add 10.0.4.1/24 dev bird0").expect("an address");
    lab.namespace.ip("link set lo up").expect("an interface");
    let (folder, log) = (lab.folder.path().join("mrt"), lab.folder.path().join("bmp.log"));
    let daemon = lab.start(&lab.write("reflector.yaml", &reflector(&folder)));
    let socket = daemon.socket.to_string_lossy().into_owned();
    let captured = lab.folder.path().join("bmp.pcapng");
    let mut capture = Command::new(PLUMBLINE);
    capture.args(["capture", "--protocol", "bmp", "--count", "6", "--socket", &socket, "-w"]);
    let mut capture = lab
        .namespace
        .spawn({
            capture.arg(&captured);
            capture
        })
        .expect("it starts");
    let started = |line: &String| line.contains("capture started");
    until("the capture", || daemon.logged().iter().any(started).then_some(()));
    let configuration = format!(
        "daemonize: false\nbmp_daemon_ip: 127.0.0.1\nbmp_daemon_port: 1790\n\
         bmp_daemon_msglog_file: {}\nbmp_daemon_msglog_output: json\n",
        log.display()
    );
    let mut pmbmpd = Command::new("pmbmpd");
    pmbmpd.arg("-f").arg(lab.write("pmbmpd.conf", &configuration));
    let _pmbmpd = lab.namespace.spawn(pmbmpd).expect("it starts");
    let mut bird_runs = Some(start_bird(&lab, &bird, BIRD));
    let said = |text: &str| {
        let log = fs::read_to_string(&log).unwrap_or_default();
        log.lines().any(|line| line.contains(text) && line.contains("route_monitor"))
    };
    until("a route at pmbmpd", || said("203.0.113.0/24").then_some(()));
    until("another one", || said("203.0.114.0/24").then_some(()));
    let happened = |what: &str| {
        let log = fs::read_to_string(&log).unwrap_or_default();
        log.lines().any(|line| line.contains(what) && line.contains("\"10.0.4.2\""))
    };
    until("BIRD's session", || happened("peer_up").then_some(()));
    until("what BIRD tells", || happened("203.0.113.0/24").then_some(()));

    // The tables at once.
    let (code, text, errors) = lab.run(&["set", "dump-tables", "--socket", &socket]);
    assert_eq!(code, 0, "{errors}");
    let named = text.trim().strip_prefix("file: ").expect("it names the file").to_owned();
    let table = until("the table", || fs::exists(&named).unwrap_or(false).then_some(&named));
    let bgpdump = |file: &Path| {
        let output = Command::new("bgpdump").arg("-m").arg(file).output().expect("it runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let theirs = bgpdump(Path::new(table));
    assert!(theirs.contains("|B|10.0.4.2|64500|203.0.113.0/24||IGP|10.0.4.2|100|"), "{theirs}");
    assert_eq!(theirs.lines().count(), 2, "{theirs}");
    let (code, ours, errors) = lab.run(&["bgp", "dump", table]);
    assert_eq!(code, 0, "{errors}");
    for (our, their) in ours.lines().zip(theirs.lines()) {
        assert!(our.starts_with(their.trim_end_matches('|')), "{our}\n{their}");
    }

    // What BIRD told, and that it goes.
    bird_runs.take();
    let updates = files(&folder, "updates.");
    assert_eq!(updates.len(), 1, "{updates:?}");
    let text = until("the end of the session", || {
        let text = bgpdump(&updates[0]);
        text.contains("STATE|10.0.4.2|64500|6|1").then_some(text)
    });
    assert!(text.contains("STATE|10.0.4.2|64500|5|6"), "{text}");
    assert!(text.contains("|A|10.0.4.2|64500|203.0.113.0/24|"), "{text}");

    until("the end of the session at pmbmpd", || happened("peer_down").then_some(()));
    let (code, _, errors) = lab.run(&["set", "stop", "--socket", &socket]);
    assert_eq!(code, 0, "{errors}");
    until("the reflector's last word", || {
        let log = fs::read_to_string(&log).unwrap_or_default();
        log.lines().any(|line| line.contains("\"term\"")).then_some(())
    });

    // What the collector was told, as another dissector reads it.
    until("the capture to end", || capture.ended());
    let options = ["-d", "tcp.port==1790,bmp"];
    let fields = ["bmp.type", "bgp.nlri_prefix", "_ws.malformed", "bmp.peer.type"];
    let Some(packets) = tshark::read(&captured, &options, &fields) else { return };
    let types: Vec<&String> = packets.iter().flat_map(|packet| packet.field("bmp.type")).collect();
    assert_eq!((types[0].as_str(), types[1].as_str()), ("4", "3"), "{packets:?}");
    assert!(types.iter().any(|kind| *kind == "0"), "{packets:?}");
    assert!(packets.iter().all(|packet| packet.field("_ws.malformed").is_empty()), "{packets:?}");
}
