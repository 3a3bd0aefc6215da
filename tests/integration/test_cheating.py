"""Candidates and evaluators that cheat or break, on real git: each gets the decision that the truth demands."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from fakes.cheats import (
    ATTACKS,
    ATTRIBUTES,
    CAREFUL,
    CAREFUL_SHELL,
    DIRT,
    EDITABLE,
    ENDLESS,
    EVALUATOR,
    FILTER,
    GULLIBLE,
    HALF,
    HELPER,
    IGNORED,
    IMPOSSIBLE,
    LANE,
    LIES,
    LIMIT_S,
    PLANTS,
    SURFACE,
    TRUTH,
    Cheat,
    sh,
)
from fakes.workspace import Acts, Workspace, lives, noop, told

ARTIFACT: Acts = [{"artifact": {}}]
TARGET = "conf/gr\u00f6\u00dfe.json"
QUICK = "  baseline_repeats: 1\n  final_check: off\n"


def prepare(ws: Workspace, iterations: int, frontmatter: str = "", keys: str = "", command: str = "") -> None:
    """A mission for ``iterations`` sessions; ``command`` goes before its evaluator's path."""
    ws.write("missions/m/mission.md", "Make the number better.\n")
    if not (ws.root / "missions/m/eval.py").exists():
        ws.write("missions/m/eval.py", EVALUATOR)
    command = command or f"{sys.executable} missions/m/eval.py"
    limits = f"budget:\n  max_iterations: {iterations}\n  max_consecutive_errors: off\n"
    ws.write(
        "missions/m/sandbox.md",
        f"---\nevaluator:\n  command: {command}\n  format: json\n{QUICK}{keys}{limits}{frontmatter}---\nMeasures.\n",
    )
    ws.commit()


def launch(ws: Workspace, sessions: Sequence[Acts]) -> list[dict[str, Any]]:
    """The ledger's entries of a run of ``sessions``, without the baseline."""
    ws.plan(**{f"i{number}": acts for number, acts in enumerate(sessions, start=1)})
    done = ws.launch()
    assert done.returncode == 0, done.stderr
    entries: list[dict[str, Any]] = ws.ledger()["entries"]
    return entries[1:]


def play(ws: Workspace, cheats: Sequence[Cheat]) -> list[dict[str, Any]]:
    """Every cheat as one iteration of one run, and each got its decision."""
    undo = ["true", *(cheat.undo or "true" for cheat in cheats)]
    entries = launch(
        ws, [[*sh(undo[n]), *cheat.session, *ARTIFACT, *sh(cheat.after or "true")] for n, cheat in enumerate(cheats)]
    )
    wrong = [
        f"{cheat.name}: {entry['decision']}, {entry['decision_reason']}"
        for cheat, entry in zip(cheats, entries, strict=True)
        if entry["decision"] != cheat.decision or cheat.reason not in entry["decision_reason"]
    ]
    assert not wrong, "\n".join(wrong)
    return entries


def expect_lane_at_tip(ws: Workspace) -> None:
    """The lane stands clean at the last kept commit."""
    lane, manifest = ws.lane(), ws.manifest()
    assert ws.git("rev-parse", "HEAD", cwd=lane) == manifest["last_kept_commit"]
    assert ws.git("symbolic-ref", "--short", "HEAD", cwd=lane) == manifest["branch_name"]
    assert ws.git("status", "--porcelain", cwd=lane) == ""


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
def test_a_commit_that_no_checkout_can_hold_is_discarded(ws: Workspace, isolation: str) -> None:
    """It is its own fault, and no reason to block a run that would meet it again in each further life."""
    prepare(ws, len(IMPOSSIBLE) + 1, keys=f"  isolation: {isolation}\n")
    play(ws, [*IMPOSSIBLE, Cheat("is better", sh("echo 2 > value.txt; git commit -qam 2"), "keep", "score improved")])
    expect_lane_at_tip(ws)


# -- the surface


