//! Programs put together from instructions that all parse: what a text seldom reaches by chance. The bytes choose the
//! instructions, their guards, registers, constants and labels.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ptx_emulator::{Checks, Launch, Memory, Module, Options};

/// `$p`, `$h`, `$r`, `$d`, `$f` become registers, `$i` a constant, `$l` a label, `$a` an address in shared memory, `$g` in
/// global memory.
const INSTRUCTIONS: &[&str] = &[
    "mov.u32 $r, $i",
    "mov.u64 $d, $i",
    "mov.u32 $r, %tid.x",
    "mov.u32 $r, %laneid",
    "mov.u32 $r, %clock",
    "add.s32 $r, $r, $r",
    "mul.wide.u32 $d, $r, $i",
    "mad.lo.s64 $d, $d, $d, $d",
    "div.s32 $r, $r, $r",
    "rem.u64 $d, $d, $d",
    "shl.b32 $r, $r, $r",
    "shr.s64 $d, $d, $r",
    "bfe.s64 $d, $d, $r, $r",
    "bfi.b32 $r, $r, $r, $r, $r",
    "prmt.b32 $r, $r, $r, $r",
    "fns.b32 $r, $r, $r, $r",
    "lop3.and.b32 $r|$p, $r, $r, $r, 0x96, $p",
    "dp4a.s32.u32 $r, $r, $r, $r",
    "sad.s16 $h, $h, $h, $h",
    "add.cc.u32 $r, $r, $r",
    "addc.u64 $d, $d, $d",
    "cvt.rzi.s32.f32 $r, $f",
    "cvt.rn.f32.s64 $f, $d",
    "cvt.rn.f16x2.f32 $r, $f, $f",
    "cvt.sat.u8.s32 $r, $r",
    "cvt.rn.satfinite.e4m3x2.f32 $h, $f, $f",
    "cvt.pack.sat.s8.s32.b32 $r, $r, $r, $r",
    "fma.rn.f32 $f, $f, $f, $f",
    "div.rn.f32 $f, $f, $f",
    "ex2.approx.ftz.f32 $f, $f",
    "sin.approx.f32 $f, $f",
    "fma.rn.relu.bf16x2 $r, $r, $r, $r",
    "add.rn.f64 $d, $d, $d",
    "min.NaN.f16x2 $r, $r, $r",
    "setp.lt.s32 $p|$p, $r, $r",
    "setp.eq.or.f32 $p, $f, $f, !$p",
    "selp.b32 $r, $r, $r, $p",
    "slct.f32.s32 $f, $f, $f, $r",
    "testp.normal.f32 $p, $f",
    "and.pred $p, $p, $p",
    "bra $l",
    "@$p bra $l",
    "@!$p bra $l",
    "ret",
    "exit",
    "ld.shared.u32 $r, [$a]",
    "ld.shared.v4.u32 {$r, $r, $r, $r}, [$a]",
    "st.shared.u32 [$a], $r",
    "st.shared.v2.u64 [$a], {$d, $d}",
    "ld.global.u32 $r, [$g]",
    "ld.relaxed.gpu.global.u32 $r, [$g]",
    "ld.acquire.gpu.global.u64 $d, [$g]",
    "st.release.gpu.global.u32 [$g], $r",
    "st.global.v4.f32 [$g], {$f, $f, $f, $f}",
    "st.u8 [$d], $r",
    "ld.u64 $d, [$d]",
    "st.local.u32 [stack+$i], $r",
    "atom.shared.add.u32 $r, [$a], $r",
    "atom.global.cas.b64 $d, [$g], $d, $d",
    "atom.acq_rel.gpu.global.exch.b32 $r, [$g], $r",
    "red.global.v2.f32.add [$g], {$f, $f}",
    "atom.global.add.noftz.f16x2 $r, [$g], $r",
    "fence.acq_rel.gpu",
    "fence.sc.cta",
    "membar.gl",
    "fence.proxy.async",
    "bar.sync 0",
    "bar.sync $i, 64",
    "bar.arrive $i, 64",
    "barrier.sync $r",
    "bar.red.popc.u32 $r, 0, $p",
    "barrier.red.and.pred $p, 1, $p",
    "barrier.cluster.arrive.aligned",
    "barrier.cluster.wait",
    "bar.warp.sync -1",
    "bar.warp.sync $r",
    "shfl.sync.bfly.b32 $r|$p, $r, $i, 31, -1",
    "shfl.sync.idx.b32 $r, $r, $r, $r, $r",
    "vote.sync.ballot.b32 $r, $p, -1",
    "match.any.sync.b32 $r, $r, -1",
    "redux.sync.add.s32 $r, $r, -1",
    "elect.sync $r|$p, -1",
    "activemask.b32 $r",
    "nanosleep.u32 10",
    "mbarrier.init.shared::cta.b64 [$a], $i",
    "mbarrier.inval.shared::cta.b64 [$a]",
    "mbarrier.arrive.shared::cta.b64 $d, [$a]",
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$a], $i",
    "mbarrier.arrive_drop.shared::cta.b64 $d, [$a]",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$a], $i",
    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [$a], $i",
    "mbarrier.test_wait.shared::cta.b64 $p, [$a], $d",
    "mbarrier.try_wait.parity.shared::cta.b64 $p, [$a], $i",
    "mbarrier.pending_count.b64 $r, $d",
    "cp.async.ca.shared.global [$a], [$g], 4",
    "cp.async.cg.shared.global [$a], [$g], 16, $r",
    "cp.async.commit_group",
    "cp.async.wait_group 1",
    "cp.async.wait_all",
    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$a]",
    "cp.async.mbarrier.arrive.shared::cta.b64 [$a]",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$a], [$g], $i, [$a]",
    "cp.async.bulk.global.shared::cta.bulk_group [$g], [$a], $i",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [$a], [$g], $i, [$a], $h",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$r], [$a], $i, [$r]",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [$g], [$a], $i",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group.read 0",
    "cp.async.bulk.wait_group 0",
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$a], [$d, {$r, $r}], [$a]",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [$r], $r, [$r]",
    "mapa.shared::cluster.u32 $r, $r, $i",
    "ld.shared::cluster.u32 $r, [$r]",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$r, $r, $r, $r}, [$a]",
    "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [$a], {$r, $r}",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {$f, $f, $f, $f}, {$r, $r, $r, $r}, {$r, $r}, {$f, $f, $f, $f}",
    "wgmma.fence.sync.aligned",
    "wgmma.commit_group.sync.aligned",
    "wgmma.wait_group.sync.aligned 0",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$f, $f, $f, $f}, $d, $d, $p, 1, 1, 0, 0",
    "setmaxnreg.inc.sync.aligned.u32 64",
    "griddepcontrol.wait",
    "griddepcontrol.launch_dependents",
    "isspacep.shared $p, $d",
    "cvta.shared.u64 $d, $d",
    "call.uni f",
    "{ .param .b64 x; .param .b64 y; st.param.b64 [x], $d; call.uni (y), malloc, (x); ld.param.b64 $d, [y]; }",
    "{ .param .b64 x; st.param.b64 [x], $d; call.uni free, (x); }",
    "trap",
];

