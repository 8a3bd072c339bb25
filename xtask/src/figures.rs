//! How many tests passed and failed, read from what the runners print.

use std::ops::AddAssign;

/// Counted tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    /// Marked `#[ignore]`, hence not run.
    pub(crate) ignored: u32,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Figures) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

impl Figures {
    /// Sums the summary lines of cargo test and of nextest.
    pub(crate) fn read(output: &str) -> Figures {
        let mut sum = Figures::default();
        for line in output.lines() {
            // nextest shows a failed test's own output, indented: that has been counted already.
            if let Some(rest) = line.strip_prefix("test result: ") {
                sum += summary(rest, &["failed"], "ignored");
            } else if line.trim_start().starts_with("Summary [")
                && let Some((_, rest)) = line.split_once("run: ")
            {
                sum += summary(rest, &["failed", "exec failed", "timed out"], "skipped");
            }
        }
        sum
    }
}

/// Reads `ok. 7 passed; 0 failed; ..` or `7 passed (1 slow), 2 failed, ..`.
fn summary(text: &str, failed: &[&str], ignored: &str) -> Figures {
    let mut figures = Figures::default();
    for part in text.split([';', ',', '.', '(', ')']) {
        let Some((number, word)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        if word == "passed" {
            figures.passed += number;
        } else if failed.contains(&word) {
            figures.failed += number;
        } else if word == ignored {
            figures.ignored += number;
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_cargo_test() {
        let output = "\
running 2 tests
test result: ok. 7 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.05s
test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s
";
        assert_eq!(Figures::read(output), Figures { passed: 12, failed: 2, ignored: 1 });
    }

    #[test]
    fn reads_nextest() {
        let good = "     Summary [   0.073s] 26 tests run: 26 passed (3 slow), 2 skipped";
        assert_eq!(Figures::read(good), Figures { passed: 26, failed: 0, ignored: 2 });
        let bad = "  Summary [ 1s] 7/9 tests run: 3 passed, 1 failed, 2 exec failed, 1 timed out, 0 skipped";
        assert_eq!(Figures::read(bad), Figures { passed: 3, failed: 4, ignored: 0 });
    }

    #[test]
    fn what_tests_print_is_not_a_summary() {
        let output =
            "5 passed\nresult: 3 failed\n    test result: FAILED. 0 passed; 1 failed; 0 ignored";
        assert_eq!(Figures::read(output), Figures::default());
    }
}
