//! Random changes with losses: whatever happened, in the end the machine has said what there is.

use std::time::Duration;

use protocol_kit::Random;
use protocol_netlink::Config;

use crate::kernel::{Kernel, ip};

#[test]
fn in_the_end_it_has_said_what_there_is() {
    let mut overruns = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut draw = |below: u64| (random.bits() % below) as u8;
        let mut kernel = Kernel::new(Config { waiting_max: 8, ..Config::default() });
        kernel.room = 4;
        for _ in 0..200 {
            let (interface, at) = (u32::from(draw(3)), ip(2, draw(4)));
            let (to, metric) = (ip(draw(3), 0), u32::from(draw(3)));
            match draw(12) {
                0 => kernel.add_address((interface, at), 24 + draw(2)),
                1 => kernel.remove_address((interface, at)),
                2 => kernel.set_neighbour((interface, at), draw(3)),
                3 => kernel.remove_neighbour((interface, at)),
                4 | 5 => kernel.add_route(to, metric, interface, at),
                6 => kernel.remove_route(to, metric),
                7 => kernel.now = kernel.now.after(Duration::from_millis(draw(255).into())),
                8 => kernel.is_torn = draw(4) == 0,
                _ => drop(kernel.deliver()),
            }
        }
        kernel.settle();
        assert_eq!(kernel.said, kernel.having(), "seed {seed}");
        overruns += kernel.netlink.counters().overruns;
    }
    assert!(overruns > 100, "{overruns}");
}