const CONSTANTS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "8",
    "16",
    "31",
    "32",
    "48",
    "64",
    "128",
    "1024",
    "-1",
    "0x7fffffff",
    "0x80000000",
];

struct Bytes<'b>(std::slice::Iter<'b, u8>);

impl Bytes<'_> {
    fn below(&mut self, count: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % count
    }

    fn instruction(&mut self) -> String {
        let mut parts = INSTRUCTIONS[self.below(INSTRUCTIONS.len())].split('$');
        let mut out = parts.next().unwrap_or("").to_owned();
        for part in parts {
            let (kind, rest) = part.split_at(1);
            match kind {
                "i" => out += CONSTANTS[self.below(CONSTANTS.len())],
                "l" => out += &format!("L{}", self.below(8)),
                "a" if self.below(8) == 0 => out += &format!("%r{}", self.below(8)),
                "a" => out += &format!("tile+{}", 8 * self.below(64)),
                "g" if self.below(8) == 0 => out += &format!("%d{}", self.below(8)),
                "g" => out += &format!("%base+{}", 8 * self.below(64)),
                kind => out += &format!("%{kind}{}", self.below(8)),
            }
            out += rest;
        }
        if self.below(8) == 0 && !out.starts_with(['@', '{']) {
            out = format!("@%p{} {out}", self.below(8));
        }
        out
    }
}

fn program(bytes: &[u8]) -> String {
    let mut bytes = Bytes(bytes.iter());
    let mut body = String::new();
    for place in 0..bytes.0.len().min(320) / 4 {
        if place % 4 == 0 && place < 32 {
            body += &format!("L{}: ", place / 4);
        }
        body += &format!("{};\n", bytes.instruction());
    }
    let placed = (bytes_labels(&body)..8).map(|label| format!("L{label}:\n")).collect::<String>();
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tile[2048];\n\
         .extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p);\n\
         .func f() {{ .reg .pred %p; .reg .b32 %r; mov.u32 %r, %laneid; setp.gt.u32 %p, %r, 9; @%p ret; st.shared.u32 [tile+64], %r; ret; }}\n\
         .visible .entry k(.param .u64 p) {{\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>, %base; \
         .reg .f32 %f<8>; .local .align 8 .b8 stack[32];\nld.param.u64 %base, [p]; mov.u32 %r1, tile; mov.u64 %d1, %base; \
         mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, 7;\n{body}{placed}\n}}\n"
    )
}

/// How many labels the body has: they are placed in order.
fn bytes_labels(body: &str) -> usize {
    (0..8).take_while(|label| body.contains(&format!("L{label}: "))).count()
}

fuzz_target!(|bytes: &[u8]| {
    let text = program(bytes);
    let module = match Module::parse(&text) {
        Ok(module) => module,
        Err(error) => panic!("{error}\n{text}"),
    };
    let memory = Arc::new(Memory::new());
    let Ok(program) = module.load(&memory) else { return };
    let Ok(at) = memory.alloc(512) else { return };
    let _ = memory.fill(at, 1, 384);
    let plain = Launch { dynamic_shared: 1024, ..Launch::new([2, 1, 1], [128, 1, 1]) };
    let pair = Launch { cluster: Some([2, 1, 1]), dependent: true, ..plain };
    for (launch, checks) in [(plain, Checks::ALL), (pair, Checks::ALL), (plain, Checks::NONE)] {
        let options = Options { checks, instruction_budget: 200_000, workers: 1 };
        let _ = program.launch("k", &launch, &at.to_le_bytes(), &options);
    }
});
