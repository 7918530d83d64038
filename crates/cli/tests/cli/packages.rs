//! The program as people install it: each package is made from the program of these tests,
//! installed into an empty root, and run there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use packaging::Product;
use serde_json::Value;
use tempfile::TempDir;

/// The packages, made once.
pub static PACKAGES: LazyLock<Packages> = LazyLock::new(Packages::new);

pub struct Packages {
    folder: TempDir,
    files: Vec<PathBuf>,
}

impl Packages {
    fn new() -> Packages {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = written(folder.path());
        Packages { folder, files }
    }

    /// The package whose name ends so.
    pub fn ending(&self, end: &str) -> &Path {
        let named = |path: &&PathBuf| path.to_string_lossy().ends_with(end);
        self.files.iter().find(named).unwrap_or_else(|| panic!("{end} in {:?}", self.files))
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

fn written(folder: &Path) -> Vec<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--offline", "--locked", "--format-version", "1"]);
    cargo.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    let metadata = output(cargo.current_dir(workspace()));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("cargo prints JSON");
    // Without its symbols it is a third smaller; a linker brings `strip` along.
    let stripped = tempfile::tempdir().expect("a temporary folder");
    let program = stripped.path().join("plumbline");
    output(Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_plumbline")));
    let product = Product {
        program: &program,
        workspace: &workspace(),
        metadata: &metadata,
        time: 1_700_000_000,
        // What is compressed is not the matter of these tests, and takes long here.
        effort: 0,
    };
    packaging::write_all(&product, folder).expect("the packages are written")
}

fn output(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}{told}",
        String::from_utf8_lossy(&output.stdout)
    );
    output
}

/// A script as root of a user namespace, which may change its root and own files there.
fn as_root(folder: &Path, script: &str) -> String {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-euc", script]);
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").current_dir(folder);
    String::from_utf8(output(&mut command).stdout).expect("it prints text")
}

/// Whether a program is there, or one in whose place a test looks at nothing.
pub fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// What a person does first with a program that is installed.
const FIRST_STEPS: &str = "chroot root /usr/bin/plumbline --version
    chroot root /usr/bin/plumbline list
    chroot root /usr/bin/plumbline check /usr/share/plumbline/scenarios/mobile-gateway-small.yaml";

#[track_caller]
fn assert_first_steps(told: &str) {
    assert!(told.contains("plumbline 0.1.0"), "{told}");
    assert!(told.contains("mobile-gateway") && told.contains("Methods"), "{told}");
    assert!(told.contains("match the oracle"), "{told}");
}

#[test]
fn the_debian_package_installs_and_runs_in_an_empty_root() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let package = PACKAGES.ending(".deb").display().to_string();
    let told = String::from_utf8_lossy(
        &output(Command::new("dpkg-deb").args(["--info", &package])).stdout,
    )
    .into_owned();
    assert!(told.contains("Package: plumbline\n") && told.contains("Architecture: "), "{told}");
    // The C library is that of this machine; dpkg itself resolves nothing.
    let libraries = output(Command::new("ldd").arg(env!("CARGO_BIN_EXE_plumbline")));
    let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
    let libraries: Vec<&str> =
        libraries.split_whitespace().filter(|word| word.starts_with('/')).collect();
    assert!(libraries.is_empty() || told.contains("Depends: libc6 (>= 2."), "{told}");
    // What a shell is to the package's scripts; Debian cannot be without one.
    let script = format!(
        "mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates root/tmp root/bin
        : > root/var/lib/dpkg/status
        cp $(command -v busybox) root/bin/busybox
        for name in sh rm; do ln -s busybox root/bin/$name; done
        for library in {}; do mkdir -p root$(dirname $library); cp $library root$library; done
        files() {{ find root ! -path 'root/var/lib/dpkg/*' ! -path 'root/var/log*' | sort; }}
        files > before
        install() {{ dpkg --root=root --force-depends --log=/dev/null --install {package} 2>&1; }}
        install
        dpkg --root=root --status plumbline
        dpkg --root=root --verify plumbline
        {FIRST_STEPS}
        chroot root /usr/bin/plumbline run --check /etc/plumbline/bridge.yaml
        find root/usr root/etc
        echo '# mine' >> root/etc/plumbline/bridge.yaml
        install
        grep '# mine' root/etc/plumbline/bridge.yaml
        dpkg --root=root --log=/dev/null --remove plumbline 2>&1
        test ! -e root/usr/bin/plumbline
        grep '# mine' root/etc/plumbline/bridge.yaml
        install
        grep '# mine' root/etc/plumbline/bridge.yaml
        mkdir -p root/var/lib/plumbline
        : > root/var/lib/plumbline/bridge.state
        dpkg --root=root --log=/dev/null --purge plumbline 2>&1
        rmdir root/var/lib/systemd 2>/dev/null || true
        files > after
        diff before after",
        libraries.join(" ")
    );
    let told = as_root(folder.path(), &script);
    assert!(told.contains("Status: install ok installed"), "{told}");
    assert_first_steps(&told);
    for path in [
        "lib/systemd/system/plumbline@.service",
        "share/man/man1/plumbline.1.gz",
        "share/man/man1/plumbline-bench.1.gz",
        "share/bash-completion/completions/plumbline",
        "share/zsh/vendor-completions/_plumbline",
        "share/fish/vendor_completions.d/plumbline.fish",
        "share/doc/plumbline/copyright",
        "share/doc/plumbline/licences-of-parts.gz",
        "share/doc/plumbline/changelog.gz",
        "share/doc/plumbline/CHANGELOG.md.gz",
    ] {
        assert!(told.contains(&format!("root/usr/{path}\n")), "{path}: {told}");
    }
}

