//! Matrix products by kernels that rustc compiled (`tests/ptx`), all checks on, against plain sums.

use crate::harness::Device;
use ptx_emulator::{ElementType, Launch, Options, Report, Stats, Swizzle, TensorMap};

/// A deterministic stream of small multiples of 1/8, exact in bfloat and in e4m3: every partial sum is exact too.
struct Values(u64);

impl Values {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) % 17) as f32 / 8.0 - 1.0
    }

    fn matrix(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }
}

fn bf16(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| half::bf16::from_f32(*v).to_le_bytes()).collect()
}

/// Multiples of 1/8 in [-1, 1] as e4m3 (sign, exponent with bias 7, three bits).
fn e4m3(values: &[f32]) -> Vec<u8> {
    let one = |v: f32| {
        let sign = if v.is_sign_negative() && v != 0.0 { 0x80 } else { 0 };
        let bits = v.abs().to_bits();
        let code = if v == 0.0 {
            0
        } else {
            ((bits >> 23) as i32 - 127 + 7) << 3 | (bits >> 20 & 7) as i32
        };
        sign | code as u8
    };
    values.iter().map(|v| one(*v)).collect()
}

/// C = A (m x k) * B, with B stored n x k, or k x n.
fn product(a: &[f32], b: &[f32], (m, n, k): (usize, usize, usize), b_is_kn: bool) -> Vec<f32> {
    let mut out = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            let at = |kk: usize| if b_is_kn { b[kk * n + j] } else { b[j * k + kk] };
            out.push(
                (0..k).map(|kk| f64::from(a[i * k + kk]) * f64::from(at(kk))).sum::<f64>() as f32
            );
        }
    }
    out
}

fn map(
    address: u64,
    element: ElementType,
    rows: u64,
    columns: u64,
    box_columns: u32,
    box_rows: u32,
) -> [u8; 128] {
    TensorMap {
        element,
        address,
        extents: vec![columns, rows],
        strides: vec![columns * u64::from(element.bytes())],
        box_extents: vec![box_columns, box_rows],
        element_strides: vec![1; 2],
        swizzle: Swizzle::B128,
        nan_fill: false,
    }
    .encode()
    .unwrap()
}

fn check(device: &Device, c: u64, expected: &[f32], n: usize) {
    let found: Vec<u8> = device.download(c, expected.len() * 2);
    for (i, (bits, expected)) in found.chunks_exact(2).zip(expected).enumerate() {
        let value = half::bf16::from_le_bytes([bits[0], bits[1]]);
        assert_eq!(value, half::bf16::from_f32(*expected), "row {} column {}", i / n, i % n);
    }
}

pub(crate) struct Case<'t> {
    pub(crate) text: &'t str,
    pub(crate) kernel: &'static str,
    pub(crate) shape: (usize, usize, usize),
    pub(crate) b_is_kn: bool,
    pub(crate) fp8: bool,
    pub(crate) cluster: u32,
    pub(crate) blocks: u32,
}

/// Runs a kernel of the 128 x 128 x (128 bytes) family and checks its result.
pub(crate) fn warp_specialised(case: &Case<'_>) -> Result<Stats, Box<Report>> {
    let device = Device::new(case.text);
    let (m, n, k) = case.shape;
    let mut values = Values(42);
    let (a, b) = (values.matrix(m * k), values.matrix(n * k));
    let encode = if case.fp8 { e4m3 } else { bf16 };
    let (at_a, at_b, at_c) =
        (device.upload(&encode(&a)), device.upload(&encode(&b)), device.alloc(m * n * 2));
    let (element, wide) = if case.fp8 { (ElementType::U8, 128) } else { (ElementType::Bf16, 64) };
    let (m64, n64, k64) = (m as u64, n as u64, k as u64);
    let mut params = map(at_a, element, m64, k64, wide, 128).to_vec();
    params.extend(match case.b_is_kn {
        true => map(at_b, element, k64, n64, 64, 64),
        false => map(at_b, element, n64, k64, wide, 128 / case.cluster),
    });
    params.extend(map(at_c, ElementType::Bf16, m64, n64, 64, 64));
    for value in [m as u32, n as u32, k as u32, 8] {
        params.extend(value.to_le_bytes());
    }
    let launch = Launch {
        dynamic_shared: 3 * 32768 + 32768 + 256 + 1024,
        ..Launch::new([case.blocks, 1, 1], [384, 1, 1])
    };
    let stats = device.program.launch(case.kernel, &launch, &params, &Options::default())?;
    check(&device, at_c, &product(&a, &b, case.shape, case.b_is_kn), n);
    Ok(stats)
}

#[test]
fn wgmma_with_tma_pipeline() {
    let text = include_str!("../ptx/gemm_nt.ptx");
    let case = Case {
        text,
        kernel: "gemm_nt",
        shape: (256, 128, 320),
        b_is_kn: false,
        fp8: false,
        cluster: 1,
        blocks: 2,
    };
    let stats = warp_specialised(&case).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(stats.blocks, 2);
}

#[test]
fn wgmma_on_ragged_shapes() {
    let text = include_str!("../ptx/gemm_nt.ptx");
    let case = Case {
        text,
        kernel: "gemm_nt",
        shape: (200, 136, 72),
        b_is_kn: false,
        fp8: false,
        cluster: 1,
        blocks: 2,
    };
    warp_specialised(&case).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn wgmma_with_multicast_in_a_cluster() {
    let text = include_str!("../ptx/gemm_nn_cluster.ptx");
    let case = Case {
        text,
        kernel: "gemm_nn_cluster",
        shape: (256, 128, 192),
        b_is_kn: true,
        fp8: false,
        cluster: 2,
        blocks: 2,
    };
    warp_specialised(&case).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn wgmma_of_eight_bit_floats() {
    let text = include_str!("../ptx/gemm_f8.ptx");
    let case = Case {
        text,
        kernel: "gemm_f8",
        shape: (128, 128, 256),
        b_is_kn: false,
        fp8: true,
        cluster: 1,
        blocks: 2,
    };
    warp_specialised(&case).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn mma_with_asynchronous_copies() {
    let device = Device::new(include_str!("../ptx/gemm_mma.ptx"));
    let (m, n, k) = (128, 128, 160);
    let mut values = Values(7);
    let (a, b) = (values.matrix(m * k), values.matrix(n * k));
    let (at_a, at_b, at_c) =
        (device.upload(&bf16(&a)), device.upload(&bf16(&b)), device.alloc(m * n * 2));
    let mut params = Vec::new();
    for address in [at_a, at_b, at_c] {
        params.extend(address.to_le_bytes());
    }
    for value in [m as u32, n as u32, k as u32] {
        params.extend(value.to_le_bytes());
    }
    let launch = Launch { dynamic_shared: 65536, ..Launch::new([1, 1, 1], [256, 1, 1]) };
    device
        .program
        .launch("gemm_mma", &launch, &params, &Options::default())
        .unwrap_or_else(|e| panic!("{e}"));
    check(&device, at_c, &product(&a, &b, (m, n, k), false), n);
}
