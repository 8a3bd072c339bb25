//! Elementwise arithmetic: one Rust expression an operation, in a closure over the registers of fragments.

use super::{Binding, Done, Emitter, Held, LayoutId, names};
use cutile_ir::op::{ArithOp, Attribute, BinaryOp, CompareOp, UnaryOp};
use cutile_ir::{Element, Op, Value};

/// The names of a closure's parameters.
const NAMES: [&str; 3] = ["a", "b", "c"];

impl<'k> Emitter<'k> {
    pub(super) fn arith(&mut self, op: &'k Op, kind: &ArithOp) -> Done {
        let r = op.results[0];
        let fast = self.f.fast_math;
        let to = self.element(r);
        match kind {
            ArithOp::Binary { op: b, lhs, rhs }
                if b.may_fault() && self.element(*lhs).is_integer() =>
            {
                self.division(op, *b, *lhs, *rhs);
            }
            ArithOp::Binary { op: BinaryOp::Div, lhs, rhs } if to == Element::F32 && !fast => {
                self.quotient(r, *lhs, *rhs);
            }
            ArithOp::Convert { x }
                if self.element(*x) == Element::F32
                    && matches!(to, Element::F16 | Element::BF16)
                    && self.uniform(*x).is_none() =>
            {
                self.narrow_pairs(r, *x, to);
            }
            ArithOp::Unary { op: u, x } => {
                let e = self.element(*x);
                self.elementwise(r, &[*x], |v| unary(*u, e, &v[0], fast));
            }
            ArithOp::Binary { op: b, lhs, rhs } => {
                let e = self.element(*lhs);
                self.elementwise(r, &[*lhs, *rhs], |v| binary(*b, e, &v[0], &v[1], fast));
            }
            ArithOp::Compare { op: c, lhs, rhs } => {
                self.elementwise(r, &[*lhs, *rhs], |v| compare(*c, &v[0], &v[1]));
            }
            ArithOp::Select { cond, on_true, on_false } => {
                self.elementwise(r, &[*cond, *on_true, *on_false], |v| {
                    format!("if {} {{ {} }} else {{ {} }}", v[0], v[1], v[2])
                });
            }
            ArithOp::Fma { a, b, c } => {
                self.elementwise(r, &[*a, *b, *c], |v| {
                    format!("Float::fma({}, {}, {})", v[0], v[1], v[2])
                });
            }
            ArithOp::Convert { x } => {
                let from = self.element(*x);
                self.elementwise(r, &[*x], |v| convert(from, to, &v[0]));
            }
            ArithOp::Bitcast { x } => {
                let from = self.element(*x);
                self.elementwise(r, &[*x], |v| bitcast(from, to, &v[0]));
            }
        }
        Ok(())
    }

    /// The result of an expression over elements: a scalar, one number for a whole tile, or a fragment.
    fn elementwise(&mut self, r: Value, operands: &[Value], each: impl Fn(&[String]) -> String) {
        if self.f.ty(r).as_tile().is_none() {
            let args: Vec<String> = operands.iter().map(|v| self.scalar(*v)).collect();
            let name = self.name(r);
            self.body.line(format!("let {name} = {};", each(&args)));
            self.bind(r, Binding::Scalar(name));
            return;
        }
        let lengths = self.lengths_of(operands);
        let layout = self.layout(r);
        let held = self.apply(r, layout, operands, each);
        self.bind_tile(r, held, lengths);
    }

