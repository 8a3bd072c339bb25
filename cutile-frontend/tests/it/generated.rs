//! Random programs of nested loops, branches, breaks, continues and returns: the front end's structured form of each must
//! compute what the program says. What it says is decided by a direct interpreter of the statements, below.

use std::fmt::Write;

use super::run::ints;

/// Variables of a program.
const VARIABLES: usize = 3;
/// Statements that a program may run; a program that runs more is left out.
const FUEL: u32 = 4000;

#[derive(Debug)]
enum Stmt {
    /// `v = v * factor + term`, or with another variable's value as the term.
    Set(usize, i32, Term),
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    /// `'label: for i in 0..n`; the counter is added to variable 0.
    For(u32, i32, Vec<Stmt>),
    /// `'label: while cond`, of which each turn first adds 1 to a variable.
    While(u32, Cond, usize, Vec<Stmt>),
    /// `'label: loop`, which ends after some turns at the latest.
    Loop(u32, i32, Vec<Stmt>),
    Break(u32),
    Continue(u32),
    Return(usize),
}

#[derive(Clone, Copy, Debug)]
enum Term {
    Number(i32),
    Variable(usize),
}

/// `a % modulus < b`, alone or after `&&` or `||`.
#[derive(Clone, Copy, Debug)]
struct Cond {
    first: (usize, i32, i32),
    second: Option<(bool, (usize, i32, i32))>,
}

/// How control leaves statements.
enum Exit {
    Falls,
    Break(u32),
    Continue(u32),
    Return,
}

struct Generator {
    state: u64,
    labels: u32,
}

impl Generator {
    fn below(&mut self, n: u32) -> u32 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) as u32) % n
    }

    fn variable(&mut self) -> usize {
        self.below(VARIABLES as u32) as usize
    }

    fn test(&mut self) -> (usize, i32, i32) {
        (self.variable(), self.below(6) as i32 + 2, self.below(5) as i32)
    }

    fn cond(&mut self) -> Cond {
        let first = self.test();
        let second = (self.below(3) == 0).then(|| (self.below(2) == 0, self.test()));
        Cond { first, second }
    }

    /// `open` holds the labels of the loops around.
    fn block(&mut self, depth: u32, open: &mut Vec<u32>) -> Vec<Stmt> {
        let mut block = Vec::new();
        for _ in 0..=self.below(3) {
            block.push(self.statement(depth, open));
        }
        block
    }

    fn statement(&mut self, depth: u32, open: &mut Vec<u32>) -> Stmt {
        let kinds = if depth == 0 { 2 } else { 9 };
        match self.below(kinds) {
            0 => Stmt::Set(
                self.variable(),
                self.below(3) as i32,
                Term::Number(self.below(20) as i32 - 5),
            ),
            1 => Stmt::Set(self.variable(), 1, Term::Variable(self.variable())),
            2 | 3 => {
                let cond = self.cond();
                let on_true = self.block(depth - 1, open);
                let on_false =
                    if self.below(2) == 0 { Vec::new() } else { self.block(depth - 1, open) };
                Stmt::If(cond, on_true, on_false)
            }
            4 => {
                self.looped(depth, open, |g, label, body| Stmt::For(label, g.below(5) as i32, body))
            }
            5 => self.looped(depth, open, |g, label, body| {
                Stmt::While(label, g.cond(), g.variable(), body)
            }),
            6 => self.looped(depth, open, |g, label, body| {
                Stmt::Loop(label, g.below(4) as i32 + 1, body)
            }),
            kind => {
                let label = match open.len() {
                    0 => {
                        return Stmt::If(
                            self.cond(),
                            vec![Stmt::Return(self.variable())],
                            Vec::new(),
                        );
                    }
                    n => open[self.below(n as u32) as usize],
                };
                let exit = match (kind, self.below(4)) {
                    (_, 0) => Stmt::Return(self.variable()),
                    (7, _) => Stmt::Break(label),
                    _ => Stmt::Continue(label),
                };
                // Bare now and then, so that code follows which nothing reaches.
                if self.below(5) == 0 {
                    exit
                } else {
                    Stmt::If(self.cond(), vec![exit], Vec::new())
                }
            }
        }
    }

    fn looped(
        &mut self,
        depth: u32,
        open: &mut Vec<u32>,
        make: impl FnOnce(&mut Self, u32, Vec<Stmt>) -> Stmt,
    ) -> Stmt {
        let label = self.labels;
        self.labels += 1;
        open.push(label);
        let body = self.block(depth - 1, open);
        open.pop();
        make(self, label, body)
    }
}

