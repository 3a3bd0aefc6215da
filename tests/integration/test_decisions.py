"""The decision table on real git: what each kind of session and evaluation leads to (contract section 4)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fakes.workspace import Acts, Workspace, candidate, lives, noop

ANSWER = "import json, os, sys\nexec(open('value.txt').read())\n"
"""An evaluator that runs value.txt, so that each candidate brings its own."""


def answers(**fields: Any) -> Acts:
    """A candidate that the evaluator answers for with ``fields``."""
    return candidate(f"print(json.dumps({fields!r}))  # {os.urandom(4).hex()}\n")


def says(program: str) -> Acts:
    """A candidate whose evaluation is the Python ``program``."""
    return candidate(program)


def acts(*parts: Acts) -> Acts:
    return [act for part in parts for act in part]


def sh(command: str) -> Acts:
    return [{"sh": command}]


COMMIT: Acts = [{"write": {"value.txt": "5"}}, {"commit": "five"}]
ARTIFACT: Acts = [{"artifact": {}}]


def run(
    ws: Workspace, *iterations: Acts, frontmatter: str = "", keys: str = "", evaluator: str | None = None
) -> None:
    """A run that plays ``iterations``, one session each, and finishes."""
    budget = f"budget:\n  max_iterations: {len(iterations)}\n  max_consecutive_errors: off\n"
    given = {} if evaluator is None else {"evaluator": evaluator}
    ws.mission(budget + frontmatter, evaluator_keys=keys, **given)
    ws.commit()
    ws.plan(**{f"i{number}": acts for number, acts in enumerate(iterations, start=1)})
    done = ws.launch()
    assert done.returncode == 0, done.stderr


def verdicts(ws: Workspace) -> list[tuple[str, str]]:
    """Decision and reason of each iteration, without the baseline."""
    return [(entry["decision"], entry["decision_reason"]) for entry in ws.ledger()["entries"][1:]]


def expect(ws: Workspace, *expected: tuple[str, str]) -> None:
    """Each iteration was decided so, for a reason that holds these words."""
    found = verdicts(ws)
    assert [decision for decision, _ in found] == [decision for decision, _ in expected], found
    for (_, reason), (_, words) in zip(found, expected, strict=True):
        assert words in reason


def expect_lane_at_tip(ws: Workspace) -> None:
    """The lane is on its branch at the last kept commit, clean, with nothing half done."""
    lane, manifest = ws.lane(), ws.manifest()
    assert ws.git("symbolic-ref", "--short", "HEAD", cwd=lane) == manifest["branch_name"]
    assert ws.git("rev-parse", "HEAD", cwd=lane) == manifest["last_kept_commit"]
    assert "nothing to commit, working tree clean" in ws.git("status", cwd=lane)
    assert ws.git("rev-parse", f"refs/omagy/{ws.run_id()}/kept") == manifest["last_kept_commit"]
    assert "in progress" not in ws.git("status", cwd=lane)
    assert "rebas" not in ws.git("status", cwd=lane)


def show(ws: Workspace, ref: str, path: str) -> str:
    return ws.git("show", f"refs/omagy/{ws.run_id()}/{ref}:{path}")


# -- scores


def test_a_candidate_is_kept_when_it_beats_the_last_kept_score(ws: Workspace) -> None:
    """Better is kept, equal and worse are discarded, and the bar is the last kept score, not the last one seen."""
    run(ws, candidate(3), candidate(3.0), candidate(2), candidate(2.5), candidate(4))
    expect(
        ws,
        ("keep", "score improved: 1 → 3 (+200.0%)"),
        ("discard", "score is the same: 3"),
        ("discard", "score got worse: 3 → 2 (-33.3%)"),
        ("discard", "score got worse: 3 → 2.5"),
        ("keep", "score improved: 3 → 4"),
    )
    expect_lane_at_tip(ws)
    entries = ws.ledger()["entries"]
    bases = [entry["base_commit"] for entry in entries]
    assert bases[1] == entries[0]["kept_commit"] == ws.manifest()["baseline_commit"]
    assert set(bases[2:]) == {entries[1]["candidate_commit"]}
    rows = [row.split("\t") for row in (ws.lane() / "results.tsv").read_text().splitlines()]
    assert rows[0] == ["iteration", "commit", "pass", "score", "status", "description"]
    assert [row[0] for row in rows[1:]] == ["0", "1", "2", "3", "4", "5"]
    assert [(row[2], row[3], row[4]) for row in rows[1:4]] == [
        ("true", "1", "baseline"),
        ("true", "3", "keep"),
        ("true", "3", "discard"),
    ]
    latest = json.loads((ws.folder() / "latest-evaluator-result.json").read_text())
    assert (latest["iteration"], latest["pass"], latest["score"], latest["decision"]) == (5, True, 4.0, "keep")


def test_minimize_turns_the_comparison_round(ws: Workspace) -> None:
    """With direction minimize a lower score is the better one."""
    run(ws, candidate(0.5), candidate(0.7), candidate(0.5), candidate(-1), keys="  direction: minimize\n")
    expect(
        ws,
        ("keep", "score improved: 1 → 0.5"),
        ("discard", "score got worse: 0.5 → 0.7"),
        ("discard", "score is the same"),
        ("keep", "score improved: 0.5 → -1"),
    )
    assert ws.manifest()["last_kept_score"] == -1
    assert ws.manifest()["direction"] == "minimize"


def test_pass_only_keeps_whatever_passes(ws: Workspace) -> None:
    """With pass_only a score decides nothing."""
    ws.write("value.txt", "print(json.dumps({'pass': True, 'score': 9}))")
    run(
        ws,
        answers(**{"pass": True, "score": 3}),
        answers(**{"pass": False, "score": 30}),
        answers(**{"pass": True}),
        keys="  keep_policy: pass_only\n",
        evaluator=ANSWER,
    )
    expect(ws, ("keep", "pass_only"), ("discard", "pass=false"), ("keep", "pass_only"))
    expect_lane_at_tip(ws)


def test_a_passing_candidate_beats_a_baseline_that_does_not_pass(ws: Workspace) -> None:
    """When what was kept does not pass there is nothing to improve on: the first that passes is kept, whatever its
    score; from then on scores count, and one that is missing makes a candidate ambiguous."""
    ws.write("value.txt", "print(json.dumps({'pass': False, 'score': 9}))")
    run(
        ws,
        answers(**{"pass": False, "score": 99}),
        answers(**{"pass": True, "score": 2}),
        answers(**{"pass": True}),
        answers(**{"pass": True, "score": None}),
        answers(**{"pass": True, "score": 3}),
        evaluator=ANSWER,
    )
    expect(
        ws,
        ("discard", "pass=false"),
        ("keep", "what was kept before did not"),
        ("ambiguous", "passes without a score"),
        ("ambiguous", "passes without a score"),
        ("keep", "score improved: 2 → 3"),
    )
    assert ws.ledger()["entries"][0]["decision_reason"] == "the starting point does not pass yet, score 9"
    expect_lane_at_tip(ws)


def test_a_candidate_without_a_comparable_score_is_ambiguous_and_reset(ws: Workspace) -> None:
    """A score cannot be compared with none: the lane goes back, and the candidate stays reachable."""
    ws.write("value.txt", "print(json.dumps({'pass': True}))")
    run(ws, answers(**{"pass": True, "score": 3}), evaluator=ANSWER)
    expect(ws, ("ambiguous", "it scores 3, but what was kept before has no score"))
    expect_lane_at_tip(ws)
    entry = ws.ledger()["entries"][1]
    assert ws.manifest()["last_kept_commit"] == entry["base_commit"] != entry["candidate_commit"]
    assert ws.git("rev-parse", f"refs/omagy/{ws.run_id()}/cand/1") == entry["candidate_commit"]


# -- evaluators that go wrong


def test_every_way_an_evaluator_can_fail_is_a_discard_with_its_reason(ws: Workspace) -> None:
    """An evaluator error discards the candidate, says what happened, and the run goes on."""
    good = "print(json.dumps({'pass': True, 'score': 1}))"
    ws.write("value.txt", good)
    faults = [
        ("sys.exit(3)", "exited with status 3"),
        ("os.kill(os.getpgrp(), 11)", "killed by signal 11"),  # the shell, or what it became
        ("pass", "printed nothing"),
        ("print('garbage')", "has no JSON object"),
        ("print('{\"pass\": tru')", "looks like JSON"),
        ("print('[1]')", "has no JSON object"),
        ('print(\'{"pass": true, "score": NaN}\')', "NaN"),
        ('print(\'{"pass": true, "score": -Infinity}\')', "Infinity"),
        ('print(\'{"pass": true, "score": 1e999}\')', "1e999"),
        ('print(\'{"pass": true, "score": true}\')', "score must be a number"),
        ('print(\'{"pass": true, "score": "7"}\')', "score must be a number"),
        ('print(\'{"pass": true, "pass": false}\')', "pass"),
        ("print('{\"pass\": 1}')", "pass must be true or false"),
        ("print('{\"score\": 1}')", "has no pass"),
        (f"{good}; sys.exit(1)", "exited with status 1"),
        (f"open(os.environ['OMAGY_RESULT_FILE'], 'w').write('x'); {good}", "result file"),
        (
            f"os.symlink('/etc/passwd', os.environ['OMAGY_RESULT_FILE']); {good}",
            "result file: it is a link that is not followed",
        ),
        (f"os.mkdir(os.environ['OMAGY_RESULT_FILE']); {good}", "result file: it is not a regular file"),
    ]
    run(ws, *(says(program) for program, _ in faults), evaluator=ANSWER)
    expect(ws, *(("discard", words) for _, words in faults))
    expect_lane_at_tip(ws)
    crash = ws.ledger()["entries"][1]["evaluator"]
    assert crash["exit_status"] == 3
    assert "pass" not in crash or crash["pass"] is None


def test_log_lines_result_files_and_a_flood_of_output_are_understood(ws: Workspace) -> None:
    """Logs around the object are tolerated, a result file counts before stdout, and 50 MB of output do no harm."""
    ws.write("value.txt", "print(json.dumps({'pass': True, 'score': 1}))")
    flood = "sys.stdout.write('x' * (25 << 20)); sys.stdout.write('\\n'); sys.stderr.write('y' * (25 << 20)); "
    run(
        ws,
        says('print(\'{"pass": false}\\nlog\\n{"pass": true, "score": 2, "more": [1]}\\ndone\')'),
        says("open(os.environ['OMAGY_RESULT_FILE'], 'w').write('{\"pass\": true, \"score\": 3}'); print('{}')"),
        says(f"{flood} print(json.dumps({{'pass': True, 'score': 4}}))"),
        says("print(json.dumps({'pass': True, 'score': 5}, indent=2))"),
        evaluator=ANSWER,
    )
    assert [decision for decision, _ in verdicts(ws)] == ["keep"] * 4
    assert ws.ledger()["entries"][1]["evaluator"]["extra"] == {"more": [1]}
    assert (ws.folder() / "iterations/0003/evaluator.log").stat().st_size <= 17 << 20
    assert (ws.folder() / "iteration-ledger.json").stat().st_size < 64 << 10


# Longer than every limit: only omagy ends it in time. Should it not, nothing is left running for ever.
HANGS = "time.sleep(600)"
STUBBORN = f"""
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        told = os.environ["OMAGY_RESULT_FILE"] + ".pid"
        with open(told + ".part", "w") as part:
            part.write(str(os.getpid()))
        os.rename(part.name, told)  # whoever sees the file can read all of it
        {HANGS}
    os._exit(0)
