"""Types of a record, written by generate.py from docs/run.schema.json."""

from typing import Any, Literal, NotRequired, TypedDict, Union


class Tool(TypedDict):
    """The program that made the run."""

    # Name of the program: `plumbline`.
    name: str
    # Version of the program.
    version: str
    # Commit from which the program was built, with `-dirty` for a modified tree; `unknown`
    # outside git.
    commit: str


class Scenario(TypedDict):
    """The scenario as it was read."""

    # Name of the scenario.
    name: str
    # Path from which the scenario was read.
    file: str
    # Description of the scenario.
    description: str
    # Prefixes of the names of published figures that the report shows; empty for all figures of
    # the function.
    references: NotRequired[list[str]]
    # Text of the file, byte for byte.
    text: str
    # Hash of the text, with the name of the algorithm: `blake3:…`.
    hash: str


class HostFacts(TypedDict):
    """Facts of the machine, and its noise before the run."""

    # Host name, if the user wants it recorded.
    hostname: NotRequired[Union[str, None]]
    # Kernel name and release.
    kernel: str
    # CPU model as the kernel names it, with family, model and stepping (of Arm implementer and
    # part): generations of one name differ.
    cpu_model: str
    # Number of CPUs that this process may use.
    cores: int
    # Memory of the machine, in bytes.
    memory_bytes: int
    # Number of reserved huge pages and the setting of transparent huge pages, as text.
    huge_pages: str
    # The time-stamp counter.
    tsc: "Tsc"
    # CPU flags that the data path can use and that are present.
    cpu_flags: list[str]
    # Gaps seen by a busy loop.
    stall_probe: NotRequired[Union["StallProbe", None]]
    # Round trips of a cache line between two cores.
    core_to_core_probe: NotRequired[Union["CoreToCoreProbe", None]]
    # Random loads from arrays of several sizes.
    random_access_probe: NotRequired[list["RandomAccess"]]


class Tsc(TypedDict):
    """The time-stamp counter."""

    # Whether the counter ticks at a constant rate in all power states.
    invariant: bool
    # Calibrated rate, in ticks per second.
    ticks_per_second: float


class StallProbe(TypedDict):
    """Gaps in its own time that a busy loop saw."""

    # Duration of the probe, in nanoseconds.
    duration_ns: int
    # Shortest gap that is counted, in nanoseconds.
    threshold_ns: int
    # Number of gaps.
    count: int
    # Sum of the gaps, in nanoseconds.
    total_ns: int
    # The longest gap, in nanoseconds.
    longest_ns: int


class CoreToCoreProbe(TypedDict):
    """Round trips of a cache line between two cores."""

    # The two cores.
    cores: list[int]
    # The fastest round trip, in nanoseconds.
    round_trip_ns_min: float
    # The median round trip, in nanoseconds.
    round_trip_ns_median: float


class RandomAccess(TypedDict):
    """Random loads from one array."""

    # Size of the array, in bytes.
    bytes: int
    # Number of loads in flight; 1 is a chain, in which each address comes from the load before.
    in_flight: int
    # Mean time per load in nanoseconds, which falls as more are in flight.
    ns_per_access: float


class PlanRecord(TypedDict):
    """Repetitions and order of the measurements of a run."""

    # Seed of the order.
    seed: int
    # Number of repetitions of each cell.
    repetitions: int
    # The key whose values were measured in pairs, side by side; absent without comparison.
    compare: NotRequired[Union[str, None]]
    # Number of measurements: all repetitions of all methods of all cells.
    measurements: int
    # Number of measurements that were reused from earlier runs.
    from_cache: int


