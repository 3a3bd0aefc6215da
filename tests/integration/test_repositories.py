"""Repositories as people have them: large, oddly named, configured in every way; none of them is touched by a run."""

import os
import subprocess
from pathlib import Path

import pytest

from fakes.workspace import EVALUATOR, Workspace, candidate, noop, workspace


def prepared(ws: Workspace, name: str = "missions/m") -> None:
    ws.mission("budget:\n  max_iterations: 2\n", name=name)
    ws.commit()
    ws.plan(i1=candidate(3), i2=candidate(2))


def runs(ws: Workspace, *options: str, mission: str = "missions/m") -> str:
    """A run of two sessions, one kept and one discarded; returns what it said."""
    before = len(ws.run_ids())
    done = ws.launch(*options, mission=mission)
    assert done.returncode == 0, done.stderr
    if len(ws.run_ids()) == 1:
        assert ws.decisions() == ["baseline", "keep", "discard"], done.stderr
    assert len(ws.run_ids()) in (before, before + 1)
    return done.stderr


def hook(ws: Workspace, name: str) -> None:
    """A hook that leaves a trace and fails."""
    path = ws.root / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch '{ws.root.parent}/hook-{name}'\nexit 1\n")
    path.chmod(0o755)


def test_a_run_touches_nothing_of_the_users(ws: Workspace) -> None:
    """Checkout, index, HEAD, branches, hooks, config and stash are byte for byte as they were, with uncommitted work
    of every kind in the checkout; the note counts what is not part of the run, and info/exclude gains one block."""
    prepared(ws)
    for name in ("pre-commit", "commit-msg", "post-commit", "post-checkout", "reference-transaction", "post-rewrite"):
        hook(ws, name)
    ws.git("config", "core.hooksPath", ".git/hooks")
    ws.write("value.txt", "stashed")
    ws.git("-c", "core.hooksPath=/dev/null", "stash", "-q")
    ws.git("-c", "core.hooksPath=/dev/null", "branch", "other")
    ws.write("value.txt", "not committed")
    ws.write("staged.txt", "staged")
    ws.git("add", "staged.txt")
    ws.write("untracked/a b.txt", "untracked")
    ws.write("untracked/c.txt", "untracked")
    exclude = ws.root / ".git/info/exclude"
    own_lines = exclude.read_bytes() + b"# mine\n*.bak"
    exclude.write_bytes(own_lines)
    before, status = ws.users_side(), ws.git("--no-optional-locks", "status", "--porcelain")
    said = runs(ws)
    assert "note: 3 uncommitted paths outside the mission are not part of the run" in said
    assert ws.users_side() == before
    assert ws.git("--no-optional-locks", "status", "--porcelain") == status
    assert not list(ws.root.parent.glob("hook-*"))
    assert ws.git("show", f"{ws.manifest()['baseline_commit']}:value.txt") == "1"
    assert ws.git("for-each-ref", "--format=%(refname)", "refs/heads").split() == [
        *(f"refs/heads/{ws.manifest()['branch_name']}", "refs/heads/main", "refs/heads/other"),
    ]
    block = exclude.read_bytes().removeprefix(own_lines + b"\n").decode().splitlines()
    assert block[0].startswith("# >>> omagy")
    assert block[1:] == ["/results.tsv", "/run.log", "/candidate.json", "# <<< omagy"]
    ws.plan(default=noop())
    ws.launch()
    assert exclude.read_bytes().decode().count("omagy: files of running lanes") == 1


def test_an_uncommitted_mission_is_recorded_as_the_baseline(ws: Workspace) -> None:
    """The lane's first commit holds the mission folder as it lies in the checkout, and nothing else."""
    prepared(ws)
    start = ws.git("rev-parse", "HEAD")
    ws.mission("budget:\n  max_iterations: 2\n", evaluator=f"# changed\n{EVALUATOR}")
    ws.write("missions/m/data/new.txt", "new")
    (ws.root / "missions/m/mission.md").write_text("Changed.\n")
    ws.git("add", "missions/m/mission.md")
    (ws.root / "missions/m/mission.md").write_text("Changed again.\n")
    ws.write("missions/other.txt", "not part of it")
    before = ws.users_side()
    said = runs(ws)
    assert "missions/m is not committed as it lies here; the lane's first commit records it" in said
    assert "note: 1 uncommitted path outside the mission is not part of the run" in said
    assert ws.users_side() == before
    baseline = ws.manifest()["baseline_commit"]
    assert ws.git("rev-parse", f"{baseline}^") == start
    assert ws.git("show", f"{baseline}:missions/m/mission.md") == "Changed again."
    assert ws.git("show", f"{baseline}:missions/m/data/new.txt") == "new"
    assert ws.git("diff", "--name-only", start, baseline).split() == [
        *("missions/m/data/new.txt", "missions/m/eval.py", "missions/m/mission.md"),
    ]
    assert "Changed again." in (ws.folder() / "iterations/0001/instructions.md").read_text()
    clean = ws.commit("everything")
    ws.launch()
    assert sorted(ws.manifest(run)["baseline_commit"] for run in ws.run_ids()) == sorted([baseline, clean])


