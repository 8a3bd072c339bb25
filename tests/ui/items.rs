#[cutile::module]
mod kernels {
    use cutile::core::*;

    struct Pair(f32, f32);

    static COUNT: i32 = 0;

    type Row = f32;

    const NAME: &str = "rows";

    async fn later() {}

    trait Scale {}
}

fn main() {}
