//! Samples, medians, and the two forms in which they are printed.

use std::time::Instant;

use cuda_async::driver::{Context, DriverError};

/// One measured thing.
struct Row {
    what: String,
    median: f64,
    low: f64,
    high: f64,
    /// The row that this one is compared with, and the ratio of the medians.
    against: Option<(String, f64)>,
}

/// All rows, with the conditions under which they were measured.
pub(crate) struct Report {
    card: String,
    driver: String,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(context: Context) -> Result<Self, DriverError> {
        let card = context.properties().name.clone();
        let driver = format!("CUDA {}", context.driver().version()?);
        Ok(Self { card, driver, rows: Vec::new() })
    }

    /// Adds a row of samples in microseconds.
    pub(crate) fn add(&mut self, what: &str, samples: Vec<f64>) {
        self.push(what, samples, None);
    }

    /// Adds a row and its ratio to an earlier one.
    pub(crate) fn add_against(&mut self, what: &str, samples: Vec<f64>, base: &str) {
        self.push(what, samples, Some(base));
    }

    fn push(&mut self, what: &str, mut samples: Vec<f64>, base: Option<&str>) {
        samples.sort_by(f64::total_cmp);
        let at = |part: f64| {
            samples.get((samples.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN)
        };
        let (low, median, high) = (at(0.1), at(0.5), at(0.9));
        // The first row of a section is what the others are compared with.
        let base = base.and_then(|base| self.rows.iter().find(|row| row.what == base));
        let against = base.map(|base| (base.what.clone(), median / base.median));
        self.rows.push(Row { what: what.to_owned(), median, low, high, against });
    }

    pub(crate) fn print(&self) {
        println!("{}, {}; microseconds", self.card, self.driver);
        println!("{:<66} {:>9} {:>9} {:>9} {:>7}", "", "median", "10 %", "90 %", "ratio");
        for row in &self.rows {
            let ratio =
                row.against.as_ref().map_or(String::new(), |(_, ratio)| format!("{ratio:.3}"));
            println!(
                "{:<66} {:>9.3} {:>9.3} {:>9.3} {:>7}",
                row.what, row.median, row.low, row.high, ratio
            );
        }
        for row in &self.rows {
            println!("{}", self.json(row));
        }
    }

    fn json(&self, row: &Row) -> String {
        let mut line = format!(
            "{{\"bench\":\"launch_latency\",\"card\":\"{}\",\"driver\":\"{}\",\"what\":\"{}\",\"unit\":\"us\",\"median\":{:.4},\"p10\":{:.4},\"p90\":{:.4}",
            self.card, self.driver, row.what, row.median, row.low, row.high
        );
        if let Some((base, ratio)) = &row.against {
            line.push_str(&format!(",\"against\":\"{base}\",\"ratio\":{ratio:.4}"));
        }
        line.push('}');
        line
    }
}

/// One thing to time: called `calls` times a sample.
pub(crate) struct Case<'a, E> {
    pub(crate) what: &'a str,
    pub(crate) run: Box<dyn FnMut() -> Result<(), E> + 'a>,
}

impl<'a, E> Case<'a, E> {
    pub(crate) fn new(what: &'a str, run: impl FnMut() -> Result<(), E> + 'a) -> Self {
        Self { what, run: Box::new(run) }
    }
}

/// Times `cases` in turns, so that a drift of the machine meets all of them alike: `samples`
/// rounds, in each of which a case is called `calls` times, after which `settle` runs outside the
/// time. Answers the microseconds of one call, a list a case.
pub(crate) fn in_turns<E>(
    samples: usize,
    calls: usize,
    cases: &mut [Case<'_, E>],
    mut settle: impl FnMut() -> Result<(), E>,
) -> Result<Vec<Vec<f64>>, E> {
    const WARM_UP: usize = 5;
    let mut times = vec![Vec::with_capacity(samples); cases.len()];
    for round in 0..samples + WARM_UP {
        for (case, times) in cases.iter_mut().zip(&mut times) {
            let begin = Instant::now();
            for _ in 0..calls {
                (case.run)()?;
            }
            let elapsed = begin.elapsed().as_secs_f64() * 1e6 / calls as f64;
            settle()?;
            if round >= WARM_UP {
                times.push(elapsed);
            }
        }
    }
    Ok(times)
}