os.wait()
while not os.path.exists(os.environ["OMAGY_RESULT_FILE"] + ".pid"):
    pass
"""


def test_nothing_an_evaluator_started_survives_it(ws: Workspace) -> None:
    """A child that forked twice, left the session and ignores TERM is gone when the evaluation is over, whether the
    evaluator answered or ran into its time limit."""
    good = "print(json.dumps({'pass': True, 'score': float(2)}), flush=True)"
    ws.write("value.txt", "print(json.dumps({'pass': True, 'score': 1}))")
    run(
        ws,
        says(f"{STUBBORN}\n{good}"),
        says(f"{STUBBORN}\n{good}\n{HANGS}"),
        says(f"{STUBBORN}\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{good}\n{HANGS}"),
        keys="  timeout: 10s\n",
        evaluator=ANSWER,
    )
    expect(
        ws,
        ("keep", "score improved"),
        ("discard", "stopped at its time limit of 10s"),
        ("discard", "stopped at its time limit of 10s"),
    )
    for number in (1, 2, 3):
        pid = int((ws.folder() / f"iterations/{number:04d}/evaluator-result.json.pid").read_text())
        assert not lives(pid)


def test_an_evaluator_cannot_change_the_lane(ws: Workspace) -> None:
    """Files, commits and locks that an evaluator leaves in the worktree are gone after the decision."""
    ws.write("value.txt", "print(json.dumps({'pass': True, 'score': 1}))")
    answer = "print(json.dumps({'pass': True, 'score': SCORE}))"
    lock = "open(os.popen('git rev-parse --git-dir').read().strip() + '/index.lock', 'w')"
    run(
        ws,
        says(f"open('built.txt', 'w'); os.remove('missions/m/mission.md'); {answer}".replace("SCORE", "2")),
        says(f"os.system('git commit -q --allow-empty -m mine'); {answer}".replace("SCORE", "3")),
        says(f"{lock}; {answer}".replace("SCORE", "4")),
        says(f"{lock}; {answer}".replace("SCORE", "0")),
        says(f"os.system('git checkout -q --detach HEAD~1'); {answer}".replace("SCORE", "5")),
        evaluator=ANSWER,
    )
    assert [decision for decision, _ in verdicts(ws)] == ["keep", "keep", "keep", "discard", "keep"]
    assert ws.manifest()["last_kept_commit"] == ws.ledger()["entries"][5]["candidate_commit"]
    assert not (ws.lane() / "built.txt").exists()
    expect_lane_at_tip(ws)


# -- integrity


def test_a_candidate_may_be_named_and_made_in_every_honest_way(ws: Workspace) -> None:
    """Short ids, several commits, amended commits, another branch and a detached HEAD are all one candidate on its
    base; the lane's branch moves to it."""
    name_short = sh(
        """python3 - <<'E'
import json, os, subprocess
head = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True).stdout.strip()
json.dump({"status": "candidate", "candidate_commit": head, "base_commit": os.environ["OMAGY_BASE_COMMIT"][:9],
           "description": "short", "notes": [], "created_at": "2026-01-31T12:00:00+01:00", "mine": 1},
          open(os.environ["OMAGY_CANDIDATE_FILE"], "w"))
E"""
    )
    run(
        ws,
        acts([{"write": {"value.txt": "2"}}, {"commit": "two"}], name_short),
        acts([{"write": {"a.txt": "a"}}, {"commit": "a"}, {"write": {"b.txt": "b"}}, {"commit": "b"}], candidate(3)),
        acts(
            [{"write": {"value.txt": "9"}}, {"commit": "x"}, {"write": {"value.txt": "4"}}],
            sh("git add -A && git commit -q --amend -m amended"),
            ARTIFACT,
        ),
        acts(sh("git checkout -q -b elsewhere"), candidate(5)),
        acts(sh("git checkout -q --detach"), candidate(6)),
        acts(sh("git branch -D -q elsewhere"), candidate(7)),
    )
    assert [decision for decision, _ in verdicts(ws)] == ["keep"] * 6, verdicts(ws)
    entries = ws.ledger()["entries"]
    assert entries[2]["diff"] == {"files": 3, "insertions": 3, "deletions": 1}
    assert all(len(entry["candidate_commit"]) == 40 for entry in entries[1:])
    expect_lane_at_tip(ws)
    assert ws.git("log", "--format=%s", f"{entries[0]['kept_commit']}..{ws.manifest()['branch_name']}").split(
        "\n"
    ) == [
        "value 7",
        "value 6",
        "value 5",
        "amended",
        "value 3",
        "b",
        "a",
        "two",
    ]