def test_a_candidate_that_touches_what_measures_it_is_refused_before_it_runs(ws: Workspace) -> None:
    """Mission, contract, the files that evaluator and guard name, protected patterns and git attributes cannot be
    changed in any way or spelling; nothing of such a candidate is run."""
    ws.write(TARGET, "{}\n")
    ws.write("checks.sh", "exit 0\n")
    ws.write("golden/deep/a.txt", "0\n")
    prepare(
        ws,
        len(SURFACE),
        "protected: [golden]\nguard:\n  command: sh checks.sh\n",
        command=f"echo >> {ws.root}/../measured; {sys.executable} missions/m/eval.py --config={TARGET}",
    )
    entries = play(ws, SURFACE)
    assert all(entry["evaluator"] is None for entry in entries)
    assert (ws.root.parent / "measured").read_text().count("\n") == 1, "the baseline"
    assert "What you may change" in (ws.folder() / "iterations/0001/instructions.md").read_text()
    refs = ws.git("for-each-ref", f"refs/omagy/{ws.run_id()}/cand")
    assert all(entry["candidate_commit"] in refs for entry in entries if entry["decision"] == "discard")
    ws.git("gc", "--prune=now", "-q")
    expect_lane_at_tip(ws)


def test_editable_is_the_only_surface_when_it_is_given(ws: Workspace) -> None:
    """With ``editable`` a candidate may change nothing else, and ``protected`` still wins inside of it."""
    ws.write("src/value.txt", "1\n")
    ws.write("src/fixed/a", "1\n")
    ws.write("other.txt", "1\n")
    ws.write("missions/m/eval.py", EVALUATOR.replace("value.txt", "src/value.txt"))
    prepare(ws, len(EDITABLE), "editable: [src]\nprotected: [src/fixed]\n")
    play(ws, EDITABLE)
    assert "Only these paths: `src`" in (ws.folder() / "iterations/0001/instructions.md").read_text()


def test_editable_lifts_the_protection_of_what_a_command_names_but_not_of_the_contract(ws: Workspace) -> None:
    """A program that the evaluator's command names may be the very thing to improve; mission and contract never."""
    prepare(ws, 2, "editable: ['**']\n")
    better = EVALUATOR.replace("float(", "2 * float(")
    entries = launch(
        ws,
        [
            [{"write": {"missions/m/eval.py": better}}, {"commit": "better"}, *ARTIFACT],
            [{"write": {"missions/m/sandbox.md": "x"}}, {"commit": "easier"}, *ARTIFACT],
        ],
    )
    assert [entry["decision"] for entry in entries] == ["keep", "discard"]
    assert "missions/m/sandbox.md: it is protected" in entries[1]["decision_reason"]


# -- the commit is scored, not the tree


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
def test_the_commit_is_measured_whatever_the_lane_was_left_like(ws: Workspace, isolation: str) -> None:
    """Edits that were not committed, flags and forgeries in the index, planted configuration, hooks, filters,
    replaced objects and a swapped .git file change nothing: the score is that of the commit."""
    ws.write(".gitattributes", "missions/m/eval.py filter=absent\n")
    prepare(ws, len(LANE), keys=f"  isolation: {isolation}\n")
    before = ws.users_side()
    play(ws, LANE)
    expect_lane_at_tip(ws)
    ran = list(ws.folder().rglob("evil.sh.ran"))
    assert not ran, "nothing that a session planted was run by the supervisor"
    decoys = list(ws.folder().rglob("decoy/precious"))
    assert decoys
    assert all(decoy.read_text() == "precious\n" for decoy in decoys)
    after = ws.users_side()
    assert after["value.txt"] == before["value.txt"]
    assert after[".git/HEAD"] == before[".git/HEAD"]
    assert after[".git/index"] == before[".git/index"]


def test_settings_that_an_earlier_session_planted_change_nothing_for_a_later_one(ws: Workspace) -> None:
    """A filter that a session plants without handing anything in does not lie in wait for the next candidate."""
    ws.write(".gitattributes", "missions/m/eval.py filter=absent\n")
    prepare(ws, 2)
    entries = launch(ws, [[*sh(FILTER), *noop()], [*sh(HALF), *ARTIFACT]])
    assert [entry["decision"] for entry in entries] == ["noop", "discard"]
    assert TRUTH in entries[1]["decision_reason"]


