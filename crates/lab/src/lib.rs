//! Runs a scenario: device, workload, method; the host; the checks.