def test_a_candidate_that_is_not_what_it_says_is_an_error(ws: Workspace) -> None:
    """A commit that does not exist, is not HEAD, does not descend, or stands on another base is never evaluated; the
    lane is reset and what the session committed stays reachable."""
    cases: list[tuple[Acts, str]] = [
        (acts(COMMIT, [{"artifact": {"candidate_commit": "f" * 40}}]), "candidate_commit names no commit"),
        (acts(COMMIT, [{"artifact": {"candidate_commit": "main"}}]), "candidate_commit names no commit"),
        (acts(COMMIT, [{"artifact": {"base_commit": "e" * 40}}]), "base_commit names no commit"),
        (acts(COMMIT, [{"artifact": {"base_commit": "HEAD"}}]), "but the last kept commit is"),
        (acts(COMMIT, ARTIFACT, [{"commit": "one more"}]), "but the session left HEAD at"),
        ([{"artifact": {"candidate_commit": "BASE"}}], "nothing was committed"),
        (acts(sh("git checkout -q --orphan new"), COMMIT, ARTIFACT), "does not descend from its base"),
        (acts(sh("git commit -q --amend --allow-empty -m rewritten"), ARTIFACT), "does not descend from its base"),
        (acts(sh("git reset -q --hard HEAD~1"), ARTIFACT), "does not descend from its base"),
        (acts(COMMIT, sh("git checkout -q --detach HEAD~1"), [{"artifact": {}}]), "nothing was committed"),
        (
            acts(
                sh("git checkout -q --orphan unborn"),
                [{"artifact": {"status": "candidate", "candidate_commit": "BASE"}}],
            ),
            "HEAD",
        ),
        (acts(sh("git update-ref -d HEAD"), [{"artifact": {"status": "noop"}}]), "HEAD"),
    ]
    ws.commit("first")
    run(ws, *(case for case, _ in cases))
    found = verdicts(ws)
    assert [decision for decision, _ in found[:10]] == ["error"] * 10, found
    for (_, reason), (_, words) in zip(found[:10], cases, strict=False):
        assert words in reason
    assert found[10][0] == "error"
    expect_lane_at_tip(ws)
    assert all(entry["evaluator"] is None for entry in ws.ledger()["entries"][1:])
    strayed = ws.ledger()["entries"][10]
    refs = ws.git("for-each-ref", "--format=%(objectname) %(refname)", f"refs/omagy/{ws.run_id()}")
    assert "/strayed/10.1" in refs, strayed
    for entry in ws.ledger()["entries"][1:]:
        assert entry["candidate_commit"] is None or entry["candidate_commit"] in refs