def test_hooks_signing_and_a_missing_identity_stop_nobody(ws: Workspace) -> None:
    """The user's hooks, a signing key that is not there and no name at all: commits of sessions and ours succeed."""
    prepared(ws)
    hook(ws, "pre-commit")
    hook(ws, "prepare-commit-msg")
    ws.git("config", "--global", "commit.gpgsign", "true")
    ws.git("config", "commit.gpgsign", "true")
    ws.git("config", "tag.gpgsign", "true")
    ws.git("config", "user.signingkey", "0123456789ABCDEF")
    ws.git("config", "gpg.program", "/nowhere/gpg")
    ws.git("config", "--global", "--unset", "user.name")
    ws.git("config", "--global", "--unset", "user.email")
    ws.git("config", "user.useConfigOnly", "true")
    ws.write("missions/m/new.txt", "makes a snapshot commit")
    before = ws.users_side()
    runs(ws)
    assert ws.users_side() == before
    authors = ws.git("log", "--format=%an <%ae>", f"main..{ws.manifest()['branch_name']}").splitlines()
    assert authors == ["omagy agent <omagy-agent@localhost>", "omagy <omagy@localhost>"]


def test_the_users_identity_makes_the_commits(ws: Workspace) -> None:
    """With an identity set, snapshot, candidates and leftovers carry it, wherever it is configured."""
    prepared(ws)
    ws.git("config", "user.name", "Repo Person")
    ws.write("missions/m/new.txt", "makes a snapshot commit")
    runs(ws)
    authors = ws.git("log", "--format=%an <%ae>", f"main..{ws.manifest()['branch_name']}").splitlines()
    assert set(authors) == {"Repo Person <person@example.invalid>"}


@pytest.mark.parametrize(
    ("name", "mission"),
    [
        ("with space and 'quote\"", "missions/My first one"),
        ("ünïcode 漢字 $HOME `x` ;&", "missions/Übung nr 1"),
        ("-dash\\back%s", "missions/m"),
        ("new\nline", "missions/m"),
    ],
    ids=["quotes", "unicode", "dash", "newline"],
)
def test_oddly_named_folders_are_fine(tmp_path: Path, name: str, mission: str) -> None:
    """Repository, mission and files may be called what their owner likes."""
    with workspace(tmp_path, name) as ws:
        ws.mission(
            "budget:\n  max_iterations: 2\n",
            name="missions/plain",
        )
        (ws.root / "missions/plain").rename(ws.root / mission)
        sandbox = ws.root / mission / "sandbox.md"
        text = sandbox.read_text().replace("missions/plain/eval.py", f"'{mission}/eval.py'")
        sandbox.write_text(text)
        ws.write('odd "file" ü\t漢.txt', "x")
        ws.commit()
        ws.plan(
            i1=[{"write": {"new\nfile 'ü'.txt": "y"}}, *candidate(3)], i2=[*candidate(2), {"write": {"left ö": "z"}}]
        )
        before = ws.users_side()
        runs(ws, mission=mission)
        assert ws.users_side() == before
        assert (ws.lane() / "new\nfile 'ü'.txt").read_text() == "y"
        assert not (ws.lane() / "left ö").exists()
        assert ws.git("show", f"refs/omagy/{ws.run_id()}/leftovers/2.1:left ö") == "z"
        assert ws.omagy("autoresearch", "status").returncode == 0
        assert ws.manifest()["repo_root"] == str(ws.root)


