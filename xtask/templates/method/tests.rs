//! `template` on a simulated device of known capacity.

use super::*;
use crate::Unobserved;
use crate::simulated::Simulated;

#[test]
fn what_the_device_cannot_forward_is_lost() {
    let mut device = Simulated::fixed(0.5e6);
    let outcome = Config::default().run(&mut device, &mut Unobserved).expect("it runs");
    crate::figures::assert_known(&outcome);
    assert!((outcome.figures[0].value - 0.5).abs() < 0.01, "{:?}", outcome.figures);
}