class Cell(TypedDict):
    """The results of one cell: one combination of swept keys."""

    # Identifier of the cell, unique in the run and stable for the same parameters.
    id: str
    # The benchmark of the scenario to which the cell belongs; empty if there is only one.
    benchmark: NotRequired[str]
    # The swept keys, as dotted paths from the top of the scenario, and their values in this cell.
    parameters: dict[str, Any]
    # Name of the function: `mobile-gateway` …
    function: str
    # Name of the device: `embedded` …
    device: str
    # Version of the device; the tool's version if the device is part of the tool.
    device_version: NotRequired[str]
    # The complete configuration of the cell, with all defaults.
    configuration: Any
    # Seed of all random choices in the cell.
    seed: int
    # Memory of the function's state in bytes; absent if the device does not report it.
    state_bytes: NotRequired[Union[int, None]]
    # Memory of the function's state per user or session in bytes, if the function has users or
    # sessions.
    state_bytes_per_user: NotRequired[Union[float, None]]
    # Resident memory of the whole process after the set-up in bytes, if the device is this
    # process.
    resident_bytes: NotRequired[Union[int, None]]
    # Number of sessions that are open in every trial of frames, if the traffic has sessions.
    sessions_open: NotRequired[Union[int, None]]
    # Time to set up the device's state, in seconds.
    setup_seconds: NotRequired[Union[float, None]]
    # Result of the functional check; absent if the cell failed before it.
    check: NotRequired[Union["Check", None]]
    # One outcome per method; empty if the check failed.
    outcomes: list["Outcome"]
    # Why the cell has no outcomes, or not all of them.
    error: NotRequired[Union[str, None]]
    # Why the device cannot run on this machine; the cell then has no further contents.
    unavailable: NotRequired[Union["Unavailable", None]]


class Check(TypedDict):
    """Result of the functional check: the comparison of the device with the oracle, frame by frame, or route by route."""

    # What was compared and is counted here, where this says "frames".
    of: NotRequired["Subject"]
    # Whether all frames matched the oracle.
    passed: bool
    # Number of compared frames.
    frames: int
    # Number of frames that differ from the oracle.
    mismatch_count: int
    # The first differing frames; their number is limited.
    mismatches: list["Mismatch"]
    # Number of frames for each verdict and each drop reason.
    coverage: list["Covered"]
    # Verdicts and drop reasons that the sample did not exercise.
    uncovered: list[str]
    # Extent of the check: partial if something was excluded, none if the check failed.
    claim: NotRequired["ClaimLevel"]
    # Number of frames and changes of the sample that were excluded because of limitations.
    skipped: NotRequired[int]
    # What the device cannot do, or does differently.
    limitations: NotRequired[list["CheckLimitation"]]
    # Number of frames that the device sent in its own name, such as address resolution and ICMP
    # errors.
    own_frames: NotRequired[int]
    # Number of frames whose verdict depends on when the device sees them, as with a policer; two
    # verdicts were accepted for each.
    either: NotRequired[int]
    # Verdicts on the first frames of the captures that are sent; empty if none are.
    captured: NotRequired[list["Covered"]]


# What is measured of a device.
Subject = Union[Literal["frames"], Literal["routes"]]


class Mismatch(TypedDict):
    """A frame that differs from the oracle's output."""

    # Number of the frame in the sample, from 0.
    frame: int
    # Description of the difference.
    what: str
    # The oracle's output: hexadecimal bytes (limited) or a verdict.
    expected: str
    # The device's output: hexadecimal bytes (limited) or a verdict.
    got: str


class Covered(TypedDict):
    """How often a verdict or drop reason was exercised."""

    # Name of the verdict, such as `forward uplink`, or the drop reason.
    name: str
    # Number of frames of the sample with this verdict.
    frames: int


# Extent to which a clause was followed.
ClaimLevel = Union[Literal["full"], Literal["partial"], Literal["none"]]


class CheckLimitation(TypedDict):
    """A limitation of the device that excluded part of the check."""

    # Description of the limitation: `no policer: rates are not limited`.
    what: str
    # Verdicts of the oracle that were excluded.
    verdicts: list[str]
    # Number of frames or changes of the sample that were excluded.
    skipped: int


