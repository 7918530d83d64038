//! The one key of a chain, in errors.

use function_kit::Invalid;
use function_kit::sections::function_key;

/// Something about the list of functions.
pub fn chain_key(what: String, remedy: &str) -> Invalid {
    function_key("chain", what, remedy)
}