def test_a_run_starts_from_a_detached_head_and_from_any_folder(ws: Workspace) -> None:
    """Where one stands in the repository does not matter, nor whether a branch is checked out."""
    prepared(ws)
    first = ws.git("rev-parse", "HEAD")
    ws.write("value.txt", "50")
    ws.commit("later")
    ws.git("checkout", "-q", "--detach", first)
    before = ws.users_side()
    done = ws.omagy("autoresearch", "--foreground", "--agent", ws.agent, "m", cwd=ws.root / "missions")
    assert done.returncode == 0, done.stderr
    assert ws.users_side() == before
    assert ws.manifest()["baseline_commit"] == first
    assert ws.manifest()["mission_dir"] == "missions/m"
    assert ws.omagy("autoresearch", "status", cwd=ws.root / "missions/m").returncode == 0
    ws.launch(mission=str(ws.root / "missions/m") + "/")
    outside = ws.omagy(
        "autoresearch", "--foreground", "--agent", ws.agent, str(ws.root / "missions/m"), cwd=ws.root.parent
    )
    assert outside.returncode == 0, outside.stderr
    assert len(ws.run_ids()) == 3


def test_a_run_starts_from_a_linked_worktree(ws: Workspace) -> None:
    """In a worktree of the user's own the run starts from what is checked out there, and touches neither checkout."""
    prepared(ws)
    linked = ws.root.parent / "linked tree"
    ws.git("worktree", "add", "-q", "-b", "feature", str(linked))
    (linked / "value.txt").write_text("2")
    ws.git("commit", "-q", "-a", "-m", "feature", cwd=linked)
    side, head = ws.users_side(), ws.git("rev-parse", "feature")
    (index,) = (ws.root / ".git/worktrees").glob("*/index")
    held = index.read_bytes()
    done = ws.omagy("autoresearch", "--foreground", "--agent", ws.agent, "missions/m", cwd=linked)
    assert done.returncode == 0, done.stderr
    assert ws.users_side() == side
    assert index.read_bytes() == held
    assert ws.git("rev-parse", "feature") == head
    assert ws.git("--no-optional-locks", "status", "--porcelain", cwd=linked) == ""
    (run_id,) = (path.name for path in (linked / ".omagy/logs/autoresearch").iterdir())
    assert ws.omagy("autoresearch", "status", run_id, cwd=linked).returncode == 0
    assert ws.git("merge-base", "feature", f"refs/omagy/{run_id}/kept") == head


def test_variables_of_git_in_the_environment_do_not_matter(ws: Workspace) -> None:
    """Called from a hook, or with locations of another repository set, a run works in the mission's repository."""
    prepared(ws)
    other = ws.root.parent / "other"
    subprocess.run(["git", "init", "-q", str(other)], env=ws.environment, check=True)
    astray = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / "index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git/objects"),
        "GIT_COMMON_DIR": str(other / ".git"),
        "GIT_CEILING_DIRECTORIES": str(ws.root),
        "GIT_NAMESPACE": "astray",
        "GIT_PREFIX": "astray/",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_AUTHOR_DATE": "garbage",
    }
    before = ws.users_side()
    clean = dict(ws.environment)
    ws.environment.update(astray)
    done = ws.launch()
    ws.environment.clear()
    ws.environment.update(clean)
    assert done.returncode == 0, done.stderr
    assert ws.decisions() == ["baseline", "keep", "discard"]
    assert ws.users_side() == before
    assert not (other / "index").exists()


def test_submodules_are_named_and_what_a_session_does_in_one_is_harmless(ws: Workspace) -> None:
    """A lane does not check submodules out, and says so; a session may, and neither its builds nor its changes in one
    end the run."""
    library = ws.root.parent / "library"
    subprocess.run(["git", "init", "-q", "-b", "main", str(library)], env=ws.environment, check=True)
    (library / "lib.txt").write_text("lib")
    ws.git("add", "-A", cwd=library)
    ws.git("commit", "-q", "-m", "lib", cwd=library)
    allow = ("-c", "protocol.file.allow=always")
    ws.git(*allow, "submodule", "--quiet", "add", str(library), "libs/one")
    ws.mission("budget:\n  max_iterations: 4\neditable: ['**']\n")
    ws.commit()
    update = "git -c protocol.file.allow=always submodule --quiet update --init"
    ws.plan(
        i1=[{"sh": f"{update}; touch libs/one/built.o"}, *candidate(3)],
        i2=[{"sh": f"{update}; echo changed > libs/one/lib.txt"}, *candidate(2)],
        i3=[{"sh": f"{update}; cd libs/one && git commit -q --allow-empty -m further"}, *candidate(4)],
        i4=[{"sh": f"{update}; cd libs/one && git commit -q --allow-empty -m other"}, *noop()],
    )
    before = ws.users_side()
    done = ws.launch()
    assert done.returncode == 0, done.stderr
    assert "note: submodules are not checked out in the lane: libs/one" in done.stderr
    assert ws.decisions() == ["baseline", "keep", "discard", "keep", "noop"]
    assert ws.users_side() == before
    assert (ws.root / "libs/one/lib.txt").read_text() == "lib"
    assert ws.git("status", "--porcelain", "--ignore-submodules=untracked", cwd=ws.lane()) == ""


