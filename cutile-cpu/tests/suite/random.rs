//! Random programs against an interpreter that is as plain as can be: a tile is a list of numbers and
//! a valid length an axis. What the plan does to be fast (groups, shared memory, tiles that are never
//! stored) must not show.

use crate::harness::{Host2, Random, output, run, tensor};
use cutile_cpu::Arg;
use proptest::prelude::*;
use std::fmt::Write;

/// A tile as the semantics page describes it.
#[derive(Clone, Debug)]
struct Tile {
    name: String,
    shape: Vec<usize>,
    valid: Vec<usize>,
    /// Row-major; lanes that are not valid hold nothing of interest.
    data: Vec<i64>,
}

impl Tile {
    fn ty(&self) -> String {
        format!("i64{:?}", self.shape)
    }

    fn at(&self, index: &[usize]) -> i64 {
        self.data[flat(&self.shape, index)]
    }

    fn build(name: String, shape: &[usize], valid: &[usize], f: impl Fn(&[usize]) -> i64) -> Tile {
        let data = indices(shape)
            .iter()
            .map(|i| if i.iter().zip(valid).all(|(i, v)| i < v) { f(i) } else { i64::MIN })
            .collect();
        Tile { name, shape: shape.to_vec(), valid: valid.to_vec(), data }
    }
}

fn flat(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |n, (s, i)| n * s + i)
}

fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, n| {
        all.iter().flat_map(|i| (0..*n).map(move |k| [i.as_slice(), &[k]].concat())).collect()
    })
}

fn min(a: &[usize], b: &[usize]) -> Vec<usize> {
    a.iter().zip(b).map(|(a, b)| *a.min(b)).collect()
}

fn binary(op: &str, a: i64, b: i64) -> i64 {
    match op {
        "add" => a.wrapping_add(b),
        "sub" => a.wrapping_sub(b),
        "mul" => a.wrapping_mul(b),
        "xor" => a ^ b,
        _ => a.min(b),
    }
}

/// A program that grows together with what it should give.
struct Growing {
    random: Random,
    body: String,
    tiles: Vec<Tile>,
    /// Tensors with their contents: inputs, then a scratch tensor for stores in between.
    inputs: Vec<Host2<i64>>,
    scratch: Tile,
    names: usize,
}

impl Growing {
    fn new(seed: u64) -> Growing {
        let mut random = Random(seed);
        let rank = 1 + random.next() as usize % 3;
        let shape: Vec<usize> = (0..rank).map(|_| 1 + random.next() as usize % 5).collect();
        let n = shape.iter().product::<usize>();
        let data = (0..n).map(|i| 100 + i as i64).collect();
        let scratch = Tile { name: "vs".into(), valid: shape.clone(), shape, data };
        Growing { random, body: String::new(), tiles: vec![], inputs: vec![], scratch, names: 0 }
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.next() as usize % n
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("t{}", self.names)
    }

    fn pick(&mut self) -> Tile {
        let i = self.below(self.tiles.len());
        self.tiles[i].clone()
    }

    fn line(&mut self, text: String) {
        let _ = writeln!(self.body, "  {text}");
    }

    /// Loads a tile of the scratch tensor's shape from a new input, ragged by chance.
    fn load(&mut self) {
        let shape = self.scratch.shape.clone();
        let extents: Vec<usize> = shape
            .iter()
            .map(|n| if self.below(2) == 0 { *n } else { 1 + self.below(*n) })
            .collect();
        let data: Vec<i64> =
            (0..extents.iter().product()).map(|_| self.random.next() as i64 % 50).collect();
        let k = self.inputs.len();
        let name = self.name();
        let zeros = vec!["%zero"; shape.len()].join(", ");
        self.line(format!("%v{k} = partition %x{k} : view i64{shape:?}"));
        self.line(format!("%{name} = load %v{k} [{zeros}] clip : i64{shape:?}"));
        let tile = Tile::build(name, &shape, &extents, |i| data[flat(&extents, i)]);
        let extents: Vec<i64> = extents.iter().map(|n| *n as i64).collect();
        self.inputs.push(tensor(&extents, data));
        self.tiles.push(tile);
    }