    /// Applies an expression register by register.
    fn apply(
        &mut self,
        r: Value,
        layout: LayoutId,
        operands: &[Value],
        each: impl Fn(&[String]) -> String,
    ) -> Held {
        let mut arguments = Vec::new();
        let mut fragments = Vec::new();
        for v in operands {
            match self.uniform(*v) {
                Some(scalar) => arguments.push(scalar),
                None => {
                    arguments.push(NAMES[fragments.len()].to_string());
                    let operand = self.operand(*v, layout);
                    fragments.push(operand);
                }
            }
        }
        let expression = each(&arguments);
        let name = self.name(r);
        let value = match &fragments[..] {
            [] => {
                self.body.line(format!("let {name} = {expression};"));
                return Held::Uniform(name);
            }
            [a] => format!("{a}.map(|a| {expression})"),
            [a, b] => format!("{a}.zip({b}, |a, b| {expression})"),
            [a, b, c, ..] => format!("{a}.zip3({b}, {c}, |a, b, c| {expression})"),
        };
        self.body.line(format!("let {name} = {value};"));
        Held::Fragment(name, layout)
    }

    /// A quotient of f32: the fast way where it is exact in all registers, one branch a tile and not one an element.
    fn quotient(&mut self, r: Value, lhs: Value, rhs: Value) {
        let fragments: Vec<Value> =
            [lhs, rhs].into_iter().filter(|v| self.uniform(*v).is_none()).collect();
        if fragments.is_empty() {
            self.elementwise(r, &[lhs, rhs], |v| format!("math::div({}, {})", v[0], v[1]));
            return;
        }
        let lengths = self.lengths_of(&[lhs, rhs]);
        let layout = self.layout(r);
        let mut operands = Vec::new();
        for v in &fragments {
            let value = self.operand(*v, layout);
            operands.push(self.in_variable(value, "term"));
        }
        let name = self.name(r);
        let (a, b) = match (self.uniform(lhs), self.uniform(rhs)) {
            (Some(a), _) => (a, "a".to_string()),
            (_, Some(b)) => ("a".to_string(), b),
            _ => ("a".to_string(), "b".to_string()),
        };
        let apply = |f: &str| match &operands[..] {
            [x, y] => format!("{x}.zip({y}, |a, b| {f})"),
            all => format!("{}.map(|a| {f})", all.join("")),
        };
        let (divides, quotient) =
            (format!("math::divides({a}, {b})"), format!("math::quotient({a}, {b})"));
        self.body.open(format!("let {name} = if {}.all() {{", apply(&divides)));
        self.body.line(apply(&quotient));
        self.body.otherwise();
        self.body.line(apply(&format!("{a} / {b}")));
        self.body.close("};");
        self.bind_tile(r, Held::Fragment(name, layout), lengths);
    }

    /// f32 to halves, two registers an instruction.
    fn narrow_pairs(&mut self, r: Value, x: Value, to: Element) {
        let layout = self.layout(r);
        let count = self.mapping.get(layout).register_count();
        let from = Element::F32;
        if !count.is_multiple_of(2) {
            self.elementwise(r, &[x], |v| convert(from, to, &v[0]));
            return;
        }
        let lengths = self.lengths_of(&[x]);
        let value = self.operand(x, layout);
        let value = self.in_variable(value, "wide");
        let function = if to == Element::F16 { "f16_pair" } else { "bf16_pair" };
        let name = self.name(r);
        self.body.open(format!("let {name} = {{"));
        for i in (0..count).step_by(2) {
            let (a, b) = (i, i + 1);
            self.body.line(format!("let [r{a}, r{b}] = {function}({value}.r{a}, {value}.r{b});"));
        }
        let ty = self.fragment(layout);
        let names: Vec<String> = (0..count).map(|i| format!("r{i}")).collect();
        self.body.line(format!("{ty} {{ {} }}", names.join(", ")));
        self.body.close("};");
        self.bind_tile(r, Held::Fragment(name, layout), lengths);
    }

    /// The scalar that a value is in every element, if it is one.
    pub(super) fn uniform(&self, v: Value) -> Option<String> {
        match self.binding(v) {
            Binding::Scalar(s) => Some(s.clone()),
            Binding::Tile(super::Tile { held: Held::Uniform(s), .. }) => Some(s.clone()),
            _ => None,
        }
    }

