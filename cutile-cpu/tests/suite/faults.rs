//! Faults: which, where, with which operands, and that nothing else faults; and launches that are
//! refused.

use crate::harness::{output, program, run, tensor, try_run};
use cutile_cpu::{Arg, ArgumentError, Fault, FaultKind, RunError, SourceLocation, TensorArg};
use cutile_ir::Element;

fn fault(text: &str, args: &[Arg], grid: &[u32]) -> Fault {
    match try_run(text, args, grid) {
        Err(RunError::Fault(f)) => *f,
        other => panic!("a fault was expected, not {other:?}\n{text}"),
    }
}

/// Loads the tile that a scalar of that type names.
fn indexed(index: Element) -> String {
    format!(
        "files [\"src/k.rs\"]
        entry @indexed(%i: {index}, %x: tensor f32[?], %z: partitioned f32[?] by [4]) {{
            %vx = partition %x : view f32[4]
            %vz = partition %z : view f32[4]
            %zero = constant 0 : i32
            %t = load %vx [%i] clip : f32[4] loc 0:7:13
            store %t %vz [%zero]
            yield
        }}"
    )
}

#[test]
fn indices_are_judged_exactly() {
    let mut x = tensor(&[9], (0..9).map(|v| v as f32).collect());
    let mut z = output::<f32>(&[4]);
    let mut check = |index: Arg, element: Element, value: i128| {
        let args = [index, x.arg(), z.arg()];
        let text = indexed(element);
        if (0..3).contains(&value) {
            run(&text, &args, &[1]);
            return;
        }
        let f = fault(&text, &args, &[1]);
        assert_eq!((f.kind, f.operands), (FaultKind::IndexOutOfRange, [value, 3]));
        assert_eq!(f.loc, Some(SourceLocation { file: "src/k.rs".into(), line: 7, column: 13 }));
        assert_eq!(f.kernel, "indexed");
        let alone = fault(&text, &args, &[]).to_string();
        assert!(!alone.contains("program"), "{alone}");
        let text = f.to_string();
        assert!(text.contains("src/k.rs:7:13") && text.contains(&value.to_string()), "{text}");
        assert!(text.starts_with("kernel `indexed`: tile program [0]: "), "{text}");
    };
    for i in [0i32, 1, 2, 3, -1, i32::MAX, i32::MIN] {
        check(i.into(), Element::I32, i.into());
    }
    for i in [2i64, 3, -1, i64::MAX, i64::MIN, 1 << 62, 1 << 32] {
        check(i.into(), Element::I64, i.into());
    }
    for i in [0u64, u64::MAX, 1 << 63, (1 << 62) + 1] {
        check(i.into(), Element::U64, i.into());
    }
    for i in [2u8, 255] {
        check(i.into(), Element::U8, i.into());
    }
    for i in [2i8, -128] {
        check(i.into(), Element::I8, i.into());
    }
}

#[test]
fn stores_are_judged_too() {
    let text = "entry @f(%i: i32, %z: partitioned f32[?] by [4]) {
        %vz = partition %z : view f32[4]
        %one = constant 1.0 : f32[4]
        store %one %vz [%i]
        yield
    }";
    let mut z = output::<f32>(&[6]);
    let f = fault(text, &[2.into(), z.arg()], &[1]);
    assert_eq!((f.kind, f.operands), (FaultKind::IndexOutOfRange, [2, 2]));
    let poison = output::<f32>(&[1]).data[0];
    assert_eq!(z.data, [poison; 6]);
    run(text, &[1.into(), z.arg()], &[1]);
    assert_eq!(z.data, [poison, poison, poison, poison, 1.0, 1.0]);
}