    fn constant(&mut self) {
        let shape = self.pick().shape;
        let value = self.random.next() as i64 % 9;
        let name = self.name();
        self.line(format!("%{name} = constant {value} : i64{shape:?}"));
        self.tiles.push(Tile::build(name, &shape, &shape, |_| value));
    }

    fn arithmetic(&mut self) {
        let a = self.pick();
        let same: Vec<Tile> = self.tiles.iter().filter(|t| t.shape == a.shape).cloned().collect();
        let i = self.below(same.len());
        let b = &same[i];
        let op = ["add", "sub", "mul", "xor", "min"][self.below(5)];
        let name = self.name();
        self.line(format!("%{name} = binary {op} %{} %{} : {}", a.name, b.name, a.ty()));
        let valid = min(&a.valid, &b.valid);
        self.tiles.push(Tile::build(name, &a.shape, &valid, |i| binary(op, a.at(i), b.at(i))));
    }

    fn permute(&mut self) {
        let a = self.pick();
        let mut order: Vec<usize> = (0..a.shape.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, self.below(i + 1));
        }
        let name = self.name();
        let shape: Vec<usize> = order.iter().map(|o| a.shape[*o]).collect();
        let valid: Vec<usize> = order.iter().map(|o| a.valid[*o]).collect();
        self.line(format!("%{name} = permute {order:?} %{} : i64{shape:?}", a.name));
        self.tiles.push(Tile::build(name, &shape, &valid, |i| {
            let mut from = vec![0; i.len()];
            order.iter().zip(i).for_each(|(o, i)| from[*o] = *i);
            a.at(&from)
        }));
    }

    /// An axis of 1 more or less, or all axes merged.
    fn reshape(&mut self) {
        let a = self.pick();
        let name = self.name();
        let text = |shape: &[usize]| format!("%{name} = reshape %{} : i64{shape:?}", a.name);
        if self.below(2) == 0 && a.shape.len() < 5 {
            let at = self.below(a.shape.len() + 1);
            let with = |v: &[usize]| [&v[..at], &[1], &v[at..]].concat();
            let (shape, valid) = (with(&a.shape), with(&a.valid));
            self.line(text(&shape));
            let tile = Tile::build(name.clone(), &shape, &valid, |i| {
                a.at(&[&i[..at], &i[at + 1..]].concat())
            });
            self.tiles.push(tile);
            return;
        }
        let n: usize = a.shape.iter().product();
        let long = a.shape.iter().filter(|n| **n != 1).count() > 1;
        // One axis longer than 1 stays what it is; more are merged, with 0 where they were ragged.
        let valid = if long { n } else { a.valid.iter().product() };
        self.line(text(&[n]));
        let all = indices(&a.shape);
        let tile = Tile::build(name.clone(), &[n], &[valid], |i| {
            let from = &all[i[0]];
            if from.iter().zip(&a.valid).all(|(i, v)| i < v) { a.at(from) } else { 0 }
        });
        self.tiles.push(tile);
    }

    fn broadcast(&mut self) {
        let a = self.pick();
        let name = self.name();
        let mut shape = a.shape.clone();
        let mut valid = a.valid.clone();
        for axis in 0..shape.len() {
            if shape[axis] == 1 {
                shape[axis] = 1 + self.below(4);
                valid[axis] = shape[axis];
            }
        }
        self.line(format!("%{name} = broadcast %{} : i64{shape:?}", a.name));
        self.tiles.push(Tile::build(name, &shape, &valid, |i| {
            let from: Vec<usize> =
                i.iter().zip(&a.shape).map(|(i, n)| if *n == 1 { 0 } else { *i }).collect();
            a.at(&from)
        }));
    }

    fn reduce(&mut self) {
        let a = self.pick();
        if a.shape.len() < 2 {
            return;
        }
        let axis = self.below(a.shape.len());
        let name = self.name();
        let without = |v: &[usize]| [&v[..axis], &v[axis + 1..]].concat();
        let (shape, valid) = (without(&a.shape), without(&a.valid));
        self.line(format!("%{name} = reduce sum {axis} %{} : i64{shape:?}", a.name));
        self.tiles.push(Tile::build(name, &shape, &valid, |i| {
            (0..a.valid[axis])
                .map(|k| a.at(&[&i[..axis], &[k], &i[axis..]].concat()))
                .fold(0i64, i64::wrapping_add)
        }));
    }

    /// Stores a tile of its shape to the scratch tensor, or loads it.
    fn scratch(&mut self) {
        let shape = self.scratch.shape.clone();
        let zeros = vec!["%zero"; shape.len()].join(", ");
        let same: Vec<Tile> = self.tiles.iter().filter(|t| t.shape == shape).cloned().collect();
        if self.below(2) == 0 && !same.is_empty() {
            let i = self.below(same.len());
            let t = &same[i];
            self.line(format!("store %{} %vs [{zeros}]", t.name));
            self.stored(t);
        } else {
            let name = self.name();
            self.line(format!("%{name} = load %vs [{zeros}] clip : i64{shape:?}"));
            self.tiles.push(Tile { name, ..self.scratch.clone() });
        }
    }

    /// A loop that carries two tiles of one shape.
    fn carry(&mut self) {
        let a = self.pick();
        let same: Vec<Tile> = self.tiles.iter().filter(|t| t.shape == a.shape).cloned().collect();
        let i = self.below(same.len());
        let b = same[i].clone();
        let turns = self.below(4);
        let (p, q, r, s) = (self.name(), self.name(), self.name(), self.name());
        let ty = a.ty();
        let how = self.below(5);
        let outer = same[self.below(same.len())].clone();
        // The last axis is summed and its sum repeated: several tiles that need memory of their own.
        let last = a.shape.len() - 1;
        let (short, one) = (&a.shape[..last], [&a.shape[..last], &[1]].concat());
        let step = match how {
            4 => format!(
                "%{s}a = binary add %{p} %{} : {ty}
                 %{s}b = reduce sum {last} %{s}a : i64{short:?}
                 %{s}c = reshape %{s}b : i64{one:?}
                 %{s}d = broadcast %{s}c : {ty}
                 %{s}e = binary sub %{s}a %{s}d : {ty}
                 %{s}f = reduce sum {last} %{s}e : i64{short:?}
                 %{s}g = reshape %{s}f : i64{one:?}
                 %{s}h = broadcast %{s}g : {ty}
                 %{s}i = binary xor %{s}e %{s}h : {ty}
                 yield %{s}i, %{s}a",
                outer.name
            ),
            0 => format!("yield %{q}, %{p}"),
            1 => format!("%{s}x = binary add %{p} %{q} : {ty}\n yield %{s}x, %{p}"),
            2 => format!(
                "%{s}x = binary mul %{p} %{p} : {ty}\n %{s}y = binary xor %{s}x %{q} : {ty}\n yield %{s}y, %{s}x"
            ),
            _ => format!("%{s}x = binary sub %{p} %{q} : {ty}\n yield %{s}x, %{q}"),
        };
        let (turn, k) = (self.name(), self.name());
        self.line(format!("%{turn} = constant {turns} : i32"));
        self.line(format!(
            "%{r}, %{s} = for %zero %{turn} %one [%{}, %{}] (%{k}: i32, %{p}: {ty}, %{q}: {ty}) {{\n {step}\n }} : {ty}, {ty}",
            a.name, b.name
        ));
        let (mut x, mut y) = (a, b);
        for _ in 0..turns {
            let both = min(&x.valid, &y.valid);
            let each = |op: &str, u: &Tile, v: &Tile, valid: &[usize]| {
                Tile::build(String::new(), &u.shape, valid, |i| binary(op, u.at(i), v.at(i)))
            };
            let sums = |u: &Tile| {
                Tile::build(String::new(), &u.shape, &u.valid, |i| {
                    (0..u.valid[last])
                        .map(|k| u.at(&[&i[..last], &[k]].concat()))
                        .fold(0i64, i64::wrapping_add)
                })
            };
            (x, y) = match how {
                4 => {
                    let sum = each("add", &x, &outer, &min(&x.valid, &outer.valid));
                    let rest = each("sub", &sum, &sums(&sum), &sum.valid);
                    (each("xor", &rest, &sums(&rest), &rest.valid), sum)
                }
                0 => (y, x),
                1 => (each("add", &x, &y, &both), x),
                2 => {
                    let square = each("mul", &x, &x, &x.valid);
                    (each("xor", &square, &y, &both), square)
                }
                _ => (each("sub", &x, &y, &both), y),
            };
        }
        self.tiles.push(Tile { name: r, ..x });
        self.tiles.push(Tile { name: s, ..y });
    }

    /// A branch whose blocks compute and store different things.
    fn branch(&mut self) {
        let a = self.pick();
        let same: Vec<Tile> = self.tiles.iter().filter(|t| t.shape == a.shape).cloned().collect();
        let b = same[self.below(same.len())].clone();
        let holds = self.below(2) == 0;
        let stores = a.shape == self.scratch.shape;
        let (f, r) = (self.name(), self.name());
        let (ty, zeros) = (a.ty(), vec!["%zero"; a.shape.len()].join(", "));
        let store = if stores { format!("store %{f}y %vs [{zeros}]") } else { String::new() };
        self.line(format!("%{f} = constant {holds} : bool"));
        self.line(format!(
            "%{r} = if %{f} () {{
                %{f}x = binary add %{} %{} : {ty}
                yield %{f}x
            }} () {{
                %{f}y = binary mul %{} %{} : {ty}
                {store}
                yield %{}
            }} : {ty}",
            a.name, b.name, b.name, b.name, a.name
        ));
        if holds {
            let valid = min(&a.valid, &b.valid);
            self.tiles.push(Tile::build(r, &a.shape, &valid, |i| binary("add", a.at(i), b.at(i))));
        } else {
            self.tiles.push(Tile { name: r, ..a });
            if stores {
                let square = Tile::build(String::new(), &b.shape, &b.valid, |i| {
                    binary("mul", b.at(i), b.at(i))
                });
                self.stored(&square);
            }
        }
    }

    /// What a store of a tile does to the scratch tensor.
    fn stored(&mut self, t: &Tile) {
        for i in indices(&t.shape) {
            if i.iter().zip(&t.valid).all(|(i, v)| i < v) {
                self.scratch.data[flat(&t.shape, &i)] = t.at(&i);
            }
        }
    }

    /// A loop that stores what it carries and reads it back.
    fn carry_through_memory(&mut self) {
        let shape = self.scratch.shape.clone();
        let same: Vec<Tile> = self.tiles.iter().filter(|t| t.shape == shape).cloned().collect();
        let mut x = same[self.below(same.len())].clone();
        let turns = self.below(4);
        let (turn, k, p, r) = (self.name(), self.name(), self.name(), self.name());
        let (ty, zeros) = (x.ty(), vec!["%zero"; shape.len()].join(", "));
        self.line(format!("%{turn} = constant {turns} : i32"));
        self.line(format!(
            "%{r} = for %zero %{turn} %one [%{}] (%{k}: i32, %{p}: {ty}) {{
                %{p}a = load %vs [{zeros}] clip : {ty}
                %{p}b = binary add %{p} %{p}a : {ty}
                store %{p}b %vs [{zeros}]
                %{p}c = load %vs [{zeros}] clip : {ty}
                %{p}d = binary xor %{p}c %{p}a : {ty}
                store %{p}c %vs [{zeros}]
                yield %{p}d
            }} : {ty}",
            x.name
        ));
        for _ in 0..turns {
            let before = self.scratch.clone();
            let sum = Tile::build(String::new(), &shape, &x.valid, |i| {
                binary("add", x.at(i), before.at(i))
            });
            self.stored(&sum);
            let after = self.scratch.clone();
            x = Tile::build(String::new(), &shape, &shape, |i| after.at(i) ^ before.at(i));
        }
        self.tiles.push(Tile { name: r, ..x });
    }

    fn grow(&mut self, steps: usize) {
        self.load();
        for _ in 0..steps {
            match self.below(12) {
                0 => self.load(),
                1 => self.constant(),
                2 => self.permute(),
                3 => self.reshape(),
                4 => self.broadcast(),
                5 => self.reduce(),
                6 => self.scratch(),
                7 => self.carry(),
                8 => self.branch(),
                9 => self.carry_through_memory(),
                _ => self.arithmetic(),
            }
            let last = self.tiles.last().expect("a load comes first");
            if last.data.len() > 5000 {
                self.tiles.pop();
            }
        }
    }

    /// Stores some tiles to outputs, runs, compares.
    fn finish(mut self) {
        let mut outputs: Vec<(Tile, Host2<i64>)> = Vec::new();
        for _ in 0..3 {
            let t = self.pick();
            let k = outputs.len();
            let shape: Vec<i64> = t.shape.iter().map(|n| *n as i64).collect();
            let zeros = vec!["%zero"; t.shape.len()].join(", ");
            self.line(format!("%vo{k} = partition %o{k} : view {}", t.ty()));
            self.line(format!("store %{} %vo{k} [{zeros}]", t.name));
            outputs.push((t, output::<i64>(&shape)));
        }
        let unknown = |rank: usize| vec!["?"; rank].join(", ");
        let mut params: Vec<String> = (0..self.inputs.len())
            .map(|k| format!("%x{k}: tensor i64[{}]", unknown(self.scratch.shape.len())))
            .collect();
        let s = &self.scratch.shape;
        params.push(format!("%s: partitioned i64[{}] by {s:?}", unknown(s.len())));
        for (k, (t, _)) in outputs.iter().enumerate() {
            let rank = t.shape.len();
            params.push(format!("%o{k}: partitioned i64[{}] by {:?}", unknown(rank), t.shape));
        }
        let text = format!(
            "entry @random({}) {{\n  %zero = constant 0 : i32\n  %one = constant 1 : i32\n  %vs = partition %s : view i64{s:?}\n{}  yield\n}}",
            params.join(", "),
            self.body
        );
        let shape: Vec<i64> = s.iter().map(|n| *n as i64).collect();
        let n = shape.iter().product::<i64>();
        let mut scratch = tensor(&shape, (0..n).map(|i| 100 + i).collect());
        let mut args: Vec<Arg> = self.inputs.iter_mut().map(Host2::arg).collect();
        args.push(scratch.arg());
        args.extend(outputs.iter_mut().map(|(_, o)| o.arg()));
        run(&text, &args, &[1]);
        for (t, got) in &outputs {
            for i in indices(&t.shape) {
                let inside = i.iter().zip(&t.valid).all(|(i, v)| i < v);
                let expected = if inside { t.at(&i) } else { output::<i64>(&[1]).data[0] };
                assert_eq!(
                    got.data[flat(&t.shape, &i)],
                    expected,
                    "%{} at {i:?} of\n{text}",
                    t.name
                );
            }
        }
        assert_eq!(scratch.data, self.scratch.data, "the scratch tensor of\n{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_give_what_a_plain_interpreter_gives(seed: u64, steps in 1usize..40) {
        let mut program = Growing::new(seed);
        program.grow(steps);
        program.finish();
    }
}
