//! Workloads as numbered frames: stamps, pacing, accounting of what came back.