class Outcome(TypedDict):
    """The results of one method in one cell."""

    # Name of the method: `capacity`, `throughput` …
    method: str
    # Configuration of the method, with all defaults.
    configuration: Any
    # The result in one sentence.
    answer: str
    # How loads and rates are counted over interfaces and directions, as a sentence.
    aggregation: str
    # The headline figures, the most important first.
    figures: list["Figure"]
    # Bounds at the end of the search; absent for methods that do not search.
    bounds: NotRequired[Union["Bounds", None]]
    # Results of a search for each of its goals; the headline reports the first. Empty for methods
    # that do not search.
    goals: NotRequired[list["GoalRecord"]]
    # Curves and tables that the method measured, for charts.
    series: NotRequired[list["Series"]]
    # Maximum of the tester alone, with a wire in the device's place.
    baseline: NotRequired[Union["Baseline", None]]
    # All repetitions of the measurement by their index, even if there is only one; `figures`
    # holds their medians. Empty in records of versions without repetitions.
    repetitions: NotRequired[list["Repetition"]]
    # Start of the measurement, RFC 3339 in UTC.
    started: NotRequired[str]
    # Duration of all repetitions together, in seconds.
    seconds: NotRequired[float]
    # Hash of all inputs of the measurement, `blake3:…`; equal keys mean equal inputs.
    key: NotRequired[str]
    # All trials in the order of measurement.
    trials: list["TrialRecord"]
    # Whether the figures can be trusted.
    validity: "Validity"
    # Clauses of standards that the method followed.
    claims: list["Claim"]


class Figure(TypedDict):
    """A figure of a result."""

    # Name of the figure: `throughput`, `cycles_per_packet` …; the same in every run.
    name: str
    # The direction or stage to which the figure belongs, if there are several figures of one
    # name.
    of: NotRequired[Union[str, None]]
    # Value of the figure, in its unit.
    value: float
    # Unit of the figure: `pps`, `bit/s`, `ns`, `ticks`, `fraction`, `percent` …
    unit: str
    # Spread over repetitions; absent if measured once.
    spread: NotRequired[Union["Spread", None]]
    # What the value bounds, if it is no figure but what is known of one; absent for a figure.
    bound: NotRequired[Union["Bound", None]]


class Spread(TypedDict):
    """Spread of a figure over repetitions."""

    # The smallest value.
    min: float
    # The median.
    median: float
    # The largest value.
    max: float
    # Number of values.
    n: int
    # The mean.
    mean: NotRequired[float]
    # Standard deviation (n - 1); 0 for a single value.
    deviation: NotRequired[float]
    # 95 % confidence interval of the mean (Student's t); absent for fewer than three values.
    confidence_95: NotRequired[Union[list[float], None]]


# What is known of a figure that was not found.
Bound = Union[Literal["at-least"]]


class Bounds(TypedDict):
    """Bounds at the end of a search, in packets per second per port and direction."""

    # The highest load that met the goal; absent if none did.
    lower_pps: NotRequired[Union[float, None]]
    # The lowest load above `lower_pps` that missed the goal; absent if every load up to the
    # maximum met it.
    upper_pps: NotRequired[Union[float, None]]
    # Whether the search ended regularly: both bounds exist and are close enough.
    regular: bool


class GoalRecord(TypedDict):
    """Result of a search for one goal."""

    # Name of the goal: `ndr`, `pdr`, `0 ppm`, `p99.9 <= 100 us` …
    name: str
    # All attributes of the goal, with defaults.
    configuration: Any
    # The relevant lower and upper bound; `regular` says whether the goal was reached.
    bounds: "Bounds"
    # Conditional throughput at the lower bound (MLRsearch draft), in packets per second per port
    # and direction.
    conditional_pps: NotRequired[Union[float, None]]
    # Why the search for this goal ended, and which trials decided, as a sentence.
    ended: str


class Series(TypedDict):
    """A curve or a table of numbers with named columns."""

    # Name of the series, the same in every run: `loss-curve`, `latency-by-load`, `churn-surface`,
    # `policer-precision`, `soak-trend` …
    name: str
    # Caption of the series.
    title: str
    # Columns of the series, free variables first.
    columns: list["Column"]
    # Numbers by row; each row has one number per column, null if unknown.
    rows: list[list[Union[float, None]]]


