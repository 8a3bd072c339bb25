#[cutile::module]
mod kernels {
    use cutile::core::*;

    #[cutile::entry()]
    fn k(y: &mut Tensor<f32, { [4, 8] }>) {
        let t = y.load();
        let wide = t.broadcast(const_shape![8, 8]);
        let flat = t.reshape(const_shape![31]);
        let turned = t.permute(const_array![0, 0]);
        let one = t.to_scalar();
        let axis = program_id(0);
        let rows = reduce_sum(t, axis);
    }
}

fn main() {}
