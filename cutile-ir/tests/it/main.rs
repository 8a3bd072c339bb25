//! Tests of the tile IR over its text form.

mod link;
mod specialise;
mod text;
mod verify;

/// The spec's saxpy as the front end lowers it.
pub const SAXPY: &str = r#"files ["src/kernels.rs"]
entry @saxpy<const S: [i32; 2]>(%a: f32, %x: tensor f32[?, ?], %y: partitioned f32[?, ?] by [S.0, S.1]) {
    %tile_a = splat %a : f32[S.0, S.1] loc 0:6:34
    %4 = partition %x : view f32[S.0, S.1]
    %5 = program_id 0 : i32
    %6 = program_id 1 : i32
    %tile_x = load %4 [%5, %6] clip : f32[S.0, S.1] loc 0:7:34
    %8 = partition %y : view f32[S.0, S.1]
    %tile_y = load %8 [%5, %6] clip : f32[S.0, S.1] loc 0:8:34
    %10 = binary mul %tile_a %tile_x : f32[S.0, S.1] loc 0:9:16
    %11 = binary add %10 %tile_y : f32[S.0, S.1] loc 0:9:16
    store %11 %8 [%5, %6] loc 0:9:5
    yield
}
"#;

/// Parses and specialises; the arguments in text form.
pub fn specialised(text: &str, args: &str) -> Result<cutile_ir::Kernel, Vec<String>> {
    let module = cutile_ir::Module::parse(text).map_err(|e| vec![e.to_string()])?;
    let args = cutile_ir::Specialisation::parse(args, &module.functions[0])
        .map_err(|e| vec![e.to_string()])?;
    cutile_ir::specialise(&module, &args).map_err(|e| e.iter().map(ToString::to_string).collect())
}
