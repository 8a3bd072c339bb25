use cutile::prelude::*;

fn main() {
    let _ = api::zeros::<f32>(4);
    let _ = api::zeros::<f32>((2, 2));
    let _ = api::zeros::<String>([4]);
    let a = api::zeros::<f32>([4]);
    let _ = api::zip(a);
}