# -- the artifact


def test_an_artifact_that_cannot_be_read_is_an_error(ws: Workspace) -> None:
    """Whatever lies at the candidate file's path, reading it neither blocks nor follows a link, and one that says
    nothing usable leads to a reset."""
    here = '"$OMAGY_CANDIDATE_FILE"'
    valid = json.dumps(
        {"status": "noop", "base_commit": "x", "description": "d", "created_at": "2026-01-01T00:00:00Z"}
    )
    cases: list[tuple[Acts, str]] = [
        (COMMIT, "the session wrote no candidate file"),
        ([{"raw": ""}], "candidate.json: "),
        ([{"raw": '{"status": "noop"'}], "candidate.json: "),
        ([{"raw": "[]"}], "candidate.json: "),
        ([{"raw": "{}"}], "status is null; it must be candidate, noop, abort or interrupted"),
        ([{"artifact": {"status": "done"}}], 'status is "done"'),
        ([{"artifact": {"candidate_commit": None}}], "candidate_commit names no commit"),
        ([{"artifact": {"status": "noop", "description": None}}], "description is missing"),
        ([{"artifact": {"status": "noop", "notes": "text"}}], "notes is not a list of strings"),
        ([{"artifact": {"status": "noop", "created_at": "yesterday"}}], "must be an ISO time"),
        ([{"artifact": {"status": "noop", "more": "x" * (64 << 10)}}], "larger than 64 KiB"),
        (
            sh(f"printf '%s' '{valid}' > real.json; ln -s \"$PWD/real.json\" {here}"),
            "it is a link that is not followed",
        ),
        (sh(f"mkfifo {here}"), "not a regular file"),
        (sh(f"mkdir {here}"), "not a regular file"),
        (sh(f"printf '\\377\\376' > {here}"), "candidate.json: "),
        (sh(f"head -c 300000000 /dev/zero > {here}"), "larger than 64 KiB"),
        ([{"exit": 7}], "the session wrote no candidate file (crashed: the command ended with status 7)"),
        ([{"kill": True}], "wrote no candidate file (crashed: the command"),
    ]
    run(ws, *(case for case, _ in cases))
    expect(ws, *(("error", words) for _, words in cases))
    expect_lane_at_tip(ws)
    assert ws.ledger()["entries"][1]["candidate_commit"] is not None