/// A tensor of more than 2^31 elements, all at one address: the last tile is found, its neighbour is
/// a fault, and what does not fit i32 is one too.
#[test]
fn huge_extents_do_not_wrap() {
    let mut byte = [42u8; 16];
    let mut huge = |extent: i64| {
        Arg::from(TensorArg {
            base: byte.as_mut_ptr(),
            element: Element::U8,
            extents: [extent].into_iter().collect(),
            strides: [0].into_iter().collect(),
        })
    };
    let text = "entry @f(%i: i64, %x: tensor u8[?], %z: partitioned u8[?] by [16]) {
        %vx = partition %x : view u8[16]
        %vz = partition %z : view u8[16]
        %zero = constant 0 : i32
        %t = load %vx [%i] clip : u8[16]
        store %t %vz [%zero]
        yield
    }";
    let last = (1i64 << 31) / 16 - 1;
    let mut z = output::<u8>(&[16]);
    run(text, &[last.into(), huge((1 << 31) - 8), z.arg()], &[1]);
    // The last tile has 8 of 16 elements.
    let poison = output::<u8>(&[1]).data[0];
    assert_eq!(z.data, [[42; 8], [poison; 8]].concat());
    let f = fault(text, &[(last + 1).into(), huge((1 << 31) - 8), z.arg()], &[1]);
    assert_eq!(f.operands, [i128::from(last) + 1, i128::from(last) + 1]);
    let f = fault(text, &[i64::MAX.into(), huge(i64::MAX), z.arg()], &[1]);
    assert_eq!(f.kind, FaultKind::IndexOutOfRange);

    let count = "entry @f(%x: tensor u8[?], %z: partitioned i32[?] by [1]) {
        %vx = partition %x : view u8[16]
        %vz = partition %z : view i32[1]
        %zero = constant 0 : i32
        %n = tile_count %vx 0 : i32
        %t = splat %n : i32[1]
        store %t %vz [%zero]
        yield
    }";
    let mut z = output::<i32>(&[1]);
    run(count, &[huge((1 << 31) - 8), z.arg()], &[1]);
    assert_eq!(z.data, [134_217_728]);
    run(count, &[huge((1 << 31) + 16), z.arg()], &[1]);
    assert_eq!(z.data, [134_217_729]);
    let f = fault(count, &[huge(1 << 40), z.arg()], &[1]);
    assert_eq!((f.kind, f.operands[0]), (FaultKind::ExtentOverflow, 1 << 36));
    let extent = count.replace("tile_count %vx 0", "extent %x 0");
    let f = fault(&extent, &[huge((1 << 31) + 16), z.arg()], &[1]);
    assert_eq!((f.kind, f.operands[0]), (FaultKind::ExtentOverflow, (1 << 31) + 16));
}

/// The report: a product of indices that would wrap to a legal one.
#[test]
fn products_of_indices_may_wrap_in_i32_only_visibly() {
    let text = "entry @f(%i: i32, %x: tensor f32[?], %z: partitioned f32[?] by [4]) {
        %vx = partition %x : view f32[4]
        %vz = partition %z : view f32[4]
        %zero = constant 0 : i32
        %far = constant 2000000000 : i32
        %j = binary mul %i %far : i32
        %t = load %vx [%j] clip : f32[4]
        store %t %vz [%zero]
        yield
    }";
    let mut x = tensor(&[8], vec![1.0f32; 8]);
    let mut z = output::<f32>(&[4]);
    run(text, &[0.into(), x.arg(), z.arg()], &[1]);
    let f = fault(text, &[1.into(), x.arg(), z.arg()], &[1]);
    assert_eq!(f.operands, [2_000_000_000, 2]);
    // i32 wraps by the rules of the language; the index is what it then is.
    let f = fault(text, &[2.into(), x.arg(), z.arg()], &[1]);
    assert_eq!(f.operands, [i128::from(4_000_000_000u32 as i32), 2]);
}

fn dividing(op: &str, element: Element) -> String {
    crate::harness::elementwise_text(&format!("binary {op} %a %b"), &[element; 2], element, 8)
}

#[test]
fn divisions_fault_in_valid_lanes_only() {
    for op in ["div", "rem", "div_floor", "div_ceil", "rem_euclid"] {
        // 11 elements in tiles of 8: the last tile's other lanes hold whatever they hold.
        let mut a = tensor(&[11], (0..11).collect::<Vec<i32>>());
        let mut b = tensor(&[11], vec![3; 11]);
        let mut z = output::<i32>(&[11]);
        run(&dividing(op, Element::I32), &[a.arg(), b.arg(), z.arg()], &[2]);
        b.data[10] = 0;
        let f = fault(&dividing(op, Element::I32), &[a.arg(), b.arg(), z.arg()], &[2]);
        assert_eq!((f.kind, f.operands), (FaultKind::DivisionByZero, [10, 0]), "{op}");
        assert_eq!(f.program, [1]);
        assert!(f.message.contains(op), "{}", f.message);
        a.data[9] = i32::MIN;
        b.data[9] = -1;
        let f = fault(&dividing(op, Element::I32), &[a.arg(), b.arg(), z.arg()], &[2]);
        assert_eq!(
            (f.kind, f.operands),
            (FaultKind::DivisionOverflow, [i32::MIN.into(), -1]),
            "{op}"
        );
    }
    // The shorter operand decides which lanes there are.
    let mut a = tensor(&[8], vec![1u8; 8]);
    let mut b = tensor(&[5], vec![1u8; 5]);
    let mut z = output::<u8>(&[8]);
    run(&dividing("div", Element::U8), &[a.arg(), b.arg(), z.arg()], &[1]);
    let poison = output::<u8>(&[1]).data[0];
    assert_eq!(z.data, [[1; 5].as_slice(), &[poison; 3]].concat());
}

