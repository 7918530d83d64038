//! A real FTP server and a real client on both sides of a NAT with its gateway for FTP: files pass
//! both ways, by connections that the client opens and by those that the server opens, and arrive
//! as they were sent.
//!
//! The server (vsftpd) opens data connections to nobody but the host of the control connection, by
//! address; so `PORT` and `EPRT` succeed only if the NAT replaced the address.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::kit::until;
use crate::nat_network::{Network, SERVER, tally};

/// The ways in which data connections are asked for: by curl's options.
const WAYS: [(&str, &[&str]); 4] = [
    ("PASV", &["--disable-epsv"]),
    ("EPSV", &[]),
    ("PORT", &["--ftp-port", "-", "--disable-eprt"]),
    ("EPRT", &["--ftp-port", "-"]),
];

#[test]
fn files_pass_by_connections_of_both_ends() {
    let Some(network) = network() else { return };
    let nat = network.nat("alg: {ftp: true}");
    let _server = server(&network);
    let sent: Vec<u8> =
        (0..400_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    network.write("down", &sent);
    network.write("server/down", &sent);
    for (way, options) in WAYS {
        let name = format!("{way}.down");
        curl(&network, &["--output", &network.path(&name), "ftp://192.0.2.9/down"], options)
            .unwrap_or_else(|said| panic!("{way}: {said}"));
        assert!(
            fs::read(network.path(&name)).expect("it came") == sent,
            "{way}: another file came"
        );
        let url = format!("ftp://192.0.2.9/upload/{way}");
        curl(&network, &["--upload-file", &network.path("down"), &url], options)
            .unwrap_or_else(|said| panic!("{way}: {said}"));
        let arrived = fs::read(network.path(&format!("server/upload/{way}"))).expect("it arrived");
        assert!(arrived == sent, "{way}: another file arrived");
    }
    let shown = network.shown();
    // A list, a download and an upload by PORT and EPRT each are told by the client.
    let rewritten = tally(&shown, "alg-rewritten");
    assert!(rewritten >= 4, "{shown}");
    assert_eq!(tally(&shown, "alg-damaged"), 0, "{shown}");
    drop(nat);
}

#[test]
fn without_the_gateway_the_server_refuses_to_open_connections() {
    let Some(network) = network() else { return };
    let _nat = network.nat("alg: {ftp: false}");
    let _server = server(&network);
    network.write("server/down", b"text");
    let to = network.path("got");
    for (way, options) in WAYS {
        let ended = curl(&network, &["--output", &to, "ftp://192.0.2.9/down"], options);
        assert_eq!(ended.is_ok(), way.ends_with('V'), "{way}: {ended:?}");
    }
}

/// One subscriber, and a folder to which the server may come.
fn network() -> Option<Network> {
    let network = Network::new(&["curl", "vsftpd"], &["100.64.0.2"])?;
    // The server gives its rights away, and still has to come here.
    open(network.lab.folder.path(), 0o755);
    Some(network)
}

/// Starts the server, and waits until it takes connections.
fn server(network: &Network) -> netns::Child {
    for (name, mode) in [("server", 0o555), ("server/upload", 0o777), ("empty", 0o555)] {
        fs::create_dir(network.path(name)).expect("a folder");
        open(network.path(name).as_ref(), mode);
    }
    let configuration = format!(
        "listen=YES\nbackground=NO\nanonymous_enable=YES\nno_anon_password=YES\nlocal_enable=NO\n\
             write_enable=YES\nanon_upload_enable=YES\nanon_umask=022\nanon_root={}\n\
             secure_chroot_dir={}\nseccomp_sandbox=NO\nisolate=NO\nisolate_network=NO\n\
             connect_from_port_20=YES\nxferlog_enable=NO\n",
        network.path("server"),
        network.path("empty")
    );
    let file = network.lab.write("vsftpd.conf", &configuration);
    let mut command = Command::new("/usr/sbin/vsftpd");
    command.arg(file);
    let mut server = network.internet.spawn(command).expect("it starts");
    let own: SocketAddr = (SERVER, 21).into();
    until("the server", || {
        assert!(server.ended().is_none(), "the server ended");
        network.internet.run(|| TcpStream::connect(own).ok()).expect("the namespace")
    });
    server
}

/// Runs curl as the subscriber.
fn curl(network: &Network, arguments: &[&str], options: &[&str]) -> Result<String, String> {
    let common = ["--silent", "--show-error", "--max-time", "60"];
    let all = [&common, options, arguments].concat();
    network.subscribers.command("curl", &all, None).map_err(|error| error.to_string())
}

fn open(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}