    /// Integer division: one check for all registers, of valid elements only; then a divisor of 1 stands in for bad ones.
    fn division(&mut self, op: &Op, b: BinaryOp, lhs: Value, rhs: Value) {
        let method = match b {
            BinaryOp::Rem => "rem",
            BinaryOp::DivFloor => "div_floor",
            BinaryOp::DivCeil => "div_ceil",
            BinaryOp::RemEuclid => "rem_euclid",
            _ => "div",
        };
        let r = op.results[0];
        let safe_divisor = self.divisor(rhs).is_some_and(|n| n != 0 && n != -1);
        if safe_divisor {
            self.elementwise(r, &[lhs, rhs], |v| format!("Int::{method}({}, {})", v[0], v[1]));
            return;
        }
        let text = format!("integer `{}` by zero, or of the minimum by -1", b.word());
        let fragments = self.uniform(lhs).is_none() || self.uniform(rhs).is_none();
        let failed = if fragments && self.f.ty(r).as_tile().is_some() {
            let layout = self.layout(r);
            let (a, b) = (self.operand(lhs, layout), self.operand(rhs, layout));
            let bad = self.fresh("bad");
            self.body.line(format!("let {bad} = {a}.zip({b}, |a, b| Int::division_faults(a, b));"));
            let lengths = self.lengths_of(&[lhs, rhs]);
            self.any_valid(&bad, layout, &lengths)
        } else {
            let (a, b) = (self.uniform(lhs), self.uniform(rhs));
            format!("Int::division_faults({}, {})", a.unwrap_or_default(), b.unwrap_or_default())
        };
        let name = self.fresh("fails");
        self.body.line(format!("let {name} = {failed};"));
        self.check_each(op, &name, text);
        self.elementwise(r, &[lhs, rhs], |v| {
            format!(
                "Int::{method}({0}, if Int::division_faults({0}, {1}) {{ Int::ONE }} else {{ {1} }})",
                v[0], v[1]
            )
        });
    }

    /// A divisor's value, where it is a constant.
    fn divisor(&self, v: Value) -> Option<i128> {
        use cutile_ir::op::{CreateOp, Literal, OpKind};
        match &self.definitions.get(&v)?.kind {
            OpKind::Create(CreateOp::Constant { value: Literal::Int(n) }) => Some(*n),
            OpKind::Create(CreateOp::Splat { scalar }) => self.divisor(*scalar),
            _ => None,
        }
    }

    /// Whether any valid register of a fragment of bools holds.
    fn any_valid(&mut self, fragment: &str, layout: LayoutId, lengths: &[super::Length]) -> String {
        let count = self.mapping.get(layout).register_count();
        let rank = lengths.len();
        let terms: Vec<String> = (0..count)
            .map(|r| match self.valid(layout, r, lengths, 0..rank) {
                Some(valid) => format!("({fragment}.r{r} & ({valid}))"),
                None => format!("{fragment}.r{r}"),
            })
            .collect();
        terms.join(" | ")
    }

    /// The values 0, 1, 2, ... of a tile of rank 1.
    pub(super) fn iota(&mut self, r: Value) {
        let layout = self.layout(r);
        let at = self.coordinates(layout);
        let l = self.mapping.get(layout);
        let ty = names::repr(self.element(r));
        let each: Vec<String> = (0..l.register_count())
            .map(|i| format!("({}) as {ty}", super::lengths::sum(&at[0], l.register_coord(i)[0])))
            .collect();
        let value = self.fragment_of(layout, each);
        let name = self.name(r);
        self.body.line(format!("let {name} = {value};"));
        self.bind_tile(r, Held::Fragment(name, layout), vec![super::Length::Full]);
    }
}

