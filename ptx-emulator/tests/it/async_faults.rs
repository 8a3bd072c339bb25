//! Faults seeded into a compiled, pipelined matrix product: each edit of its PTX must be caught.

use crate::gemm::{Case, warp_specialised};
use ptx_emulator::FaultKind;

const NT: &str = include_str!("../ptx/gemm_nt.ptx");
const CLUSTER: &str = include_str!("../ptx/gemm_nn_cluster.ptx");

/// Replaces the `nth` occurrence (from 0) of `old`.
fn edit(text: &str, old: &str, nth: usize, new: &str) -> String {
    let (at, _) = text
        .match_indices(old)
        .nth(nth)
        .unwrap_or_else(|| panic!("`{old}` does not occur {} times", nth + 1));
    format!("{}{new}{}", &text[..at], &text[at + old.len()..])
}

/// The fault of the edited kernel: two tiles on one block, five steps through three stages.
fn fault(text: &str) -> FaultKind {
    let shape = (256, 128, 320);
    let case =
        Case { text, kernel: "gemm_nt", shape, b_is_kn: false, fp8: false, cluster: 1, blocks: 1 };
    match warp_specialised(&case) {
        Ok(_) => panic!("the fault was not caught"),
        Err(report) => {
            println!("{report}");
            report.kind
        }
    }
}

