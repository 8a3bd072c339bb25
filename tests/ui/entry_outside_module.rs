use cutile::core::*;

#[cutile::entry()]
fn scale<const S: [i32; 1]>(y: &mut Tensor<f32, S>) {
    y.store(y.load() * 2.0);
}

fn main() {}