def test_a_stale_artifact_is_never_read(ws: Workspace) -> None:
    """Only this attempt's file counts: not that of an earlier iteration, nor copies in worktree or records."""
    copies = sh(
        'f="$OMAGY_CANDIDATE_FILE"; old=$(dirname "$f" | sed s,/0002/,/0001/,); '
        'run=$(dirname "$(dirname "$(dirname "$(dirname "$f")")")"); test -f "$old/candidate.json"; '
        'test -f "$run/candidate.json"; cp "$run/candidate.json" candidate.json; touch "$old/candidate.json"'
    )
    run(ws, candidate(2), copies, noop())
    expect(ws, ("keep", ""), ("error", "the session wrote no candidate file"), ("noop", "nothing to change"))
    assert ws.ledger()["entries"][2]["candidate_status"] is None


# -- what a session leaves lying about


def test_leftovers_are_saved_before_they_are_cleaned_and_are_no_part_of_the_candidate(ws: Workspace) -> None:
    """Uncommitted changes beside a commit are not measured; every one of them is in a commit under the run's refs,
    and the lane is as the last kept commit afterwards."""
    ws.write("kept.txt", "as committed")
    ws.write("gone.txt", "as committed")
    leave = acts(
        [{"write": {"kept.txt": "changed", "new/ü 漢.txt": "new", "staged.txt": "staged"}}],
        sh("git add staged.txt; rm gone.txt; ln -s /etc/passwd link; chmod +x kept.txt"),
    )
    run(
        ws,
        acts(candidate(2), [{"write": {"value.txt": "100"}}], leave),
        acts(leave, noop()),
        acts(leave, [{"artifact": {"status": "error"}}]),
        acts(leave, [{"write": {"value.txt": "0"}}, {"artifact": {"candidate_commit": "BASE"}}]),
        [{"artifact": {"status": "interrupted"}}],
        candidate(1),
    )
    expect(
        ws,
        ("keep", "score improved: 1 → 2"),
        ("noop", "nothing to change"),
        ("error", "status is"),
        ("error", "nothing was committed"),
        ("interrupted", "left nothing uncommitted"),
        ("discard", "score got worse: 2 → 1"),
    )
    expect_lane_at_tip(ws)
    for number in (1, 2, 3, 4):
        entry = ws.ledger()["entries"][number]
        ref = f"leftovers/{number}.1"
        assert entry["leftovers_ref"] == f"refs/omagy/{ws.run_id()}/{ref}"
        assert show(ws, ref, "kept.txt") == "changed"
        assert show(ws, ref, "new/ü 漢.txt") == "new"
        assert show(ws, ref, "staged.txt") == "staged"
        assert show(ws, ref, "link") == "/etc/passwd"
        names = ws.git("ls-tree", "-r", "-z", "--name-only", f"refs/omagy/{ws.run_id()}/{ref}").split("\0")
        assert "gone.txt" not in names
        assert "results.tsv" not in names
    assert show(ws, "leftovers/1.1", "value.txt") == "100"
    assert sorted(path.name for path in ws.lane().iterdir()) == [
        *(".git", "gone.txt", "kept.txt", "missions", "results.tsv", "value.txt"),
    ]
    assert Path("/etc/passwd").exists()