class Column(TypedDict):
    """A column of a series."""

    # Name of the column, in `snake_case`.
    name: str
    # Unit of the column, as in [`Figure::unit`].
    unit: str


class Baseline(TypedDict):
    """Baseline: what the tester alone carries at a steady rate, with a wire in the device's place."""

    # Frames per second per port and direction that the tester sent and received: the median at
    # the highest load that came back.
    tester_pps: float
    # Spread of this rate over its repetitions.
    spread: NotRequired[Union["Spread", None]]
    # Median latency of the wire in nanoseconds, which every measured latency includes.
    latency_p50_ns: NotRequired[Union[float, None]]


class Repetition(TypedDict):
    """A repetition of a measurement."""

    # Number of the repetition, from 0.
    index: int
    # Position in the random order of the whole run, from 0.
    position: int
    # Start of the repetition, RFC 3339 in UTC.
    started: str
    # Duration of the repetition, in seconds.
    seconds: float
    # Whether it was reused from an earlier run instead of measured in this one.
    from_cache: bool
    # Figures of the repetition.
    figures: list["Figure"]
    # Bounds at the end of the repetition's search.
    bounds: NotRequired[Union["Bounds", None]]
    # Whether the repetition can be trusted.
    validity: "Validity"


class Validity(TypedDict):
    """Whether a result can be trusted, apart from its figures."""

    # False if one of the limits invalidates the figures.
    valid: bool
    # Everything that limited or disturbed the measurement.
    limits: list["Limit"]


class Limit(TypedDict):
    """Something that limited or disturbed a measurement."""

    # Kind of the limit, for programs.
    kind: "LimitKind"
    # Whether the limit invalidates the figures.
    invalidates: bool
    # Observation, with numbers.
    what: str
    # Advice on how to avoid the limit.
    advice: str


# Kind of a limit.
LimitKind = Union[Literal["tester"], Literal["tester-ring"], Literal["baseline"], Literal["ring-full"], Literal["stall"], Literal["foreign-cpu"], Literal["clock"], Literal["spread"], Literal["out-of-line"], Literal["search"], Literal["forwarding"], Literal["drops"], Literal["too-few-frames"]]


class TrialRecord(TypedDict):
    """The record of a trial."""

    # Number of the trial in the outcome, from 0.
    index: int
    # The repetition of the measurement to which the trial belongs, from 0.
    repetition: NotRequired[int]
    # Purpose of the trial: `warm-up`, `repetition`, `search`, `verification`, `confirmation` …
    purpose: str
    # Offered load.
    load: "LoadRecord"
    # Requested duration, in nanoseconds.
    intended_ns: int
    # Effective duration in nanoseconds: from the first to the last frame sent, or from the first
    # to the last session started.
    effective_ns: int
    # Lost frames divided by sent frames, all directions together.
    loss_fraction: float
    # Lost frames in percent of sent frames, all directions together.
    loss_percent: float
    # One entry per direction in which frames were offered.
    directions: list["DirectionRecord"]
    # Cycles by stage, summed over workers.
    stages: list["StageRecord"]
    # The longest time of one batch in the stages of the function in nanoseconds, including a
    # stall within it; absent if the device does not report it.
    longest_batch_ns: NotRequired[Union[float, None]]
    # Drops counted by the device, by reason.
    drops: list["DropRecord"]
    # Changes at run time, by kind.
    events: list["EventsRecord"]
    # Gaps in the threads' own time.
    stalls: list["StallsRecord"]
    # CPU time of the workers.
    workers: list["WorkerRecord"]
    # CPU time of the tester's thread.
    tester: NotRequired[Union["WorkerRecord", None]]
    # Number of frames that came back while the tester's own ring was full.
    tester_ring_full: NotRequired[int]
    # Number of foreign frames that the tester received and ignored.
    foreign: NotRequired[int]
    # CPU time of a device that is not part of this program.
    device_cpu: NotRequired[Union["DeviceCpu", None]]
    # Resident memory of the device's process at the end of the trial, in bytes.
    resident_bytes: NotRequired[Union[int, None]]
    # Traffic passed by policers, by subscriber, if requested.
    policed: NotRequired[list["Policed"]]
    # The take-over by a standby, if requested.
    takeover: NotRequired[Union["Takeover", None]]
    # The failure of a path, if requested.
    path_failure: NotRequired[Union["PathFailure", None]]
    # Results of the sessions, if the load consisted of sessions.
    sessions: NotRequired[Union["SessionsRecord", None]]
    # Occupancy of the device's tables at the end, if the device reports it.
    tables: NotRequired[list["TableRecord"]]
    # Log messages of the device, by equal intervals of the trial.
    reports: NotRequired[list["ReportsRecord"]]
    # Rate of the stages' clock, in ticks per second.
    ticks_per_second: float
    # Limits and disturbances of this trial.
    limits: list["Limit"]


