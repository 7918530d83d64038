//! The fast path of the parser against the whole of it.

use function_l3_router::config::Config;
use function_l3_router::parse::{Plain, classify};
use function_l3_router::state::State;
use model_kit::Model;
use model_kit::check::Step;
use model_l3_router::{L3Router, Traffic};

use crate::frames::usual;

#[test]
fn the_fast_path_says_what_the_full_parser_says() {
    let config = usual(Config { ipv6: true, ..Config::default() });
    let state = State::new(&L3Router::config(&config)).expect("a small router");
    let plain = Plain::new(&state);
    let mut recognised = 0;
    for step in L3Router::sample(&config, &Traffic::default()) {
        let Step::Frame { port, frame, about } = step else { continue };
        let at = (port, u16::from(port.0));
        if let Some(class) = plain.recognise(&frame, at, state.interfaces.virtuals()) {
            assert_eq!(class, classify(&frame, u16::from(port.0), &state), "{about}");
            recognised += 1;
        }
    }
    assert!(recognised > 100, "{recognised} plain frames");
}
