"""The verification targets of the command's contract, one test each."""

import json

from fakes.workspace import PATIENCE_S, Workspace, candidate


def test_fresh_launches_create_distinct_run_tagged_lanes(ws: Workspace) -> None:
    """Two launches in the same second get two branches, two worktrees and two run folders."""
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    ws.plan(default=candidate(2))
    assert ws.launch().returncode == 0
    assert ws.launch().returncode == 0
    first, second = ws.run_ids()
    lanes = [(ws.manifest(run)["branch_name"], ws.manifest(run)["worktree_path"]) for run in (first, second)]
    assert len({branch for branch, _ in lanes}) == len({path for _, path in lanes}) == 2
    for branch, path in lanes:
        assert branch.startswith("autoresearch/m/")
        assert branch in ws.git("worktree", "list", "--porcelain")
        assert path in ws.git("worktree", "list", "--porcelain")


def test_repo_root_active_run_lock_rejects_concurrent_launches(ws: Workspace) -> None:
    """While a run is active a second launch is refused with the first one's id, and creates nothing."""
    ws.mission()
    ws.commit()
    ws.plan(default=[{"hang": True}])
    ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session()
    refused = ws.launch()
    assert refused.returncode == 2
    assert run_id in refused.stderr
    assert f"omagy autoresearch stop {run_id}" in refused.stderr
    assert ws.run_ids() == [run_id]
    assert ws.omagy("autoresearch", "stop").returncode == 0


def test_candidate_handoff_artifact_drives_keep_discard_reset_decisions(ws: Workspace) -> None:
    """What a session's artifact says, confirmed by git and the evaluator, decides each iteration."""
    ws.mission("budget:\n  max_iterations: 4\n")
    ws.commit()
    ws.plan(
        i1=candidate(3),
        i2=candidate(2),
        i3=[{"artifact": {"status": "noop"}}],
        i4=[{"write": {"value.txt": "9"}}, {"commit": "no artifact"}],
    )
    assert ws.launch().returncode == 0
    assert ws.decisions() == ["baseline", "keep", "discard", "noop", "error"]
    assert (ws.lane() / "value.txt").read_text() == "3"


def test_discarded_candidates_reset_to_last_kept_commit(ws: Workspace) -> None:
    """After a discard the lane is at the last kept commit, clean, and the candidate is still reachable."""
    ws.mission("budget:\n  max_iterations: 2\n")
    ws.commit()
    ws.plan(i1=candidate(3), i2=[{"write": {"stray.txt": "left"}}, *candidate(2), {"write": {"late.txt": "x"}}])
    assert ws.launch().returncode == 0
    kept, discarded = (entry["candidate_commit"] for entry in ws.ledger()["entries"][1:])
    assert ws.git("rev-parse", "HEAD", cwd=ws.lane()) == kept == ws.manifest()["last_kept_commit"]
    assert ws.git("status", "--porcelain", cwd=ws.lane()) == ""
    assert not (ws.lane() / "late.txt").exists()
    refs = ws.git("for-each-ref", "--format=%(objectname)", f"refs/omagy/{ws.run_id()}")
    assert discarded in refs.split()


def test_resume_reloads_authoritative_manifest_worktree_state(ws: Workspace) -> None:
    """A resumed run goes on from its last kept commit with the history it has."""
    ws.mission("budget:\n  max_iterations: 3\n")
    ws.commit()
    ws.plan(i1=candidate(3), i2=[{"hang": True}])
    first = ws.start_launch()
    run_id = ws.wait_for_run()
    ws.wait_for_session(2)
    assert ws.omagy("autoresearch", "stop", run_id).returncode == 0
    assert first.wait(PATIENCE_S) == 130
    assert ws.manifest()["lifecycle_outcome"] == "userinterlude"
    ws.plan(i2=candidate(5), i3=candidate(4))
    assert ws.resume(run_id).returncode == 0
    assert ws.decisions() == ["baseline", "keep", "keep", "discard"]
    assert ws.manifest()["last_kept_score"] == 5
    instructions = (ws.folder() / "iterations/0002/attempt-2/instructions.md").read_text()
    assert "score improved: 1 → 3" in instructions
    json.loads((ws.folder() / "handoff.json").read_text())