# The load of a trial.
LoadRecord = Union[dict[str, Any]]


# The action on a session.
SessionAction = Union[Literal["open"], Literal["close"], Literal["use"], Literal["keep"]]


class DirectionRecord(TypedDict):
    """Counters of one direction; sent = received + lost."""

    # Name of the direction: `uplink`, `downlink` …
    name: str
    # Number of frames that the load requested in the effective duration.
    intended: int
    # Number of frames offered.
    sent: int
    # Number of distinct frames that came back correctly.
    received: int
    # Number of lost frames: `sent - received`.
    lost: int
    # Number of lost frames that the device's full receive ring refused.
    ring_full: int
    # Number of duplicates; each repetition counts.
    duplicated: int
    # Number of frames that arrived behind a later frame (RFC 4737 section 3).
    reordered: int
    # Number of frames that came back at the wrong port or with wrong contents.
    misdelivered: int
    # Bytes sent, including the frame check sequence.
    sent_bytes: int
    # Fraction of lost frames: `lost / sent`.
    loss_fraction: float
    # Percentage of lost frames.
    loss_percent: float
    # Frames sent per second of the effective duration.
    offered_pps: float
    # Frames per second that the device's ring accepted: sent, minus those refused when full.
    accepted_pps: NotRequired[float]
    # Frames received per second of the effective duration.
    forwarded_pps: float
    # Time from transmission to reception; absent if no frame was timed.
    latency: NotRequired[Union["Distribution", None]]
    # Time of transmission of the last lost frame in nanoseconds, since the first frame.
    last_lost_ns: NotRequired[Union[int, None]]


class Distribution(TypedDict):
    """A distribution of times."""

    # Number of values.
    samples: int
    # The smallest value, in nanoseconds.
    min_ns: int
    # The mean, in nanoseconds.
    mean_ns: float
    # The median, in nanoseconds.
    p50_ns: int
    # The 90th percentile, in nanoseconds.
    p90_ns: int
    # The 99th percentile, in nanoseconds.
    p99_ns: int
    # The 99.9th percentile, in nanoseconds.
    p99_9_ns: int
    # The largest value, in nanoseconds.
    max_ns: int
    # The complete histogram in nanoseconds, as HdrHistogram's libraries of all languages read it:
    # the compressed V2 encoding (zlib) in base64. Older records have the V2 encoding without
    # compression.
    hdr_v2_base64: str


class StageRecord(TypedDict):
    """Cycles of a stage."""

    # Name of the stage, as in the function's pipeline.
    name: str
    # Whether the stage belongs to the function or to the bench.
    role: "StageRole"
    # Number of packets that passed the stage.
    packets: int
    # Ticks of the time-stamp counter spent in the stage.
    ticks: int
    # TSC cycles per packet of the stage; 0 without packets.
    ticks_per_packet: float
    # Nanoseconds per packet of the stage; 0 without packets.
    ns_per_packet: float