#[test]
fn lintian_finds_no_error_in_the_debian_package() {
    if !is_there("lintian") {
        return println!("skipped: this needs lintian");
    }
    let ended = Command::new("lintian")
        .args(["--allow-root", "--fail-on", "error,warning"])
        .args(["--suppress-tags", NOT_OURS])
        .arg(PACKAGES.ending(".deb"))
        .output()
        .expect("it is there");
    let told = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{told}{}", String::from_utf8_lossy(&ended.stderr));
}

/// What Debian wants of packages in its own archive alone.
const NOT_OURS: &str = "initial-upload-closes-no-bugs";

#[test]
fn the_image_is_an_oci_layout_whose_layer_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    output(
        Command::new("tar")
            .args(["--extract", "--file"])
            .arg(PACKAGES.ending("-oci.tar"))
            .current_dir(&folder),
    );
    let json = |path: &str| -> Value {
        let text = fs::read(folder.path().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        serde_json::from_slice(&text).expect("it is JSON")
    };
    assert_eq!(json("oci-layout")["imageLayoutVersion"], "1.0.0");
    // Each digest is that of the blob that it names, and each size its size.
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().expect("it has a digest").to_owned();
        let path = format!("blobs/{}", digest.replace(':', "/"));
        let size = fs::metadata(folder.path().join(&path)).expect("the blob is there").len();
        assert_eq!(descriptor["size"], size, "{path}");
        let sum = output(Command::new("sha256sum").arg(&path).current_dir(&folder));
        assert!(String::from_utf8_lossy(&sum.stdout).starts_with(&digest["sha256:".len()..]));
        path
    };
    let manifest = json(&blob(&json("index.json")["manifests"][0]));
    let config = json(&blob(&manifest["config"]));
    let layer = blob(&manifest["layers"][0]);
    assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/plumbline");
    let unpacked = output(
        Command::new("sh")
            .current_dir(&folder)
            .args(["-c", &format!("gzip --decompress --stdout {layer} | sha256sum")]),
    );
    let unpacked = String::from_utf8_lossy(&unpacked.stdout).into_owned();
    let named = config["rootfs"]["diff_ids"][0].as_str().expect("it names its layer");
    assert_eq!(named.strip_prefix("sha256:"), unpacked.split(' ').next());
    // Nothing but the layer is in the root.
    let script =
        format!("mkdir root; tar --extract --gzip --file {layer} --directory root\n{FIRST_STEPS}");
    assert_first_steps(&as_root(folder.path(), &script));
}

#[test]
fn the_archive_runs_where_it_is_unpacked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    output(
        Command::new("tar")
            .args(["--extract", "--gzip", "--file"])
            .arg(PACKAGES.ending("-linux.tar.gz"))
            .current_dir(&folder),
    );
    let top = folder.path().join("plumbline-0.1.0");
    let told = output(Command::new(top.join("bin/plumbline")).arg("--version"));
    assert!(told.stdout.starts_with(b"plumbline 0.1.0"));
    assert!(top.join("share/plumbline/scenarios/mobile-gateway.yaml").is_file());
}