def test_attributes_that_no_commit_shows_end_the_run(ws: Workspace) -> None:
    """git's info/attributes can change what files contain, and git cannot be told to leave them out: a candidate
    whose session changed them is discarded, and no other session is started until a person has looked."""
    prepare(ws, 2)
    ws.plan(i1=[*sh(HALF + ATTRIBUTES), *ARTIFACT], i2=[*sh(HALF), *ARTIFACT])
    assert ws.launch().returncode == 3
    (entry,) = ws.ledger()["entries"][1:]
    assert entry["decision"] == "discard"
    assert "git's info/attributes changed" in entry["decision_reason"]
    assert "git's info/attributes changed since this run began" in ws.manifest()["stop_reason"]
    (ws.root / ".git/info/attributes").unlink()
    assert ws.resume(ws.run_id()).returncode == 0
    assert TRUTH in ws.ledger()["entries"][2]["decision_reason"]


GULLIBLE_COMMAND = "PATH=node_modules/.bin:$PATH PYTHONPATH=. python3 missions/m/eval.py"
SET_UP = "mkdir -p node_modules/.bin deps; cd node_modules/.bin; printf '#!/bin/sh\\n' > score; chmod +x score"


def gullible(ws: Workspace, iterations: int, isolation: str, ignored: str) -> None:
    """A mission whose evaluator can be fooled by files that nobody committed."""
    ws.write(".gitignore", ignored)
    ws.write("missions/m/eval.py", GULLIBLE)
    ws.write("missions/m/helper.py", HELPER)
    ws.write("set-up.sh", SET_UP + "\n")
    keys = f"  isolation: {isolation}\n"
    prepare(ws, iterations, "worktree:\n  setup: sh set-up.sh\n", keys, f'"{GULLIBLE_COMMAND}"')


def proof(name: str) -> Acts:
    """Run the evaluator as it lies in the lane, and keep what it says."""
    return sh(f'(exec 2>&1; {GULLIBLE_COMMAND}) > "$OMAGY_CANDIDATE_FILE.{name}" || true')


def test_ignored_files_that_a_session_planted_do_not_reach_a_fresh_checkout(ws: Workspace) -> None:
    """With isolation fresh, modules, bytecode, .pth files and programs that a session left where the evaluator picks
    them up are not there when it runs."""
    gullible(ws, len(PLANTS), "fresh", IGNORED)
    sessions = [
        [*sh("git clean -qfdX; sh set-up.sh"), *plant, *proof("proof"), *sh(HALF), *ARTIFACT]
        for plant in PLANTS.values()
    ]
    entries = launch(ws, sessions)
    for number, name in enumerate(PLANTS, start=1):
        said = (ws.folder() / f"iterations/{number:04d}/outbox/candidate.json.proof").read_text()
        assert "100" in said, f"{name} is a real danger: {said}"
    found = [(entry["decision"], TRUTH in entry["decision_reason"]) for entry in entries]
    assert found == [("discard", True)] * len(PLANTS), entries


def test_what_a_candidate_leaves_while_it_is_measured_does_not_reach_the_next_measurement(ws: Workspace) -> None:
    """Ignored files that candidate code writes into a fresh checkout are gone before anything else is measured."""
    ws.write(".gitignore", "json.py\n")
    ws.write("program.py", "")
    ws.write("missions/m/eval.py", EVALUATOR.replace("json\n", "json\nexec(open('program.py').read())\n"))
    prepare(ws, 2, keys="  isolation: fresh\n")
    leave = f"open('missions/m/json.py', 'w').write({LIES + 'dumps = str'!r})\n"
    entries = launch(
        ws,
        [
            [
                {"write": {"program.py": leave}},
                *sh("git add program.py"),
                *sh(HALF.replace("value.txt;", "-a;")),
                *ARTIFACT,
            ],
            [*sh(HALF), *ARTIFACT],
        ],
    )
    assert [entry["decision"] for entry in entries] == ["discard", "discard"], entries
    assert TRUTH in entries[1]["decision_reason"]