def test_filters_of_the_users_configuration_are_applied(ws: Workspace) -> None:
    """A clean and smudge filter such as git-lfs in the user's own configuration works in lanes and in snapshots."""
    ws.git("config", "--global", "filter.swap.clean", "tr a-z A-Z")
    ws.git("config", "--global", "filter.swap.smudge", "tr A-Z a-z")
    ws.git("config", "--global", "filter.swap.required", "true")
    ws.git("config", "--global", "core.autocrlf", "input")
    ws.write(".gitattributes", "*.swap filter=swap\n")
    ws.write("data.swap", "small letters\n")
    prepared(ws)
    assert ws.git("show", "HEAD:data.swap") == "SMALL LETTERS"
    ws.write("missions/m/more.swap", "more\n")
    runs(ws)
    assert (ws.lane() / "data.swap").read_text() == "small letters\n"
    assert (ws.lane() / "missions/m/more.swap").read_text() == "more\n"
    assert ws.git("show", f"{ws.manifest()['baseline_commit']}:missions/m/more.swap") == "MORE"
    assert ws.git("status", "--porcelain", cwd=ws.lane()) == ""


def test_a_path_in_the_users_configuration_need_be_no_text(ws: Workspace) -> None:
    """It is kept for the life of the run as git has it."""
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.plan(i1=[{"write": {"value.txt": "2", "junk": "x"}}, {"commit": "two"}, {"artifact": {}}])
    ignored = ws.root.parent / os.fsdecode(b"\xe9")
    ignored.write_text("junk\n")
    ws.git("config", "--global", "core.excludesFile", str(ignored))
    ws.commit()
    done = ws.launch()
    assert done.returncode == 0, done.stderr
    assert ws.decisions() == ["baseline", "keep"]


def test_twenty_thousand_files_are_no_burden(ws: Workspace) -> None:
    """A large repository gets its lane, keeps, discards and saves leftovers like any other."""
    for folder in range(200):
        path = ws.root / f"tree/{folder:03d}"
        path.mkdir(parents=True)
        for number in range(100):
            (path / f"{number:02d}.txt").write_text(f"{folder} {number}\n")
    ws.mission("budget:\n  max_iterations: 3\n")
    ws.git("config", "gc.auto", "0")  # or the person's own git would tidy up while we look
    ws.commit()
    ws.git("config", "--unset", "gc.auto")
    ws.plan(
        i1=[{"sh": "for d in tree/0*; do echo changed > $d/00.txt; done"}, *candidate(3)],
        i2=[{"sh": "rm -r tree/1*; mkdir tree/new; echo x > tree/new/file"}, *candidate(2)],
        i3=[{"sh": "rm -r tree/0*"}, *noop()],
    )
    before = ws.users_side()
    done = ws.launch()
    assert done.returncode == 0, done.stderr
    assert ws.decisions() == ["baseline", "keep", "discard", "noop"]
    assert ws.users_side() == before
    assert ws.ledger()["entries"][1]["diff"]["files"] == 101
    assert sum(1 for path in (ws.lane() / "tree").rglob("*.txt")) == 20_000
    assert ws.git("status", "--porcelain", cwd=ws.lane()) == ""
    instructions = (ws.folder() / "iterations/0003/instructions.md").stat().st_size
    assert instructions < 32 << 10
    assert (ws.folder() / "iteration-ledger.json").stat().st_size < 32 << 10


def test_a_results_table_of_the_repositorys_own_stays_as_it_is(ws: Workspace) -> None:
    """Where results.tsv is tracked, a run's table would end in candidates: it is kept with the records instead."""
    ws.write("results.tsv", "theirs\n")
    prepared(ws)
    assert "the repository has a results.tsv of its own" in runs(ws)
    assert (ws.lane() / "results.tsv").read_text() == "theirs\n"
    table = (ws.folder() / "results.tsv").read_text().splitlines()
    assert [row.split("\t")[4] for row in table] == ["status", "baseline", "keep", "discard"]


def test_a_tracked_mission_may_lie_where_git_ignores_new_files(ws: Workspace) -> None:
    ws.mission("budget:\n  max_iterations: 2\n")
    ws.commit()
    ws.write(".gitignore", "missions/\n")
    ws.commit()
    ws.plan(i1=candidate(3), i2=candidate(2))
    runs(ws)
