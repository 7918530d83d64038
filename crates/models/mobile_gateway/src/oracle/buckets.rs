//! How much the model's gateway may say.

use model_kit::slow::Bucket;

use crate::section::Section;

/// How much may be said.
pub(super) struct Buckets {
    pub errors: Bucket,
    pub reports: Bucket,
    pub pings: Bucket,
}

impl Buckets {
    pub fn new(section: &Section) -> Buckets {
        Buckets {
            errors: Bucket::new(section.icmp_errors_per_s, section.icmp_error_burst),
            reports: Bucket::new(section.gtp_errors_per_s, section.gtp_errors_per_s),
            pings: Bucket::new(section.pings_per_s, section.pings_per_s),
        }
    }
}