def test_files_that_are_not_ignored_are_gone_before_a_candidate_is_measured_in_the_lane(ws: Workspace) -> None:
    """By default the lane is cleaned of everything untracked: only what git ignores stays, as the guide says."""
    gullible(ws, len(PLANTS), "lane", "deps/\nnode_modules/\n")
    planted = [name for name in PLANTS if "PATH" not in name and "pth" not in name]
    entries = launch(ws, [[*PLANTS[name], *proof("proof"), *sh(HALF), *ARTIFACT] for name in planted])
    for number, name in enumerate(planted, start=1):
        said = (ws.folder() / f"iterations/{number:04d}/outbox/candidate.json.proof").read_text()
        assert "100" in said, f"{name} is a real danger: {said}"
    done = entries[: len(planted)]
    assert [TRUTH in entry["decision_reason"] for entry in done] == [True] * len(planted), done
    assert all(entry["leftovers_ref"] for entry in done), "nothing is lost"


def test_what_a_guard_leaves_in_the_lane_is_gone_before_the_next_session(ws: Workspace) -> None:
    """Kept at once or not: the lane was seen clean before the guard ran, which says nothing of it afterwards."""
    prepare(ws, 3, "guard:\n  command: rm value.*; touch left\n")
    look = sh('(git status --porcelain; cat value.txt) > "$OMAGY_CANDIDATE_FILE.seen"')
    better = [{"write": {"value.txt": "2"}}, *sh("git commit -q -a -m better"), *ARTIFACT]
    entries = launch(ws, [better, [*look, *sh(HALF), *ARTIFACT], [*look, *noop()]])
    assert [entry["decision"] for entry in entries] == ["keep", "discard", "noop"], entries
    seen = [ws.folder() / f"iterations/{number:04d}/outbox/candidate.json.seen" for number in (2, 3)]
    assert [path.read_text() for path in seen] == ["2", "2"]


# -- what goes on after a session


ESCAPE = (
    'env -i PATH="$PATH" setsid nohup sh -c \'trap "" TERM HUP INT; echo $$ > "$0.pid"; cd "$1"; '
    'while ! test -e "$2"; do sleep 0.01; done; echo 100 > value.txt; git commit -q -a -m late; touch "$0.late"\' '
    '"$OMAGY_CANDIDATE_FILE" "$PWD" "$(dirname "$(dirname "$OMAGY_CANDIDATE_FILE")")/exit.json" >/dev/null 2>&1 & '
    'while ! test -s "$OMAGY_CANDIDATE_FILE.pid"; do :; done; '
)


def test_a_process_in_the_background_ends_with_its_session(ws: Workspace) -> None:
    """One that left the session, cleared its environment and ignores every signal commits nothing afterwards."""
    prepare(ws, 2)
    entries = launch(ws, [[*sh(ESCAPE + HALF), *ARTIFACT], noop()])
    assert entries[0]["decision"] == "discard"
    assert TRUTH in entries[0]["decision_reason"]
    outbox = ws.folder() / "iterations/0001/outbox"
    assert not (outbox / "candidate.json.late").exists()
    assert not lives(int((outbox / "candidate.json.pid").read_text()))
    expect_lane_at_tip(ws)


LATE = """\
import json, os, subprocess
score = float(open("value.txt").read())
if score == 0.5 and not os.path.exists("../late"):
    open("../late", "w").close()
    lane = os.environ["LANE"]
    for line in ("echo 100 > value.txt; git commit -q -a -m late", "echo 200 > value.txt"):
        subprocess.run(["sh", "-c", line], cwd=lane, check=True)
print(json.dumps({"pass": True, "score": score}))
"""


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
def test_a_commit_that_lands_after_its_session_goes_to_quarantine(ws: Workspace, isolation: str) -> None:
    """A commit that turns up in the lane while the candidate is measured is kept under the run's quarantine refs, and
    neither scored nor kept."""
    ws.write("missions/m/eval.py", LATE)
    command = f'LANE="$(ls -d {ws.root}.omagy-worktrees/*[0-9]Z)" {sys.executable} missions/m/eval.py'
    prepare(ws, 2, keys=f"  isolation: {isolation}\n  repeats: 2\n  retest: 0\n", command=f"'{command}'")
    entries = launch(ws, [[*sh(HALF), *ARTIFACT], noop()])
    assert entries[0]["decision"] == "discard"
    assert TRUTH in entries[0]["decision_reason"]
    assert entries[0]["evaluator"]["samples"] == [0.5, 0.5]
    refs = ws.git("for-each-ref", "--format=%(refname) %(subject)", f"refs/omagy/{ws.run_id()}/quarantine")
    assert refs.endswith(" late")
    (ref,) = [line.split()[0] for line in refs.splitlines()]
    assert ws.git("show", f"{ref}:value.txt") == "100"
    assert ref.rpartition("/")[2] not in json.dumps(entries)
    expect_lane_at_tip(ws)