/// A quotient whose lanes are needed only in part still faults in all its valid ones.
#[test]
fn divisions_fault_though_a_narrower_tile_uses_them() {
    let text = "entry @f(%a: tensor i32[?], %b: tensor i32[?], %c: tensor i32[?], %z: partitioned i32[?] by [8]) {
        %va = partition %a : view i32[8]
        %vb = partition %b : view i32[8]
        %vc = partition %c : view i32[8]
        %vz = partition %z : view i32[8]
        %i = constant 0 : i32
        %ta = load %va [%i] clip : i32[8]
        %tb = load %vb [%i] clip : i32[8]
        %tc = load %vc [%i] clip : i32[8]
        %q = binary div %ta %tb : i32[8]
        %s = binary add %q %tc : i32[8]
        store %s %vz [%i]
        yield
    }";
    let mut a = tensor(&[8], vec![6; 8]);
    let mut b = tensor(&[8], vec![2, 2, 2, 2, 2, 2, 2, 0]);
    let mut c = tensor(&[3], vec![10, 20, 30]);
    let mut z = output::<i32>(&[8]);
    let f = fault(text, &[a.arg(), b.arg(), c.arg(), z.arg()], &[1]);
    assert_eq!(f.operands, [6, 0]);
    b.data[7] = 1;
    run(text, &[a.arg(), b.arg(), c.arg(), z.arg()], &[1]);
    let poison = output::<i32>(&[1]).data[0];
    assert_eq!(z.data, [[13, 23, 33].as_slice(), &[poison; 5]].concat());
}

#[test]
fn float_division_never_faults() {
    let got = crate::harness::elementwise::<f32, f32>(
        "binary div %a %b",
        (Element::F32, Element::F32),
        &[&[1.0, -1.0], &[0.0, 0.0]],
    );
    assert_eq!(got, [f32::INFINITY, f32::NEG_INFINITY]);
}

#[test]
fn assertions_and_steps() {
    let text = "files [\"k.rs\"]
        entry @f(%n: i32) {
        %zero = constant 0 : i32
        %ok = compare gt %n %zero : bool
        assert %ok \"n must be positive\" loc 0:3:5
        for %zero %n %n [] (%k: i32) { yield }
        yield
    }";
    run(text, &[1.into()], &[1]);
    let f = fault(text, &[0.into()], &[1]);
    assert_eq!((f.kind, f.message.as_str()), (FaultKind::Assertion, "n must be positive"));
    let step = "entry @f(%n: i32) {
        %zero = constant 0 : i32
        for %zero %zero %n [] (%k: i32) { yield }
        yield
    }";
    run(step, &[1.into()], &[1]);
    for n in [0, -3] {
        let f = fault(step, &[n.into()], &[1]);
        assert_eq!((f.kind, f.operands), (FaultKind::LoopStep, [n.into(), 1]));
    }
}

/// Whatever the threads do, the first program that faults is reported; programs before it ran.
#[test]
fn the_first_fault_in_grid_order_is_reported() {
    let text = "entry @f(%x: tensor i32[?, ?], %z: partitioned i32[?, ?] by [1, 1]) {
        %vx = partition %x : view i32[1, 1]
        %vz = partition %z : view i32[1, 1]
        %i = program_id 0 : i32
        %j = program_id 1 : i32
        %t = load %vx [%i, %j] clip : i32[1, 1]
        %s = to_scalar %t : i32
        %zero = constant 0 : i32
        %ok = compare eq %s %zero : bool
        assert %ok \"not zero\"
        store %t %vz [%i, %j]
        yield
    }";
    let (rows, columns) = (40, 50);
    for first in [3usize, 777, 1999] {
        let mut data = vec![0; rows * columns];
        for (i, v) in data.iter_mut().enumerate().skip(first) {
            *v = i32::from(i == first || i % 3 == 0);
        }
        let mut x = tensor(&[rows as i64, columns as i64], data);
        let mut z = output::<i32>(&[rows as i64, columns as i64]);
        for _ in 0..20 {
            let f = fault(text, &[x.arg(), z.arg()], &[rows as u32, columns as u32]);
            assert_eq!(f.program, [(first / columns) as u32, (first % columns) as u32]);
            assert_eq!(z.data[..first], vec![0; first]);
        }
    }
}

/// A fault stops programs that would not end by themselves.
#[test]
fn a_fault_ends_endless_programs() {
    let text = "entry @f(%z: partitioned i32[?] by [1]) {
        %zero = constant 0 : i32
        %i = program_id 0 : i32
        %first = compare eq %i %zero : bool
        %more = unary not %first : bool
        while [] () { yield %more } () { yield }
        assert %more \"the first\"
        yield
    }";
    if cutile_cpu::max_threads() < 2 {
        return;
    }
    // More programs than the harness gives to one thread.
    let mut z = output::<i32>(&[1000]);
    assert_eq!(fault(text, &[z.arg()], &[1000]).program, [0]);
}