#[test]
fn unedited_kernel_has_no_fault() {
    let shape = (256, 128, 320);
    let case = Case {
        text: NT,
        kernel: "gemm_nt",
        shape,
        b_is_kn: false,
        fp8: false,
        cluster: 1,
        blocks: 1,
    };
    warp_specialised(&case).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn proxy_fence_before_a_tensor_store() {
    let found = fault(&edit(NT, "fence.proxy.async.shared::cta;", 0, ""));
    assert!(matches!(&found, FaultKind::Async(m) if m.contains("fence.proxy.async")), "{found}");
}

#[test]
fn barrier_between_staging_and_its_tensor_store() {
    let found = fault(&edit(NT, "bar.sync \t%r3, 128;", 1, ""));
    assert!(
        matches!(found, FaultKind::Race { space: "shared", .. } | FaultKind::Async(_)),
        "{found}"
    );
}

#[test]
fn barrier_before_staging_is_used_again() {
    let found = fault(&edit(NT, "bar.sync \t%r3, 128;", 0, ""));
    assert!(matches!(found, FaultKind::Race { space: "shared", .. }), "{found}");
}

#[test]
fn wait_for_the_store_that_reads_staging() {
    let found = fault(&edit(NT, "cp.async.bulk.wait_group.read 0;", 0, ""));
    assert!(
        matches!(&found, FaultKind::Race { other, .. } if other.contains("bulk copy")),
        "{found}"
    );
}

#[test]
fn commit_of_the_store_that_reads_staging() {
    let found = fault(&edit(NT, "cp.async.bulk.commit_group;", 0, ""));
    assert!(
        matches!(&found, FaultKind::Race { other, .. } if other.contains("bulk copy")),
        "{found}"
    );
}

#[test]
fn wait_for_the_first_full_stage() {
    let found = fault(&edit(NT, "@p bra D;\nbra W;", 0, ""));
    assert!(matches!(found, FaultKind::Race { .. } | FaultKind::Uninitialised { .. }), "{found}");
}

#[test]
fn wait_for_later_full_stages() {
    let found = fault(&edit(NT, "@p bra D;\nbra W;", 1, ""));
    assert!(matches!(found, FaultKind::Race { .. } | FaultKind::Uninitialised { .. }), "{found}");
}

#[test]
fn wait_for_an_empty_stage() {
    let found = fault(&edit(NT, "@p bra D;\nbra W;", 2, ""));
    assert!(matches!(found, FaultKind::Race { .. } | FaultKind::Async(_)), "{found}");
}

#[test]
fn wait_for_wgmma_before_its_stage_is_freed() {
    let found = fault(&edit(NT, "wgmma.wait_group.sync.aligned 1;", 0, ""));
    assert!(matches!(&found, FaultKind::Race { other, .. } if other.contains("wgmma")), "{found}");
}

#[test]
fn wait_for_wgmma_before_its_accumulators_are_read() {
    let found = fault(&edit(NT, "wgmma.wait_group.sync.aligned 0;", 0, ""));
    assert!(matches!(&found, FaultKind::Async(m) if m.contains("wgmma.wait_group")), "{found}");
}

#[test]
fn fence_before_wgmma() {
    let found = fault(&edit(NT, "wgmma.fence.sync.aligned;", 0, ""));
    assert!(matches!(&found, FaultKind::Async(m) if m.contains("wgmma.fence")), "{found}");
}

#[test]
fn transaction_count_too_large() {
    let found = fault(&edit(NT, "_, [%r153], %r154;", 0, "_, [%r153], 40000;"));
    assert!(
        matches!(&found, FaultKind::Deadlock(w) if w.iter().any(|w| w.contains("7232 bytes"))),
        "{found}"
    );
}

#[test]
fn transaction_count_too_small() {
    let found = fault(&edit(NT, "_, [%r153], %r154;", 0, "_, [%r153], 16384;"));
    assert!(
        matches!(
            found,
            FaultKind::Race { .. } | FaultKind::Uninitialised { .. } | FaultKind::Deadlock(_)
        ),
        "{found}"
    );
}

#[test]
fn arrival_count_too_large() {
    let found = fault(&edit(NT, "[%r6], %r31;", 0, "[%r6], 9;"));
    assert!(
        matches!(&found, FaultKind::Deadlock(w) if w.iter().any(|w| w.contains("1 of 9 arrivals"))),
        "{found}"
    );
}

#[test]
fn arrival_count_too_small() {
    let found = fault(&edit(NT, "[%r6], %r31;", 0, "[%r6], 7;"));
    assert!(
        matches!(found, FaultKind::Async(_) | FaultKind::Race { .. } | FaultKind::Deadlock(_)),
        "{found}"
    );
}

#[test]
fn arrival_at_the_freed_stage() {
    let found = fault(&edit(NT, "mbarrier.arrive.shared::cta.b64 _, [%r94];", 0, ""));
    assert!(matches!(found, FaultKind::Deadlock(_)), "{found}");
}

#[test]
fn barrier_behind_initialisation() {
    let found = fault(&edit(NT, "bar.sync \t0;", 0, ""));
    assert!(matches!(found, FaultKind::Race { .. } | FaultKind::Async(_)), "{found}");
}

#[test]
fn tensor_map_parameters_need_their_alignment() {
    let text = NT.replacen(
        ".align 64 .b8 gemm_nt_param_0[128]",
        ".align 8 .b8 pad[8], .param .align 8 .b8 gemm_nt_param_0[128]",
        1,
    );
    let module = ptx_emulator::Module::parse(&text).unwrap();
    let entry = module.entry("gemm_nt").unwrap();
    assert_eq!(entry.params[1], (8, 128), "the map is not where hardware could read it");
}

#[test]
fn cluster_barrier_behind_initialisation() {
    let text = edit(CLUSTER, "barrier.cluster.arrive.aligned;", 0, "");
    let text = edit(&text, "barrier.cluster.wait.aligned;", 0, "");
    let shape = (256, 128, 192);
    let case = Case {
        text: &text,
        kernel: "gemm_nn_cluster",
        shape,
        b_is_kn: true,
        fp8: false,
        cluster: 2,
        blocks: 2,
    };
    let report = warp_specialised(&case).unwrap_err();
    assert!(matches!(report.kind, FaultKind::Race { .. } | FaultKind::Async(_)), "{report}");
}

#[test]
fn wait_for_stores_before_the_thread_exits() {
    let text = edit(NT, "cp.async.bulk.wait_group 0;", 0, "");
    let found = fault(&text);
    assert!(
        matches!(&found, FaultKind::Async(m) if m.contains("exits while a bulk copy")),
        "{found}"
    );
}