# -- candidates that attack the evaluator


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
def test_an_evaluator_that_runs_the_candidate_apart_and_answers_last_is_believed(
    ws: Workspace, isolation: str
) -> None:
    """What is promised: what lies at OMAGY_RESULT_FILE when the evaluator has ended counts, and an evaluator that was
    killed, hung or failed has no score whatever lies there. One that runs the candidate in a process of its own and
    writes its answer last can therefore not be lied to, and nothing that the candidate started or changed reaches the
    next measurement."""
    ws.write("program.py", "print(1)\n")
    ws.write("missions/m/eval.py", CAREFUL)
    prepare(ws, len(ATTACKS), keys=f"  isolation: {isolation}\n  timeout: 60s\n  repeats: 2\n  retest: 0\n")
    play(ws, ATTACKS)
    expect_lane_at_tip(ws)


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
def test_candidates_that_never_end_are_ended_and_the_next_one_is_measured(ws: Workspace, isolation: str) -> None:
    """One that hangs, and one that leaves its output open to a daemon which no polite signal ends."""
    ws.write("program.py", "echo 1\n")
    ws.write("missions/m/eval.sh", CAREFUL_SHELL)
    keys = f"  isolation: {isolation}\n  timeout: {LIMIT_S}s\n  repeats: 2\n  retest: 0\n"
    prepare(ws, len(ENDLESS), keys=keys, command="sh missions/m/eval.sh")
    play(ws, ENDLESS)
    daemon = int(told(ws.folder() / "iterations/0003/evaluator-result.json.pid"))
    assert not lives(daemon)
    expect_lane_at_tip(ws)


# -- evaluators that change the tree


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
def test_what_an_evaluator_changes_is_undone_and_recorded(ws: Workspace, isolation: str) -> None:
    """Changed, new, removed and unreadable files, lock files, snapshots and repositories that an evaluation leaves
    are named in its record, and are in nobody's way."""
    ws.write("missions/m/eval.py", "import os\nos.system(open('dirt.sh').read())\n" + EVALUATOR)
    ws.write("dirt.sh", "true\n")
    ws.write("other.txt", "other\n")
    ws.write("uv.lock", "dep==1\n")
    prepare(ws, len(DIRT), keys=f"  isolation: {isolation}\n")
    sessions: list[Acts] = [
        [{"write": {"dirt.sh": dirt.program, "value.txt": str(score)}}, {"commit": dirt.name}, *ARTIFACT]
        for score, dirt in enumerate(DIRT, start=2)
    ]
    entries = launch(ws, sessions)
    for dirt, entry in zip(DIRT, entries, strict=True):
        assert entry["decision"] == "keep", (dirt.name, entry["decision_reason"])
        named = entry["evaluator"]["evaluator_dirty"]
        assert len(named) <= 20
        for path in dirt.named:
            assert any(one.startswith(path) for one in named), (dirt.name, named)
    kept = {line.split("\t")[1] for line in ws.git("ls-tree", "-r", ws.manifest()["last_kept_commit"]).splitlines()}
    assert kept == {"dirt.sh", "other.txt", "uv.lock", "value.txt", *(f"missions/m/{name}" for name in MISSION)}
    expect_lane_at_tip(ws)


MISSION = ("eval.py", "mission.md", "sandbox.md")


# -- guard, held-out check, constraints, ties, builds


CHECKED = """\
import json
fields = json.load(open("answer.json"))
print(json.dumps({"pass": True, **fields}))
"""