#[test]
fn the_list_of_parts_has_each_crate_with_its_licence_and_sum() {
    let text = fs::read(PACKAGES.ending(".cdx.json")).expect("it is written");
    let list: Value = serde_json::from_slice(&text).expect("it is JSON");
    assert_eq!((&list["bomFormat"], &list["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    assert_eq!(list["metadata"]["component"]["name"], "plumbline");
    let parts = list["components"].as_array().expect("it has parts");
    let part = |name: &str| parts.iter().find(|part| part["name"] == name);
    let clap = part("clap").expect("the program has it");
    assert_eq!(clap["licenses"][0]["expression"], "MIT OR Apache-2.0");
    let lock = fs::read_to_string(workspace().join("Cargo.lock")).expect("it is there");
    let sum = clap["hashes"][0]["content"].as_str().expect("it has a sum");
    assert!(lock.contains(&format!("checksum = \"{sum}\"")));
    // What only tests, builds, or other systems need is not in the program.
    for absent in ["proptest", "jsonschema", "insta", "testkit", "packaging", "windows-sys"] {
        assert!(part(absent).is_none(), "{absent} is no part");
    }
    let known: Vec<&Value> = parts.iter().map(|part| &part["bom-ref"]).collect();
    for needed in list["dependencies"].as_array().into_iter().flatten() {
        for one in needed["dependsOn"].as_array().into_iter().flatten() {
            assert!(known.contains(&one), "{one} is needed and no part");
        }
    }
    for part in parts {
        let is_ours = part.get("purl").is_none();
        assert!(is_ours || part.get("hashes").is_some(), "{part} has a sum");
        assert!(part["licenses"][0]["expression"].is_string(), "{part} has a licence");
    }
}

#[test]
fn the_sums_are_those_of_the_files() {
    let folder = PACKAGES.folder.path();
    output(
        Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(folder),
    );
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).expect("it is written");
    assert_eq!(sums.lines().count(), PACKAGES.files.len() - 1, "each but the sums has one: {sums}");
}

#[test]
fn pages_completions_and_the_unit_are_taken_by_those_who_read_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for what in ["man", "bash", "zsh", "fish"] {
        crate::run(folder.path(), &["generate", what, "--output", "."]).expect(0);
        assert!(!crate::run(folder.path(), &["generate", what]).expect(0).stdout.is_empty());
    }
    // Every command of the help has its page.
    let help = crate::run(folder.path(), &["--help"]).expect(0).stdout;
    let commands = help.split("Commands:").nth(1).expect("it has commands");
    let commands = commands.split("Options:").next().unwrap_or_default().lines();
    let commands = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for command in commands.filter(|name| !name.is_empty() && *name != "help") {
        let page = fs::read_to_string(folder.path().join(format!("plumbline-{command}.1")));
        assert!(page.is_ok_and(|page| page.contains(".SH SYNOPSIS")), "{command} has a page");
    }
    let script = "source ./plumbline.bash; COMP_WORDS=(plumbline be); COMP_CWORD=1
        _plumbline plumbline be plumbline; echo \"${COMPREPLY[@]}\"";
    let told = output(Command::new("bash").args(["-c", script]).current_dir(&folder));
    assert_eq!(told.stdout, b"bench\n");
    if is_there("zsh") {
        let script = "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D
            print $_comps[plumbline]; autoload +X _plumbline; whence -w _plumbline";
        let told = output(Command::new("zsh").args(["-f", "-c", script]).current_dir(&folder));
        assert_eq!(told.stdout, b"_plumbline\n_plumbline: function\n");
    }
    if is_there("fish") {
        let script = "source plumbline.fish; complete --do-complete 'plumbline be'";
        let told = output(
            Command::new("fish")
                .args(["--no-config", "-c", script])
                .env("HOME", folder.path())
                .current_dir(&folder),
        );
        assert!(told.stdout.starts_with(b"bench\t"), "{}", String::from_utf8_lossy(&told.stdout));
    }
    if is_there("man") {
        for page in fs::read_dir(folder.path()).expect("it is there") {
            let page = page.expect("it is read").path();
            if page.extension().is_some_and(|end| end == "1") {
                let mut man = Command::new("man");
                man.args(["--warnings=all", "--local-file"]).arg(&page);
                let told = output(man.env("LC_ALL", "C.UTF-8").env("MANWIDTH", "100"));
                let problem = String::from_utf8_lossy(&told.stderr);
                assert!(problem.is_empty(), "{}: {problem}", page.display());
                assert!(String::from_utf8_lossy(&told.stdout).contains("SYNOPSIS"));
            }
        }
    }
    let unit = workspace().join("crates/packaging/files/plumbline@.service");
    let text = fs::read_to_string(unit).expect("it is there");
    let of = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_else(|| panic!("the unit has {key}")).replace("%i", "gateway")
    };
    // What the unit starts is a command of this program.
    let command = of("ExecStart=");
    let mut words = command.split(' ');
    assert_eq!(words.next(), Some("/usr/bin/plumbline"));
    let arguments: Vec<&str> = words.collect();
    let ended = crate::run(folder.path(), &arguments).expect(2);
    assert!(ended.stderr.contains("/etc/plumbline/gateway.yaml"), "{}", ended.stderr);
}
