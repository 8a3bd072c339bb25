//! Units put together: helpers of other modules, consts that rustc computes.

use cutile_ir::blob::Unit;
use cutile_ir::{Specialisation, link, specialise};

fn unit<'a>(name: &'a str, text: &'a str, externs: &[i64], imports: Vec<Unit<'a>>) -> Unit<'a> {
    Unit { name, text, specialisations: "", externs: externs.to_vec(), imports }
}

const LEAF: &str = "files [\"leaf.rs\"]\nexterns [\"N\"]\nhelper @fill() {
    %k = dim extern.0 : i32 loc 0:3:1
    yield %k
}\n";
const MIDDLE: &str =
    "files [\"middle.rs\"]\nimports [\"leaf::fill\"]\nexterns [\"N\"]\nhelper @sum() {
    %a = call $0 [] [] [] : i32
    %b = call @own [] [] [] : i32
    %c = binary add %a %b : i32
    yield %c
}
helper @own() {
    %k = dim (extern.0 * 1000) : i32 loc 0:9:1
    yield %k
}\n";
const ENTRY: &str = "imports [\"middle::sum\", \"fill\"]\nentry @f(%y: partitioned i32[?] by [8]) {
    %a = call $0 [] [] [] : i32
    %b = call $1 [] [] [] : i32
    %c = binary add %a %b : i32
    %t = splat %c : i32[8]
    %w = partition %y : view i32[8]
    %i = program_id 0 : i32
    store %t %w [%i]
    yield
}\n";

#[test]
fn each_module_keeps_its_own_consts_and_files() {
    let leaf = |n: i64| unit("leaf::fill", LEAF, &[n], vec![]);
    let middle = unit("middle::sum", MIDDLE, &[128], vec![leaf(64)]);
    let module = link(&unit("f", ENTRY, &[], vec![middle, leaf(5)])).unwrap();
    let names: Vec<&str> = module.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["f", "middle::sum", "middle::sum::own", "middle::sum::leaf::fill", "fill"]);
    let kernel = specialise(&module, &Specialisation::default()).unwrap();
    let text = kernel.to_string();
    for n in ["constant 64 : i32", "constant 128000 : i32", "constant 5 : i32"] {
        assert!(text.contains(n), "{n}\n{text}");
    }
    let mut places = Vec::new();
    kernel.function().body.for_each_op(&mut |op| places.extend(kernel.place(op)));
    assert_eq!(places, ["leaf.rs:3:1", "middle.rs:9:1", "leaf.rs:3:1"]);
}

#[test]
fn a_unit_that_lacks_its_parts_is_an_error() {
    let e = link(&unit("f", ENTRY, &[], vec![])).unwrap_err().to_string();
    assert!(e.contains("`f` has 0 imported helpers where its text names 2"), "{e}");
    let e = link(&unit("leaf::fill", LEAF, &[], vec![])).unwrap_err().to_string();
    assert!(e.contains("has 0 consts where its text names 1"), "{e}");
    assert!(link(&unit("g", "", &[], vec![])).is_err());
    assert!(link(&unit("g", "entry @g() {", &[], vec![])).is_err());
}