fn unary(op: UnaryOp, e: Element, a: &str, fast: bool) -> String {
    let float = |name: &str| format!("Float::{name}({a})");
    match op {
        UnaryOp::Neg if e.is_float() => format!("-{a}"),
        UnaryOp::Neg => format!("{a}.wrapping_neg()"),
        UnaryOp::Not => format!("!{a}"),
        UnaryOp::Abs if e.is_float() => float("abs"),
        UnaryOp::Abs => format!("{a}.wrapping_abs()"),
        UnaryOp::Exp if fast && e == Element::F32 => format!("math::fast_exp({a})"),
        UnaryOp::Exp => float("exp"),
        UnaryOp::Exp2 => float("exp2"),
        UnaryOp::Log => float("log"),
        UnaryOp::Log2 => float("log2"),
        UnaryOp::Sqrt => float("sqrt"),
        UnaryOp::Rsqrt => float("rsqrt"),
        UnaryOp::Tanh => float("tanh"),
        UnaryOp::Sin => float("sin"),
        UnaryOp::Cos => float("cos"),
        UnaryOp::Erf => float("erf"),
        UnaryOp::Sigmoid => float("sigmoid"),
        UnaryOp::Floor => float("floor"),
        UnaryOp::Ceil => float("ceil"),
        UnaryOp::Round => float("round"),
        UnaryOp::RoundEven => float("round_even"),
        UnaryOp::Trunc => float("trunc"),
        UnaryOp::IsNan => float("is_nan"),
        UnaryOp::IsInf => float("is_inf"),
    }
}

fn binary(op: BinaryOp, e: Element, a: &str, b: &str, fast: bool) -> String {
    let float = |name: &str| format!("Float::{name}({a}, {b})");
    let arithmetic = |symbol: &str, wrapping: &str| {
        if e.is_float() { format!("{a} {symbol} {b}") } else { format!("{a}.{wrapping}({b})") }
    };
    match op {
        BinaryOp::Add => arithmetic("+", "wrapping_add"),
        BinaryOp::Sub => arithmetic("-", "wrapping_sub"),
        BinaryOp::Mul => arithmetic("*", "wrapping_mul"),
        BinaryOp::Div if fast && e == Element::F32 => format!("math::fast_div({a}, {b})"),
        BinaryOp::Div if e == Element::F32 => format!("math::div({a}, {b})"),
        BinaryOp::Div => format!("{a} / {b}"),
        BinaryOp::Rem => float("rem"),
        BinaryOp::Min if e.is_float() => float("min"),
        BinaryOp::Max if e.is_float() => float("max"),
        BinaryOp::Min => format!("{a}.min({b})"),
        BinaryOp::Max => format!("{a}.max({b})"),
        BinaryOp::Minimum => float("minimum"),
        BinaryOp::Maximum => float("maximum"),
        BinaryOp::Pow => float("pow"),
        BinaryOp::And => format!("{a} & {b}"),
        BinaryOp::Or => format!("{a} | {b}"),
        BinaryOp::Xor => format!("{a} ^ {b}"),
        BinaryOp::Shl => format!("Int::shl({a}, {b})"),
        BinaryOp::Shr => format!("Int::shr({a}, {b})"),
        // Integer divisions that may fault are written by `division`; floats have none of these.
        BinaryOp::DivFloor => format!("Int::div_floor({a}, {b})"),
        BinaryOp::DivCeil => format!("Int::div_ceil({a}, {b})"),
        BinaryOp::RemEuclid => format!("Int::rem_euclid({a}, {b})"),
    }
}

fn compare(op: CompareOp, a: &str, b: &str) -> String {
    let symbol = match op {
        CompareOp::Eq => "==",
        CompareOp::Ne => "!=",
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
    };
    format!("{a} {symbol} {b}")
}

/// An element as another type.
pub(super) fn convert(from: Element, to: Element, a: &str) -> String {
    if from == to {
        return a.to_string();
    }
    format!("<{} as Convert<{}>>::convert({a})", names::repr(from), names::repr(to))
}

fn bitcast(from: Element, to: Element, a: &str) -> String {
    format!("core::mem::transmute::<{}, {}>({a})", names::repr(from), names::repr(to))
}
