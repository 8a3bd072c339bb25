//! The book and the README, so that their code blocks are compiled and run as documentation tests. No code here.

macro_rules! documents {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(
            #[doc = include_str!(concat!("../../", $file))]
            pub mod $name {}
        )*
    };
}

documents! {
    readme: "README.md",
    start: "book/src/start.md",
    kernels: "book/src/kernels.md",
    shapes: "book/src/shapes.md",
    operations: "book/src/operations.md",
    devices: "book/src/devices.md",
    errors: "book/src/errors.md",
    custom: "book/src/custom.md",
    building: "book/src/building.md",
    testing: "book/src/testing.md",
    performance: "book/src/performance.md",
    environment: "book/src/environment.md",
    names: "book/src/names.md",
}