def answer(files: dict[str, str] | None = None, **fields: float) -> Acts:
    """A candidate for ``CHECKED``, with other ``files`` that it brings."""
    return [{"write": {"answer.json": json.dumps(fields), **(files or {})}}, {"commit": "c"}, *ARTIFACT]


SECRET = "the-secret-answer-is-42"
HOLDOUT = f"""\
import json, sys
from pathlib import Path
print("{SECRET}")
print("{SECRET}", file=sys.stderr)
assert Path("hidden/cases.txt").read_text() == "{SECRET}\\n"
sys.exit(json.load(open("answer.json"))["score"] % 2 == 1)
"""


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
def test_a_candidate_that_would_be_kept_has_to_pass_everything(ws: Workspace, isolation: str) -> None:
    """Build, constraints, guard and held-out check each refuse a better score with their own reason; a tie is kept
    for less code only; what the held-out check says or reads is in nothing that an agent is shown."""
    ws.write("missions/m/eval.py", CHECKED)
    ws.write("answer.json", '{"score": 2, "memory": 10}\n')
    ws.write("code.txt", "a\nb\nc\nd\n")
    ws.write(".gitignore", "/hidden\n")
    ws.write("hidden/cases.txt", SECRET + "\n")
    ws.write("hidden/holdout.py", HOLDOUT)
    keys = (
        "  build: test ! -e broken-build || { echo cannot compile >&2; exit 3; }\n"
        "  tie: smaller_diff\n  constraints:\n    - {metric: memory, max: 100}\n    - {metric: speed, min: 1}\n"
        f"  holdout: {{command: {sys.executable} hidden/holdout.py, timeout: 20s, files: [hidden]}}\n"
        f"  isolation: {isolation}\n"
    )
    ws.write("answer.json", '{"score": 2, "memory": 10, "speed": 2}\n')
    sessions = [
        answer({"broken-build": ""}, score=4, memory=10, speed=2),
        answer(score=4, memory=101, speed=2),
        answer(score=4, memory=10, speed=0.5),
        answer(score=4, memory=10),
        answer({"broken": ""}, score=4, memory=10, speed=2),
        answer({"hangs": ""}, score=4, memory=10, speed=2),
        answer(score=5, memory=10, speed=2),
        [*sh("test ! -e hidden"), *answer(score=6, memory=100, speed=1)],
        answer({"code.txt": "a\nb\nc\nd\ne\n"}, score=6, memory=50, speed=3),
        answer({"code.txt": "a\n"}, score=6, memory=100, speed=1),
        answer({"code.txt": ""}, score=6, memory=1000, speed=1),
        answer({"code.txt": "", "broken": ""}, score=6, memory=100, speed=1),
    ]
    guard = (
        "guard:\n  timeout: 8s\n  command: test ! -e hangs || exec sleep 600; "
        "test ! -e broken || { echo starting; echo '3 tests failed in test_a.py' >&2; exit 5; }\n"
    )
    prepare(ws, len(sessions), guard, keys)
    entries = launch(ws, sessions)
    expected = [
        ("discard", "the build (evaluator.build) exited with status 3: cannot compile"),
        ("discard", "memory is 101, above its limit of 100"),
        ("discard", "speed is 0.5, below its limit of 1"),
        ("discard", "the evaluator gave no metric speed, which a constraint needs"),
        ("discard", "guard failed: it exited with status 5: 3 tests failed in test_a.py"),
        ("discard", "guard failed: it was stopped at its time limit of 8.0s"),
        ("discard", "held-out check failed: it exited with status 1"),
        ("keep", "score improved: 2 → 6"),
        ("discard", "score is the same: 6"),
        ("keep", "the same score 6 with less code (0 lines added, 3 removed)"),
        ("discard", "memory is 1000, above its limit"),
        ("discard", "guard failed: it exited with status 5"),
    ]
    found = [(entry["decision"], entry["decision_reason"]) for entry in entries]
    assert [decision for decision, _ in found] == [decision for decision, _ in expected], found
    for (_, reason), (_, words) in zip(found, expected, strict=True):
        assert words in reason
    assert entries[7]["evaluator"]["metrics"] == {"memory": 100, "speed": 1}
    assert [one["kind"] for one in entries[7]["measurements"]] == ["evaluator", "guard", "holdout"]
    expect_secret(ws)