# Owner of a stage.
StageRole = Union[Literal["function"], Literal["bench"]]


class DropRecord(TypedDict):
    """Drops for one reason."""

    # Name of the reason in the function's documentation.
    reason: str
    # Number of packets dropped for the reason during the trial.
    packets: int


class EventsRecord(TypedDict):
    """Changes of one kind during a trial."""

    # Kind of the change: `handover`, `user-update` …
    kind: str
    # Number of requested changes.
    requested: int
    # Number of acknowledged changes.
    acknowledged: int
    # Number of refused changes.
    refused: int
    # Number of frames that showed the old state after the acknowledgement.
    late_frames: int
    # Time from request to acknowledgement; absent if there was none.
    accepted: NotRequired[Union["Distribution", None]]
    # Time from request to the first frame that shows the change; absent if no frame did.
    visible: NotRequired[Union["Distribution", None]]
    # The longest silence of the device around each change; absent if none was observed.
    blackout: NotRequired[Union["Distribution", None]]


class StallsRecord(TypedDict):
    """Gaps in a thread's own time."""

    # Name of the thread: `tester`, `worker 0` …
    thread: str
    # Number of gaps above the threshold.
    count: int
    # Sum of the gaps, in nanoseconds.
    total_ns: int
    # The longest gap, in nanoseconds.
    longest_ns: int
    # Shortest gap that is counted, in nanoseconds.
    threshold_ns: int
    # Sum of the gaps in which a ring may have run over, in nanoseconds; loss is explained by a
    # stall only as far as it fits into these.
    long_ns: NotRequired[int]


class WorkerRecord(TypedDict):
    """CPU time of a worker."""

    # Number of the worker.
    worker: int
    # The core to which the worker was pinned.
    core: NotRequired[Union[int, None]]
    # CPU time of the worker's thread, in nanoseconds.
    cpu_ns: int
    # Wall time of the same interval, in nanoseconds.
    wall_ns: int
    # Number of packets that the worker processed.
    packets: int


class DeviceCpu(TypedDict):
    """CPU time that a device outside this program used during a trial."""

    # CPU time in nanoseconds.
    ns: int
    # What the time covers: `2 threads of ovs-vswitchd`, `softirq on core 1` …
    of: str


# Traffic that a policer passed for one subscriber in one direction.
Policed = TypedDict(
    "Policed",
    {
        # Number of the subscriber, from 0.
        "subscriber": int,
        # Class of service; the direction's name if the function has no classes.
        "class": str,
        # Configured rate of the policer, in bytes per second as it counts them.
        "configured_bytes_per_s": float,
        # Burst of the policer, in bytes.
        "burst_bytes": float,
        # Bytes sent in the duration of the trial, as the policer counts them.
        "offered_bytes": int,
        # Bytes that came back of those sent.
        "passed_bytes": int,
    },
)


class Takeover(TypedDict):
    """A take-over by a standby during a trial."""

    # Time of the end of the active device in nanoseconds, since the start of the trial.
    asked_ns: int
    # Time until the standby was in its place, in nanoseconds.
    ready_after_ns: int
    # The longest time in the trial without any frame from the device, in nanoseconds.
    silence_ns: int
    # Number of changes that the standby had not acknowledged when the active device ended.
    unacknowledged: int
    # What took over: `a standby in the same process` …
    what: str


class PathFailure(TypedDict):
    """What the path to a neighbour carried before, while and after it failed."""

    # What failed.
    fault: "PathFault"
    # Time of the failure in nanoseconds, since the first frame.
    failed_ns: int
    # Time at which the path was mended in nanoseconds, since the first frame.
    mended_ns: int
    # Number of frames that arrived by the path before it failed.
    carried: int
    # Time from the first of these frames to the failure, in nanoseconds.
    carried_for_ns: int
    # Number of frames that the device sent into the failed path.
    lost: int
    # Time from the failure to the sending of the last of these frames, in nanoseconds; none if no
    # frame was sent after the failure.
    until_left_ns: NotRequired[Union[int, None]]
    # Number of frames that arrived by the path after it was mended.
    returned: int
    # Time from the mending to the sending of the first of these frames, in nanoseconds.
    until_back_ns: NotRequired[Union[int, None]]


