use cutile::prelude::*;

#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    pub fn scale<const S: [i32; 1]>(k: f32, x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, S>) {
        y.store(load_tile_like(x, y) * k);
    }

    #[cutile::entry()]
    pub fn blocks<const B: i32>(x: &Tensor<f32, { [-1] }>, y: &mut Tensor<f32, { [4] }>) {
        y.store(full(x.partition(const_shape![B]).grid()[0] as f32, y.shape()));
    }
}

fn main() {
    let x = api::ones::<f32>([16]);
    let y = api::ones::<f32>([16]);
    let _ = kernels::scale(2.0, x, y);
}
