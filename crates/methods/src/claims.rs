//! Claims fail closed: full only if the result holds and nothing deviates from the clause.

use measure::record::{Claim, ClaimLevel};

/// The claim of a result on a clause (`rfc2544.26.1`), with a description of each deviation.
pub(crate) fn claim(clause: &str, holds: bool, deviations: &[String]) -> Claim {
    let (level, reason) = match (holds, deviations.is_empty()) {
        (false, _) => (ClaimLevel::None, "the result is not valid, or only a bound".to_owned()),
        (true, true) => (ClaimLevel::Full, String::new()),
        (true, false) => (ClaimLevel::Partial, deviations.join("; ")),
    };
    Claim { clause: clause.to_owned(), level, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_full_only_of_a_valid_result_without_deviation() {
        let deviation = ["10 s trials".to_owned()];
        assert_eq!(claim("x", true, &[]).level, ClaimLevel::Full);
        assert_eq!(claim("x", true, &deviation).level, ClaimLevel::Partial);
        assert_eq!(claim("x", true, &deviation).reason, "10 s trials");
        assert_eq!(claim("x", false, &[]).level, ClaimLevel::None);
        assert_eq!(claim("x", false, &deviation).level, ClaimLevel::None);
    }
}