def expect_secret(ws: Workspace) -> None:
    """The held-out check's words are in one folder only, and its files in none."""
    folders = (ws.folder(), ws.lane().parent, ws.root / ".omagy/autoresearch")
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    telling = [path for path in files if SECRET in path.read_text(errors="replace")]
    assert {path.parent.name for path in telling} == {"held-out"}
    assert not [path for path in files if path.name in ("cases.txt", "holdout.py")]
    assert (ws.root / "hidden/cases.txt").read_text() == SECRET + "\n"
    assert (ws.root / "hidden/holdout.py").read_text() == HOLDOUT


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
def test_links_of_a_candidate_do_not_lead_copies_out_of_the_checkout(ws: Workspace, isolation: str) -> None:
    """A candidate that puts a link where held-out or copied files have their folder cannot make omagy write or remove
    anything where the link leads."""
    ws.write(".gitignore", "hidden/\n.env.d/\n")
    ws.write("hidden/cases.txt", "cases\n")
    ws.write(".env.d/key", "key\n")
    elsewhere = ws.root.parent / "elsewhere"
    (elsewhere / "hidden").mkdir(parents=True)
    (elsewhere / "cases.txt").write_text("precious\n")
    (elsewhere / "key").write_text("precious\n")
    keys = f"  isolation: {isolation}\n  holdout: {{command: test -f hidden/cases.txt, files: [hidden/cases.txt]}}\n"
    prepare(ws, 4, "worktree:\n  copy: [.env.d/key]\n", keys)
    better = "echo {0} > value.txt; git add -A -f; git commit -q -m x"
    sessions = [
        [*sh(f"rm -rf {name}; ln -s {target} {name}; {better.format(score)}"), *ARTIFACT]
        for score, (name, target) in enumerate(
            [
                ("hidden", ws.root / "hidden"),
                ("hidden", elsewhere),
                (".env.d", elsewhere),
                (".env.d", ws.root / ".env.d"),
            ],
            start=2,
        )
    ]
    entries = launch(ws, sessions)
    assert [entry["decision"] for entry in entries] == ["keep"] * 4, entries
    assert (ws.root / "hidden/cases.txt").read_text() == "cases\n"
    assert (ws.root / ".env.d/key").read_text() == "key\n"
    assert sorted(path.name for path in elsewhere.iterdir()) == ["cases.txt", "hidden", "key"]
    assert (elsewhere / "cases.txt").read_text() == (elsewhere / "key").read_text() == "precious\n"


# -- set-up and copies


def test_a_set_up_that_fails_blocks_the_launch(ws: Workspace) -> None:
    """A lane that cannot be set up is nobody's candidate: the run ends blocked with the reason, without a session."""
    prepare(ws, 1, "worktree:\n  setup: echo no such package >&2; exit 4\n")
    ws.plan()
    done = ws.launch()
    assert done.returncode == 3
    assert "the set-up (worktree.setup) exited with status 4: no such package" in ws.manifest()["stop_reason"]
    assert ws.ledger()["entries"] == []
    assert not (ws.folder() / "iterations/0001").exists()


@pytest.mark.parametrize("isolation", ["lane", "fresh"])
def test_the_set_up_is_made_once_and_again_when_dependencies_change(ws: Workspace, isolation: str) -> None:
    """It runs when the lane is made and for a candidate whose lock file differs, not for every candidate; one that it
    fails for is discarded with that reason."""
    log = ws.root.parent / "set-ups"
    ws.write("requirements.txt", "a==1\n")
    ws.write(".gitignore", "deps\n")
    frontmatter = f"worktree:\n  setup: cat requirements.txt >> {log}; cp requirements.txt deps; ! grep -q bad deps\n"
    prepare(
        ws, 4, frontmatter, f"  isolation: {isolation}\n", f"grep -q == deps && {sys.executable} missions/m/eval.py"
    )

    def with_(score: int, requirements: str) -> Acts:
        return [{"write": {"value.txt": str(score), "requirements.txt": requirements}}, {"commit": "c"}, *ARTIFACT]

    entries = launch(ws, [with_(2, "a==1\n"), with_(3, "a==2\n"), with_(4, "bad==1\n"), with_(5, "a==2\n")])
    assert [entry["decision"] for entry in entries] == ["keep", "keep", "discard", "keep"], entries
    assert "the set-up (worktree.setup) exited with status 1" in entries[2]["decision_reason"]
    once = ["a==1"] * (1 if isolation == "lane" else 2)
    assert log.read_text().split()[: len(once) + 2] == [*once, "a==2", "bad==1"]
    assert set(log.read_text().split()[len(once) + 2 :]) <= {"a==2"}