fn source(block: &[Stmt], out: &mut String) {
    for s in block {
        let _ = match s {
            Stmt::Set(v, factor, Term::Number(n)) => write!(out, "v{v} = v{v} * {factor} + {n}; "),
            Stmt::Set(v, _, Term::Variable(w)) => write!(out, "v{v} += v{w}; "),
            Stmt::If(cond, on_true, on_false) => {
                let _ = write!(out, "if {} {{ ", cond_source(cond));
                source(on_true, out);
                out.push_str("} else { ");
                source(on_false, out);
                write!(out, "}} ")
            }
            Stmt::For(label, n, body) => {
                let _ = write!(out, "'l{label}: for i{label} in 0..{n} {{ v0 += i{label}; ");
                source(body, out);
                write!(out, "}} ")
            }
            Stmt::While(label, cond, v, body) => {
                let _ = write!(out, "'l{label}: while {} {{ v{v} += 1; ", cond_source(cond));
                source(body, out);
                write!(out, "}} ")
            }
            Stmt::Loop(label, turns, body) => {
                let _ = write!(
                    out,
                    "let mut t{label} = 0; 'l{label}: loop {{ t{label} += 1; if t{label} > {turns} {{ break; }} "
                );
                source(body, out);
                write!(out, "}} ")
            }
            Stmt::Break(label) => write!(out, "break 'l{label}; "),
            Stmt::Continue(label) => write!(out, "continue 'l{label}; "),
            Stmt::Return(v) => write!(out, "return (v{v}, v0, v1, 77); "),
        };
    }
}

fn cond_source(c: &Cond) -> String {
    let test = |(v, modulus, limit): (usize, i32, i32)| format!("v{v} % {modulus} < {limit}");
    match c.second {
        None => test(c.first),
        Some((and, second)) => {
            format!("{} {} {}", test(c.first), if and { "&&" } else { "||" }, test(second))
        }
    }
}

/// The direct interpreter.
struct Machine {
    v: [i32; VARIABLES],
    returned: Option<usize>,
    fuel: u32,
}

impl Machine {
    fn holds(&self, c: &Cond) -> bool {
        let test = |(v, modulus, limit): (usize, i32, i32)| self.v[v] % modulus < limit;
        match c.second {
            None => test(c.first),
            Some((true, second)) => test(c.first) && test(second),
            Some((false, second)) => test(c.first) || test(second),
        }
    }

    /// `None` when the program runs too long.
    fn block(&mut self, block: &[Stmt]) -> Option<Exit> {
        for s in block {
            self.fuel = self.fuel.checked_sub(1)?;
            let exit = self.statement(s)?;
            if !matches!(exit, Exit::Falls) {
                return Some(exit);
            }
        }
        Some(Exit::Falls)
    }

    fn statement(&mut self, s: &Stmt) -> Option<Exit> {
        match s {
            Stmt::Set(v, factor, term) => {
                let term = match term {
                    Term::Number(n) => *n,
                    Term::Variable(w) => self.v[*w],
                };
                self.v[*v] = self.v[*v].wrapping_mul(*factor).wrapping_add(term);
            }
            Stmt::If(cond, on_true, on_false) => {
                let taken = if self.holds(cond) { on_true } else { on_false };
                return self.block(taken);
            }
            Stmt::For(label, n, body) => {
                for i in 0..*n {
                    self.v[0] = self.v[0].wrapping_add(i);
                    if let Some(exit) = self.turn(*label, body)? {
                        return Some(exit);
                    }
                }
            }
            Stmt::While(label, cond, v, body) => {
                while self.holds(cond) {
                    self.fuel = self.fuel.checked_sub(1)?;
                    self.v[*v] = self.v[*v].wrapping_add(1);
                    if let Some(exit) = self.turn(*label, body)? {
                        return Some(exit);
                    }
                }
            }
            Stmt::Loop(label, turns, body) => {
                for _ in 0..*turns {
                    if let Some(exit) = self.turn(*label, body)? {
                        return Some(exit);
                    }
                }
            }
            Stmt::Break(label) => return Some(Exit::Break(*label)),
            Stmt::Continue(label) => return Some(Exit::Continue(*label)),
            Stmt::Return(v) => {
                self.returned = Some(*v);
                return Some(Exit::Return);
            }
        }
        Some(Exit::Falls)
    }

    /// One turn of a loop: how the loop as a whole is left, if it is.
    fn turn(&mut self, label: u32, body: &[Stmt]) -> Option<Option<Exit>> {
        Some(match self.block(body)? {
            Exit::Falls => None,
            Exit::Continue(to) if to == label => None,
            Exit::Break(to) if to == label => Some(Exit::Falls),
            other => Some(other),
        })
    }
}

#[test]
fn random_control_flow_means_what_it_says() {
    let (mut tried, mut left) = (0, 0);
    for seed in 0..100u64 {
        let mut generator = Generator { state: seed * 7919 + 1, labels: 0 };
        let block = generator.block(4, &mut Vec::new());
        let mut body = String::new();
        source(&block, &mut body);
        let program = format!(
            "fn f(n: i32) -> (i32, i32, i32, i32) {{ let mut v0 = n; let mut v1 = 1; let mut v2 = 2; {body} (v0, v1, v2, 0) }}"
        );
        for n in [0, 3, -7] {
            let mut machine = Machine { v: [n, 1, 2], returned: None, fuel: FUEL };
            if machine.block(&block).is_none() {
                left += 1;
                continue;
            }
            let v = machine.v;
            let expected = match machine.returned {
                Some(w) => [v[w], v[0], v[1], 77],
                None => [v[0], v[1], v[2], 0],
            };
            let found = ints(&program, n).unwrap_or_else(|e| panic!("seed {seed}: {program}\n{e}"));
            assert_eq!(found, expected, "seed {seed}, n = {n}: {program}");
            tried += 1;
        }
    }
    assert!(tried > 200, "{tried} programs tried, {left} left out");
}
