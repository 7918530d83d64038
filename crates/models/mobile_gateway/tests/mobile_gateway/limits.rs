//! Numbers beyond the limits of their keys are refused by the name of the key.

use function_kit::Invalid;
use model_kit::erased::{Kind, Unit};
use model_mobile_gateway::MobileGateway;

fn refused(section: &str, traffic: &str) -> Option<Invalid> {
    let [section, traffic] =
        [section, traffic].map(|text| serde_saphyr::from_str(text).expect("a section"));
    Unit::<MobileGateway>::new().read(section, traffic).err()
}

#[test]
fn numbers_beyond_their_limits_are_refused_and_those_at_them_taken() {
    for (key, most) in [
        ("burst-ms", "10000"),
        ("fluct-user", "1000000"),
        ("handover", "1000000"),
        ("fluct-server", "1000000"),
    ] {
        let section = |value: &str| format!("{{bst: 2, {key}: {value}}}");
        for fine in ["0", most] {
            assert!(refused(&section(fine), "{}").is_none(), "{key}: {fine}");
        }
        for wrong in ["-0.5", &format!("{most}.5")] {
            let invalid = refused(&section(wrong), "{}").expect("it is beyond");
            let told = format!("must be from 0 to {most}, not {wrong}");
            assert_eq!((invalid.section, &*invalid.key, invalid.what), ("function", key, told));
        }
    }
    for (key, fine, wrong) in [("ipv6-share", "1", "1.5"), ("random-seed", "1", "0")] {
        let traffic = |value: &str| format!("{{{key}: {value}}}");
        assert!(refused("{ipv6: true}", &traffic(fine)).is_none(), "{key}: {fine}");
        let invalid = refused("{ipv6: true}", &traffic(wrong)).expect("it is beyond");
        assert_eq!((invalid.section, &*invalid.key), ("traffic", key));
    }
}
