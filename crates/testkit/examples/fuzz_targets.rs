//! Prints the name of every fuzz target, a line each: `cargo xtask fuzz` asks for them.

fn main() {
    testkit::fuzz::targets().for_each(|target| println!("{}", target.name()));
}