def test_a_repository_inside_the_worktree_is_kept_aside(ws: Workspace) -> None:
    """A clone that a session made, loose or recorded as a link in its commit, is moved to the records before the lane
    is cleaned: its history is in no commit of ours."""
    clone = (
        "git init -q {0} && cd {0} && echo inner > file && git add . && git commit -q -m inner && echo loose > loose"
    )
    run(
        ws,
        acts(sh(clone.format("tools/inner")), noop()),
        acts(sh(clone.format("linked")), candidate(0)),
        acts(sh(clone.format("linked")), candidate(2)),
        noop(),
        frontmatter="editable: ['**']\n",
    )
    expect(ws, ("noop", ""), ("discard", "score got worse"), ("keep", ""), ("noop", ""))
    inner = ws.folder() / "iterations/0001/leftovers/tools/inner"
    assert ws.git("log", "--format=%s", cwd=inner) == "inner"
    assert (inner / "loose").read_text() == "loose\n"
    assert not (ws.lane() / "tools").exists()
    head = ws.ledger()["entries"][2]["candidate_commit"][:12]
    linked = ws.folder() / "set-aside" / head / "linked"
    assert ws.git("log", "--format=%s", cwd=linked) == "inner"
    assert (linked / "loose").read_text() == "loose\n"
    assert ws.git("log", "--format=%s", cwd=ws.lane() / "linked") == "inner"