#[test]
fn launches_that_do_not_suit_are_refused() {
    let text = "entry @f(%a: f32, %x: tensor f32[?, 4], %z: partitioned f32[?] by [4]) {
        yield
    }";
    let p = program(text);
    let mut x = tensor(&[2, 4], vec![0.0f32; 8]);
    let mut wide = tensor(&[2, 4], vec![0.0f64; 8]);
    let mut other = tensor(&[2, 5], vec![0.0f32; 10]);
    let mut z = output::<f32>(&[4]);
    let refused = |args: &[Arg], grid: &[u32]| {
        // SAFETY: the kernel touches nothing.
        match unsafe { p.run(args, grid, 1) } {
            Err(RunError::Argument(e)) => e,
            other => panic!("{other:?}"),
        }
    };
    let a = Arg::from(1.0f32);
    let e = refused(&[a.clone(), x.arg()], &[1]);
    assert_eq!(e, ArgumentError::Count { kernel: "f".into(), expected: 3, given: 2 });
    for (args, words) in [
        (
            [1.0f64.into(), x.arg(), z.arg()],
            "parameter `a` of kernel `f` is a scalar f32, the argument is a scalar f64",
        ),
        (
            [a.clone(), wide.arg(), z.arg()],
            "parameter `x` of kernel `f` is a tensor f32[-1, 4], the argument is a tensor f64[2, 4]",
        ),
        (
            [a.clone(), other.arg(), z.arg()],
            "parameter `x` of kernel `f` is a tensor f32[-1, 4], the argument is a tensor f32[2, 5]",
        ),
        (
            [a.clone(), z.arg(), z.arg()],
            "parameter `x` of kernel `f` is a tensor f32[-1, 4], the argument is a tensor f32[4]",
        ),
        (
            [x.arg(), x.arg(), z.arg()],
            "parameter `a` of kernel `f` is a scalar f32, the argument is a tensor f32[2, 4]",
        ),
    ] {
        assert_eq!(refused(&args, &[1]).to_string(), words);
    }
    let mut apart = x.arg();
    if let Arg::Tensor(t) = &mut apart {
        t.base = t.base.wrapping_add(2);
    }
    let e = refused(&[a.clone(), apart, z.arg()], &[1]);
    assert!(matches!(e, ArgumentError::Misaligned { element: Element::F32, .. }), "{e}");
    let args = [a, x.arg(), z.arg()];
    assert_eq!(refused(&args, &[1; 7]), ArgumentError::GridRank { rank: 7 });
    assert_eq!(
        refused(&args, &[1, u32::MAX]),
        ArgumentError::GridExtent { axis: 1, count: u32::MAX }
    );
    assert!(matches!(refused(&args, &[i32::MAX as u32; 3]), ArgumentError::GridSize { .. }));
    // SAFETY: the kernel touches nothing.
    unsafe {
        assert_eq!(p.run(&args, &[], 4), Ok(()));
        assert_eq!(p.run(&args, &[3, 0], 4), Ok(()));
    }
}

/// Tensors with a zero dimension: nothing to launch over, and any tile index is outside.
#[test]
fn empty_tensors() {
    let nowhere = |extents: &[i64]| {
        Arg::from(TensorArg::contiguous(
            std::ptr::dangling_mut::<f32>().cast(),
            Element::F32,
            extents,
        ))
    };
    let mut z = output::<f32>(&[4]);
    let f = fault(&indexed(Element::I32), &[0.into(), nowhere(&[0]), z.arg()], &[1]);
    assert_eq!(f.operands, [0, 0]);
    // A sum over no tiles is the identity.
    let text = "entry @f(%x: tensor f32[?, ?], %z: partitioned f32[?] by [4]) {
        %vx = partition %x : view f32[4, 8]
        %vz = partition %z : view f32[4]
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %n = tile_count %vx 1 : i32
        %least = constant -inf : f32[4]
        %r = for %zero %n %one [%least] (%k: i32, %m: f32[4]) {
            %t = load %vx [%zero, %k] clip : f32[4, 8]
            %c = reduce max 1 %t : f32[4]
            %d = binary max %m %c : f32[4]
            yield %d
        } : f32[4]
        store %r %vz [%zero]
        yield
    }";
    run(text, &[nowhere(&[4, 0]), z.arg()], &[1]);
    assert_eq!(z.data, [f32::NEG_INFINITY; 4]);
}