# The way in which the path to a neighbour fails.
PathFault = Union[Literal["silence"], Literal["port-down"]]


class SessionsRecord(TypedDict):
    """Results of a trial of sessions; attempted = succeeded + failed."""

    # The action on each session.
    action: "SessionAction"
    # Number of sessions that the load requested.
    asked: int
    # Number of sessions that were started.
    attempted: int
    # Number of sessions of which every frame came back correctly.
    succeeded: int
    # Number of sessions that failed.
    failed: int
    # Number of failed sessions whose returned frames cannot be translations of the session.
    wrong: int
    # Sessions started per second of the effective duration.
    attempted_per_s: float
    # Sessions that succeeded per second of the effective duration.
    succeeded_per_s: float
    # Time from the first sent to the last received frame of a session; absent if no session
    # succeeded.
    answered: NotRequired[Union["Distribution", None]]
    # Number of sessions that the device reports at the end.
    held: NotRequired[Union[int, None]]


class TableRecord(TypedDict):
    """Occupancy of a table of the device."""

    # Name of the table.
    name: str
    # Number of entries in use.
    entries: int


class ReportsRecord(TypedDict):
    """Log messages of the device in one interval of a trial."""

    # Number of frames.
    frames: int
    # Bytes of the frames, including the frame check sequence.
    bytes: int


class Claim(TypedDict):
    """The claim of a result on a standard's clause; any relaxation makes it partial."""

    # Identifier of the clause: `rfc2544.26.1` …
    clause: str
    # Extent to which the clause was followed.
    level: "ClaimLevel"
    # Reason for a partial claim; empty for a full claim.
    reason: str


class Unavailable(TypedDict):
    """Why a device cannot run on this machine."""

    # The missing requirement.
    why: str
    # How to meet the requirement.
    remedy: str


class Comparison(TypedDict):
    """A comparison of one figure under two values of a key, over pairs."""

    # The key, as a dotted path from the top of the scenario; `run` for two runs.
    key: str
    # The compared value.
    a: Any
    # The reference value.
    b: Any
    # The benchmark of the compared cells, if the scenario has several and it is not the key.
    benchmark: NotRequired[str]
    # The other swept keys and their values.
    parameters: dict[str, Any]
    # Name of the method.
    method: str
    # Name of the figure, as [`super::Figure::name`].
    figure: str
    # Unit of the figure.
    unit: str
    # Number of pairs.
    pairs: int
    # Ratio of the figure of `a` to that of `b`, as the geometric mean over pairs.
    ratio: float
    # 95 % confidence interval of the ratio; absent for fewer than three pairs.
    confidence_95: NotRequired[Union[list[float], None]]
    # Whether the difference exceeds the noise, and the margin within which figures are the same.
    is_change: bool
    # What is shown; records of before have none, and their answers say it.
    verdict: NotRequired["Verdict"]
    # The result in one sentence: `A is 1.17 times B (1.13 to 1.21)`.
    answer: str


# What a comparison shows.
Verdict = Union[Literal["higher"], Literal["lower"], Literal["same"], Literal["inconclusive"]]


class ThresholdVerdict(TypedDict):
    """The verdict on a threshold of the scenario."""

    # Identifier of the cell.
    cell: str
    # Name of the method.
    method: str
    # Name of the figure.
    figure: str
    # The threshold as written in the scenario: `>= 5 Mpps`.
    condition: str
    # The measured value, in the unit of the figure; absent if there is no valid figure.
    value: NotRequired[Union[float, None]]
    # Whether the threshold was met; a value that was not measured does not meet it.
    met: bool
    # The verdict in one sentence.
    answer: str