def test_copies_are_the_lanes_own(ws: Workspace) -> None:
    """worktree.copy gives the lane files of its own: what a session does to them does not reach the user's, links in
    them included, and the user's own are brought again for the evaluation."""
    outside = ws.root.parent / "outside.txt"
    outside.write_text("outside\n")
    ws.write(".gitignore", ".env\nassets/\n")
    ws.write(".env", "KEY=1\n")
    ws.write("assets/deep/a", "a\n")
    (ws.root / "assets/link").symlink_to(outside)
    ws.write("missions/m/eval.py", EVALUATOR + "assert open('.env').read() == 'KEY=1\\n'\n")
    prepare(ws, 1, "worktree:\n  copy: [.env, assets]\n")
    spoil = (
        "test ! -L .env; echo KEY=2 > .env; echo b > assets/deep/a; echo spoilt > assets/link; echo 2 > value.txt; "
    )
    (entry,) = launch(ws, [[*sh(spoil + "git commit -q -a -m two"), *ARTIFACT]])
    assert entry["decision"] == "keep", entry
    assert (ws.root / ".env").read_text() == "KEY=1\n"
    assert (ws.root / "assets/deep/a").read_text() == "a\n"
    assert outside.read_text() == "outside\n"
    assert not (ws.lane() / "assets/link").is_symlink()


@pytest.mark.parametrize(
    ("name", "ignored", "frontmatter", "complaint"),
    [
        (".env", "", "worktree:\n  copy: [.env]\n", "worktree.copy: git does not ignore .env"),
        (".env", ".env\n", "worktree:\n  copy: [.envrc]\n", "worktree.copy: .envrc does not exist in"),
        (
            ".env",
            ".env\n",
            "worktree:\n  copy: [/etc/passwd]\n",
            "worktree.copy: must be a path inside the repository",
        ),
        (".env", ".env\n", "worktree:\n  copy: [../x]\n", "worktree.copy: must be a path inside"),
    ],
)
def test_copies_that_cannot_work_are_refused_before_anything_is_made(
    ws: Workspace, name: str, ignored: str, frontmatter: str, complaint: str
) -> None:
    """A file that is missing, or that an agent would commit because git does not ignore it, is told at launch."""
    ws.write(name, "KEY=1\n")
    ws.write(".gitignore", ignored)
    prepare(ws, 1, frontmatter)
    ws.git("rm", "-q", "--cached", "--ignore-unmatch", name)
    ws.git("commit", "-q", "--allow-empty", "-m", "untracked")
    done = ws.launch()
    assert done.returncode == 2
    assert complaint in done.stderr
    assert ws.run_ids() == []


def test_held_out_files_that_an_agent_could_read_are_refused(ws: Workspace) -> None:
    """Files of a held-out check that are tracked, or missing, are told at launch."""
    ws.write("hidden.py", "x\n")
    prepare(ws, 1, keys="  holdout: {command: python3 hidden.py, files: [hidden.py]}\n")
    done = ws.launch()
    assert done.returncode == 2
    assert "evaluator.holdout.files: hidden.py is in the repository, where every agent can read it" in done.stderr
    assert "git rm --cached 'hidden.py'" in done.stderr
    ws.git("rm", "-q", "hidden.py")
    ws.git("commit", "-q", "-m", "gone")
    done = ws.launch()
    assert done.returncode == 2
    assert "hidden.py does not exist" in done.stderr
