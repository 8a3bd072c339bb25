//! The one thread that watches timelines on behalf of sleeping tasks.
//!
//! It looks at streams that have waiters, not at operations. While something finishes it keeps
//! looking; then it sleeps, each time a little longer in proportion to how long nothing has
//! finished, so a short wait ends promptly and a long one costs next to nothing. With nobody waiting
//! it parks for good. A stream whose device reports progress by itself is only looked at when told.
//!
//! After a device fault no timeline moves any more. So no sleep is longer than 10 ms while anybody
//! waits, and from 1 ms without progress on every waiting stream is asked for its state.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::completion::signal::Signal;
use crate::device;
use crate::stream::StreamCore;
use crate::sync::{Mutex, lock};

/// From here on without progress, streams are asked whether their device still lives.
const FIRST_QUERY: Duration = Duration::from_millis(1);
/// How often after that; also the longest sleep while anybody waits.
const QUERY_INTERVAL: Duration = Duration::from_millis(10);
/// For this long without progress the thread spins instead of sleeping.
const SPIN: Duration = Duration::from_micros(50);
/// The longest sleep where only looking shows progress.
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// Streams that can be watched before anything has to grow.
const ROOM: usize = 1024;

struct Reactor {
    /// Streams to look at; a stream is in here exactly while its `watched` is set.
    watched: Mutex<Vec<&'static StreamCore>>,
    signal: Signal,
}

/// The reactor; `None` if the system can't start its thread.
fn reactor() -> Option<&'static Reactor> {
    static REACTOR: OnceLock<Option<&'static Reactor>> = OnceLock::new();
    *REACTOR.get_or_init(|| {
        let reactor: &'static Reactor = Box::leak(Box::new(Reactor {
            watched: Mutex::new(Vec::with_capacity(ROOM)),
            signal: Signal::new(),
        }));
        std::thread::Builder::new()
            .name("cuda-async reactor".to_string())
            .spawn(move || {
                sleep_precisely();
                reactor.run()
            })
            .ok()
            .map(|_| reactor)
    })
}

/// Asks the system to end this thread's sleeps on time; Linux otherwise adds 50 us to each.
fn sleep_precisely() {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::{c_int, c_ulong};

        unsafe extern "C" {
            fn prctl(option: c_int, ...) -> c_int;
        }
        const PR_SET_TIMERSLACK: c_int = 29;
        const NANOSECONDS: c_ulong = 1;
        // SAFETY: this option takes one number and concerns the calling thread alone.
        unsafe { prctl(PR_SET_TIMERSLACK, NANOSECONDS) };
    }
}

/// Looks after `stream` until it has no waiters and nothing to reclaim.
pub(crate) fn watch(stream: &'static StreamCore) {
    let Some(reactor) = reactor() else {
        // Without the thread, tasks look for themselves, again and again.
        return stream.wake_everybody();
    };
    if !stream.watched.swap(true, Ordering::SeqCst) {
        lock(&reactor.watched).push(stream);
    }
    // Told each time: a new waiter may be for something short while an old one is for something long.
    reactor.signal.notify();
}

/// Tells the reactor that a timeline that somebody waits for has advanced.
pub(crate) fn progress() {
    if let Some(reactor) = reactor() {
        reactor.signal.notify();
    }
}

impl Reactor {
    fn run(&self) -> ! {
        let mut streams: Vec<&'static StreamCore> = Vec::with_capacity(ROOM);
        let mut quiet_since = Instant::now();
        let mut last_query = quiet_since;
        loop {
            streams.clear();
            streams.extend_from_slice(&lock(&self.watched));
            if streams.is_empty() {
                self.signal.wait();
                quiet_since = Instant::now();
                continue;
            }
            let mut progress = false;
            for stream in &streams {
                progress |= stream.wake_completed();
                if stream.is_idle() {
                    self.leave(stream);
                }
            }
            let now = Instant::now();
            if progress {
                quiet_since = now;
            }
            let quiet = now - quiet_since;
            // One device may be dead while another is busy: so not only when all is quiet.
            let first = quiet >= FIRST_QUERY && last_query < quiet_since;
            if first || now - last_query >= QUERY_INTERVAL {
                last_query = now;
                streams.iter().for_each(|stream| stream.check_alive());
                // Their streams may wait for streams of devices that nobody else asks.
                device::first_streams().iter().for_each(|stream| stream.check_alive());
            }
            if !progress && self.rest(quiet, &streams) {
                quiet_since = Instant::now();
            }
        }
    }

    /// Spins or sleeps; whether there was news.
    fn rest(&self, quiet: Duration, streams: &[&'static StreamCore]) -> bool {
        if streams.iter().all(|stream| stream.backend.reports_progress()) {
            let limit = if quiet < FIRST_QUERY { FIRST_QUERY } else { QUERY_INTERVAL };
            self.signal.wait_for(limit)
        } else if quiet < SPIN {
            std::hint::spin_loop();
            false
        } else {
            self.signal.wait_for((quiet / 16).min(LONGEST_NAP))
        }
    }

    /// Stops watching, unless somebody came in the meantime.
    fn leave(&self, stream: &'static StreamCore) {
        lock(&self.watched).retain(|other| !std::ptr::eq(*other, stream));
        stream.watched.store(false, Ordering::SeqCst);
        if !stream.is_idle() {
            watch(stream);
        }
    }
}