class Plot(TypedDict):
    """A plot that the scenario requests."""

    # Kind of the plot.
    kind: "PlotKind"
    # Title of the plot, with placeholders such as `{pipeline.name}` not replaced.
    title: str
    # Dotted path of the horizontal axis: `pipeline.user`, `out.throughput.RX.PacketRate`.
    x_axis: str
    # Dotted paths of the vertical axis (columns, in a table).
    y_axis: list[str]
    # Dotted path of the colour of a contour plot.
    z_axis: NotRequired[Union[str, None]]
    # Paths whose combinations of values get one curve each.
    group_by: list[str]
    # Selection of results: paths and their required values, or `{"$lt": …}`, `{"$gt": …}`,
    # `{"$not": …}`.
    filter: dict[str, Any]
    # Scales of the axes.
    axis_type: "AxisType"


# Kind of a plot, with TIPSY's names.
PlotKind = Union[Literal["simple"], Literal["table"], Literal["contour"], Literal["USL"]]


# Scales of a plot's axes.
AxisType = Union[Literal["normal"], Literal["semilogx"], Literal["semilogy"], Literal["loglog"]]


# Status of a run; it determines the exit code.
Status = Union[Literal["passed"], Literal["check-failed"], Literal["invalid"], Literal["threshold-missed"], Literal["failed"], Literal["interrupted"]]


class RunRecord(TypedDict):
    """The complete record of a run."""

    # Version of the record's format; a reader refuses newer versions.
    schema_version: int
    # Identifier of the run, the same as its folder's name; empty in records of version 1.
    id: NotRequired[str]
    # The program that made the run.
    tool: "Tool"
    # The scenario of the run.
    scenario: "Scenario"
    # Start of the run, RFC 3339 in UTC.
    started: str
    # Time of the last write of the record, RFC 3339 in UTC.
    finished: str
    # Duration of the run, in seconds.
    seconds: NotRequired[float]
    # Tags given when the run was started.
    tags: NotRequired[list[str]]
    # Facts of the machine, and its noise.
    host: "HostFacts"
    # Repetitions and order of the measurements.
    plan: NotRequired["PlanRecord"]
    # One entry per combination of swept keys, in the order of the scenario.
    cells: list["Cell"]
    # Comparisons of the values of a key, if the scenario requests them.
    comparisons: NotRequired[list["Comparison"]]
    # Thresholds of the scenario, and whether they were met.
    thresholds: NotRequired[list["ThresholdVerdict"]]
    # Plots that the scenario requests (TIPSY's `visualize`).
    plots: NotRequired[list["Plot"]]
    # Status of the run.
    status: "Status"
    # Why the run did not pass, as a sentence; empty if it passed.
    message: NotRequired[str]


__all__ = [
    "AxisType",
    "Baseline",
    "Bound",
    "Bounds",
    "Cell",
    "Check",
    "CheckLimitation",
    "Claim",
    "ClaimLevel",
    "Column",
    "Comparison",
    "CoreToCoreProbe",
    "Covered",
    "DeviceCpu",
    "DirectionRecord",
    "Distribution",
    "DropRecord",
    "EventsRecord",
    "Figure",
    "GoalRecord",
    "HostFacts",
    "Limit",
    "LimitKind",
    "LoadRecord",
    "Mismatch",
    "Outcome",
    "PathFailure",
    "PathFault",
    "PlanRecord",
    "Plot",
    "PlotKind",
    "Policed",
    "RandomAccess",
    "Repetition",
    "ReportsRecord",
    "RunRecord",
    "Scenario",
    "Series",
    "SessionAction",
    "SessionsRecord",
    "Spread",
    "StageRecord",
    "StageRole",
    "StallProbe",
    "StallsRecord",
    "Status",
    "Subject",
    "TableRecord",
    "Takeover",
    "ThresholdVerdict",
    "Tool",
    "TrialRecord",
    "Tsc",
    "Unavailable",
    "Validity",
    "Verdict",
    "WorkerRecord",
]
