//! Frames of 100 bytes in batches of 256 through queues of three priorities, three to a subscriber:
//! `credit` where all pass, random ones; `all-wait` where each queue holds two frames, each frame
//! that leaves is followed by another one, and the port's levels are what limits; `1000-wait` the
//! same of 1,000 random queues; `shaped` where a queue of each subscriber holds two and the
//! subscriber's rate limits, so that each frame waits for a timer. Time is per frame, in and out,
//! with both copies where it waits.

use crate::support::{BATCH, Random, is_measuring};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use tables::scheduler::{Discard, Member, Offered, Port, Queue, Scheduler, Shape, Sizes};

/// Ports, nodes, subscribers, and queues of a subscriber.
const LARGE: [u32; 4] = [4, 4096, 131_072, 3];
const SMALL: [u32; 4] = [2, 4, 32, 3];

fn scheduler(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scheduler");
    group.throughput(Throughput::Elements(1));
    let sizes = if is_measuring() { LARGE } else { SMALL };
    let queues = (sizes[2] * sizes[3]) as usize;
    let few = queues.min(1000);
    for (name, waiting) in [("credit", 0), ("all-wait", queues), ("1000-wait", few), ("shaped", 0)]
    {
        let mut bench = Bench::new(sizes, name);
        bench.fill(if name == "shaped" { sizes[2] as usize } else { waiting });
        let mut frames = 0;
        group.bench_function(BenchmarkId::new(name, queues), |bencher| {
            bencher.iter_custom(|total| {
                let (start, mut done) = (std::time::Instant::now(), 0);
                while done < total {
                    done += if name == "credit" { bench.pass() } else { bench.turn() };
                }
                frames += done;
                start.elapsed().mul_f64(total as f64 / done as f64)
            });
        });
        let Bench { scheduler, .. } = &bench;
        println!("{name}: {frames} frames, {} bytes: {:?}", scheduler.bytes(), scheduler.counts());
    }
    group.finish();
}

/// A scheduler with frames that come and room for those that leave.
struct Bench {
    scheduler: Scheduler,
    sizes: [u32; 4],
    random: Random,
    /// Random queues, batch by batch, and which batch comes next.
    queues: Vec<u32>,
    next: usize,
    now: u64,
    is_shaped: bool,
    batch: Vec<[u8; STRIDE]>,
    out: Vec<[u8; STRIDE]>,
    left: Vec<u32>,
}

impl Bench {
    fn new(sizes: [u32; 4], name: &str) -> Bench {
        let [ports, nodes, subscribers, each] = sizes;
        let queues = subscribers * each;
        let all =
            Sizes { ports, nodes, subscribers, queues, cells: 3 * queues, frame_bytes_max: 2014 };
        let mut scheduler = Scheduler::new(all, 1e9, 0).expect("memory is to be had");
        let of = |bytes_per_s| Shape { bytes_per_s, burst_bytes: 20_000.0, overhead_bytes: 20 };
        let is_shaped = name == "shaped";
        // A frame a microsecond, with its overhead, by what limits.
        let level = 120e6 / f64::from(ports) / 3.0;
        let rates = if name.ends_with("wait") { [level, 3.3 * level] } else { [1e10; 2] };
        let port = Port { shape: of(rates[1]), levels: [of(rates[0]); 8] };
        (0..ports).for_each(|number| scheduler.set_port(number, &port, 0).expect("sound"));
        let member = |parent, rate| Member { parent, shape: of(rate), weight: 1 };
        for number in 0..nodes {
            scheduler.set_node(number, &member(number % ports, 1e9), 0).expect("sound");
        }
        let rate = if is_shaped { 120e6 / f64::from(subscribers) } else { 1e8 };
        for number in 0..subscribers {
            let shape = Shape { burst_bytes: 240.0, ..of(rate) };
            let member = Member { shape, ..member(number % nodes, rate) };
            scheduler.set_subscriber(number, &member, 0).expect("sound");
        }
        for number in 0..queues {
            let queue = Queue {
                subscriber: number / each,
                shape: of(1e8),
                level: [0, 2, 5][(number % each) as usize],
                weight: 1,
                depth_bytes: 100_000,
                share: 0,
                discard: Discard::Tail,
            };
            scheduler.set_queue(number, &queue, 0).expect("sound");
        }
        let frames = || vec![[7; STRIDE]; BATCH];
        let (batch, out, left) = (frames(), frames(), Vec::with_capacity(BATCH));
        let mut random = Random(1);
        let queues = (0..4096 * BATCH).map(|_| random.below(queues as usize) as u32).collect();
        Bench { scheduler, sizes, random, queues, next: 0, now: 0, is_shaped, batch, out, left }
    }

    /// Two frames for so many queues in random order; or for one of each subscriber.
    fn fill(&mut self, count: usize) {
        let [_, _, subscribers, each] = self.sizes;
        let step = if self.is_shaped { each } else { 1 };
        let mut queues: Vec<u32> = (0..subscribers * each / step).map(|at| at * step).collect();
        for at in 0..count {
            let with = at + self.random.below(queues.len() - at);
            queues.swap(at, with);
        }
        // Until it has no credit any more, a frame passes; then two wait.
        for &queue in &queues[..count] {
            let mut waiting = 0;
            while waiting < 2 {
                let offered = self.scheduler.offer(queue, &self.batch[0][..LEN], 0, self.now);
                waiting += u32::from(offered == Offered::Waits);
            }
        }
    }

    /// A batch of random queues, all of whose frames pass.
    fn pass(&mut self) -> u64 {
        self.now += 1_000 * BATCH as u64;
        let Bench { scheduler, sizes, queues, next, now, batch, out, left, .. } = self;
        *next = (*next + BATCH) % queues.len();
        offer_batch(scheduler, &queues[*next..*next + BATCH], batch, *now);
        let waiting = take_batch(scheduler, sizes[0], *now, out, left);
        assert!(waiting == 0, "all frames pass");
        BATCH as u64
    }

    /// What may leave leaves, and as much comes.
    fn turn(&mut self) -> u64 {
        self.now += 900 * BATCH as u64;
        let Bench { scheduler, sizes, now, batch, out, left, .. } = self;
        left.clear();
        take_batch(scheduler, sizes[0], *now, out, left);
        offer_batch(scheduler, left, batch, *now);
        left.len() as u64
    }
}

#[inline(never)]
fn offer_batch(scheduler: &mut Scheduler, queues: &[u32], batch: &[[u8; STRIDE]], now: u64) {
    for &queue in queues {
        scheduler.prefetch(queue);
    }
    for &queue in queues {
        scheduler.prefetch_above(queue);
    }
    for (&queue, frame) in queues.iter().zip(batch) {
        scheduler.offer(queue, &frame[..LEN], queue, now);
    }
}

/// Takes as much of each port as there is room for; returns how much.
#[inline(never)]
fn take_batch(
    scheduler: &mut Scheduler,
    ports: u32,
    now: u64,
    out: &mut [[u8; STRIDE]],
    left: &mut Vec<u32>,
) -> usize {
    let mut taken = 0;
    for port in 0..ports {
        let most = BATCH / ports as usize;
        scheduler.take(port, now, most, |frame| {
            left.push(frame.queue);
            frame.copy_to(&mut out[taken][..frame.len]);
            taken += 1;
        });
    }
    taken
}

/// Bytes of a frame, and from one to the next in a batch.
const LEN: usize = 100;
const STRIDE: usize = 2240;

criterion_group!(benches, scheduler);