def test_ignored_files_are_kept_by_a_reset(ws: Workspace) -> None:
    """Caches and dependencies that .gitignore, info/exclude or the user's own global ignore file name stay."""
    ws.write(".gitignore", "cache/\n")
    (ws.root / ".git/info").mkdir(exist_ok=True)
    with (ws.root / ".git/info/exclude").open("a") as file:
        file.write("/excluded\n")
    home = Path(ws.environment["HOME"])
    (home / "ignored-everywhere").write_text("deps/\n")
    ws.git("config", "--global", "core.excludesFile", "~/ignored-everywhere")
    files = {"cache/a": "a", "excluded": "b", "deps/lib/c": "c", "sub/deps/d": "d"}
    run(ws, acts([{"write": files}], candidate(0)), acts([{"write": {"other": "x"}}], noop()))
    expect(ws, ("discard", ""), ("noop", ""))
    for name, text in files.items():
        assert (ws.lane() / name).read_text() == text
    assert not (ws.lane() / "other").exists()
    assert ws.ledger()["entries"][1]["leftovers_ref"] is None


def test_half_done_git_operations_of_a_session_are_cleared(ws: Workspace) -> None:
    """A merge, rebase, cherry-pick, revert or bisect that a session left open, and locks of a git that was killed,
    stand in nobody's way."""
    conflict = (
        "git checkout -q -b side && echo side > value.txt && git commit -q -a -m side && "
        "git checkout -q - && echo 7 > value.txt && git commit -q -a -m here; "
    )
    lock = 'd=$(git rev-parse --git-dir); touch "$d/index.lock" "$d/HEAD.lock" "$d/ORIG_HEAD.lock"; '
    tidy = "git branch -D -q side; "
    run(
        ws,
        acts(sh(conflict + "git merge -q side || true"), noop()),
        acts(sh(tidy + conflict + "git rebase -q side || true"), noop()),
        acts(sh(tidy + conflict + "git cherry-pick side || true"), noop()),
        acts(sh("git bisect start -q; git bisect bad"), noop()),
        acts(sh("git revert --no-commit HEAD || true"), noop()),
        acts(candidate(2), sh(lock)),
        acts(sh(lock), noop()),
        acts(sh('touch "$(git rev-parse --git-common-dir)/$(git symbolic-ref HEAD).lock"'), noop()),
        acts(sh("git update-index --skip-worktree value.txt; echo 50 > value.txt"), noop()),
        acts(sh("git update-index --assume-unchanged value.txt; echo 60 > value.txt"), noop()),
        candidate(3),
    )
    found = [decision for decision, _ in verdicts(ws)]
    assert found == ["noop"] * 5 + ["keep"] + ["noop"] * 4 + ["keep"], verdicts(ws)
    hidden = [ws.git("show", f"{entry['leftovers_ref']}:value.txt") for entry in ws.ledger()["entries"][9:11]]
    assert hidden == ["50", "60"], "what an index hid is saved as well"
    assert (ws.lane() / "value.txt").read_text() == show(ws, "kept", "value.txt") == "3"
    expect_lane_at_tip(ws)


def test_what_a_session_does_to_the_worktrees_link_is_mended(ws: Workspace) -> None:
    """A removed, redirected or replaced .git file of the worktree does not lead git elsewhere."""
    before = ws.users_side()
    run(
        ws,
        acts(candidate(2), sh("rm .git")),
        acts(sh(f"rm .git; ln -s {ws.root}/.git .git"), noop()),
        acts(sh("rm .git; git init -q . ; echo own > own.txt"), [{"raw": "{}"}]),
        candidate(3),
    )
    assert [verdicts(ws)[number][0] for number in (0, 3)] == ["keep", "keep"]
    expect_lane_at_tip(ws)
    after = ws.users_side()
    assert after["value.txt"] == before["value.txt"]
    assert after[".git/HEAD"] == before[".git/HEAD"]


@pytest.mark.parametrize("status", ["candidate", "noop"])
def test_nothing_a_session_started_outlives_it(ws: Workspace, status: str) -> None:
    """A process that a session left in the background is gone before its work is looked at."""
    background = (
        'nohup setsid sh -c \'trap "" TERM HUP; echo $$ > "$0"; sleep 600; echo late > value.txt\' '
        '"$OMAGY_CANDIDATE_FILE.pid" >/dev/null 2>&1 & '
        'while ! test -s "$OMAGY_CANDIDATE_FILE.pid"; do :; done'
    )
    work = candidate(2) if status == "candidate" else noop()
    run(ws, acts(sh(background), work))
    pid = int((ws.folder() / "iterations/0001/outbox/candidate.json.pid").read_text())
    assert not lives(pid)
    assert [decision for decision, _ in verdicts(ws)] == ["keep" if status == "candidate" else "noop"]
