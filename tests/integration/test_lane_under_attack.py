"""The lane against what a session, or a bad night, can do to it: nothing is lost, nothing hangs, it comes back."""

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fakes.workspace import PATIENCE_S, Workspace, candidate, workspace
from omagy_autoresearch.errors import DamagedObjectError, IncompleteCommitError, RepositoryError
from omagy_autoresearch.mission import Contract, EvaluatorSettings
from omagy_autoresearch.names import candidate_ref, kept_ref, leftovers_ref
from omagy_autoresearch.plan import AgentChoice, AgentKind, RunPlan
from omagy_supervisor.adapters.git import commands, leftovers
from omagy_supervisor.adapters.git.checkout import FreshCheckout
from omagy_supervisor.adapters.git.commands import Git, carried_settings, settled_settings
from omagy_supervisor.adapters.git.facts import find_repository, sparse_patterns
from omagy_supervisor.adapters.git.lane import GitLane
from omagy_supervisor.ports import LaneStatus

RUN = "m-20260131t120000z"
BRANCH = "autoresearch/m/20260131T120000Z"


class Place:
    """A repository with a lane that stands at its baseline."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        ws.mission()
        self.base = ws.commit()
        root = str(ws.root)
        facts = find_repository(Git(), ws.root)
        patterns = sparse_patterns(Git(), facts)
        self.plan = RunPlan(
            run_id=RUN,
            run_tag="20260131T120000Z",
            mission_slug="m",
            mission_dir="missions/m",
            repo_root=root,
            common_dir=f"{root}/.git",
            worktree_path=f"{root}.omagy-worktrees/autoresearch-m-20260131T120000Z",
            branch_name=BRANCH,
            start_commit=self.base,
            created_at="2026-01-31T12:00:00+00:00",
            mission_text="",
            sandbox_text="",
            contract=Contract(EvaluatorSettings("./measure")),
            agent=AgentChoice(AgentKind.COMMAND, "agent"),
            git_settings=settled_settings(ws.environment, ws.root),
            sparse=patterns is not None,
            sparse_patterns=patterns,
        )
        self.aside = ws.root.parent / "aside"
        self.lane = self.made()
        self.lane.prepare()
        self.folder = self.lane.worktree
        self.ref = f"refs/heads/{BRANCH}"

    def git(self, patience_s: float = PATIENCE_S) -> Git:
        settled = self.plan.git_settings
        return Git(carried_settings(self.ws.environment, self.ws.root, settled)[0], patience_s=patience_s)

    def made(self, patience_s: float = PATIENCE_S) -> GitLane:
        """The lane as another process would open it."""
        return GitLane(self.git(patience_s), self.plan, self.ws.root.parent / "set-aside")

    def save(self) -> str:
        ref = self.lane.save_leftovers(leftovers_ref(RUN, "1.1"), self.aside)
        assert ref is not None
        return ref

    def saved(self, ref: str) -> set[str]:
        return set(self.ws.git("ls-tree", "-r", "--name-only", ref).split())

    def sh(self, command: str) -> None:
        subprocess.run(["sh", "-ec", command], cwd=self.folder, env=self.ws.environment, check=True)

    def commit(self, value: str) -> str:
        (self.folder / "value.txt").write_text(value)
        self.ws.git("commit", "-qam", value, cwd=self.folder)
        return self.ws.git("rev-parse", "HEAD", cwd=self.folder)

    def comes_back(self) -> None:
        """In this process and in the next one, the lane converges on the baseline and looks it."""
        for lane in (self.lane, self.made()):
            lane.sweep_locks()
            lane.converge(self.base)
            status = lane.status()
            assert (status.head, status.branch, status.dirty) == (self.base, BRANCH, ())
        assert self.ws.git("rev-parse", "HEAD", cwd=self.folder) == self.base
        assert (self.folder / "value.txt").read_text() == "1\n"


@pytest.fixture
def place(ws: Workspace) -> Place:
    return Place(ws)


# -- leftovers


def test_leftovers_are_saved_under_safecrlf(place: Place) -> None:
    """A file whose line endings git refuses to convert does not keep the others, or itself, from being saved."""
    place.ws.git("config", "core.safecrlf", "true")
    place.ws.git("config", "core.autocrlf", "input")
    (place.folder / "a-dos.txt").write_bytes(b"one\r\ntwo\r\n")
    (place.folder / "work.txt").write_text("hours of work")
    (place.folder / "value.txt").write_text("7")
    ref = place.save()
    assert {"a-dos.txt", "work.txt"} <= place.saved(ref)
    assert place.ws.git("show", f"{ref}:value.txt") == "7"
    place.comes_back()


@pytest.mark.parametrize("driver", ["big", "odd.name"])
def test_leftovers_are_saved_without_the_filter_they_require(place: Place, driver: str) -> None:
    """A required filter that is not installed is left out of the saving, whoever configured it."""
    for key, value in (("clean", "not-there"), ("process", "not-there-either"), ("required", "true")):
        place.ws.git("config", f"filter.{driver}.{key}", value)
        place.ws.git("config", "--global", f"filter.{driver}.{key}", value)
    place.lane = place.made()
    (place.folder / ".gitattributes").write_text(f"*.bin filter={driver}\n")
    (place.folder / "a.bin").write_text("weights")
    (place.folder / "work.txt").write_text("hours of work")
    ref = place.save()
    assert {".gitattributes", "a.bin", "work.txt"} <= place.saved(ref)
    assert place.ws.git("cat-file", "blob", f"{ref}:a.bin") == "weights"


def test_what_git_will_not_take_is_kept_aside(place: Place) -> None:
    """One file that git cannot encode stops the whole ``git add``: what it leaves out is moved, not cleaned away."""
    (place.folder / ".gitattributes").write_text("a-bad.txt working-tree-encoding=UTF-16\n")
    (place.folder / "a-bad.txt").write_bytes(b"odd")
    (place.folder / "sub").mkdir()
    (place.folder / "sub/work.txt").write_text("hours of work")
    (place.folder / "value.txt").write_text("7")
    ref = place.save()
    assert (place.aside / "a-bad.txt").read_bytes() == b"odd"
    for name, text in (("sub/work.txt", "hours of work"), ("value.txt", "7")):
        in_commit = name in place.saved(ref) and place.ws.git("show", f"{ref}:{name}") == text
        assert in_commit or (place.aside / name).read_text() == text
    place.comes_back()


def test_nothing_is_cleaned_when_nothing_can_be_saved(place: Place) -> None:
    """When not even a copy can be made, the run stops and can go on once that is mended."""
    (place.folder / ".gitattributes").write_text("a-bad.txt working-tree-encoding=UTF-16\n")
    (place.folder / "a-bad.txt").write_bytes(b"odd")
    place.aside.write_text("a file where the folder should be")
    with pytest.raises(RepositoryError) as caught:
        place.save()
    assert caught.value.recoverable
    assert "a-bad.txt" in caught.value.message or ".gitattributes" in caught.value.message
    assert (place.folder / "a-bad.txt").read_bytes() == b"odd"


def test_a_huge_leftover_does_not_enter_the_object_store(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large files are moved to the records; the rest is committed as ever."""
    monkeypatch.setattr(leftovers, "LARGE", 1000)
    (place.folder / "big").mkdir()
    (place.folder / "big/model.bin").write_bytes(b"x" * 1001)
    (place.folder / "small.txt").write_bytes(b"x" * 1000)
    ref = place.save()
    assert "small.txt" in place.saved(ref)
    assert "big/model.bin" not in place.saved(ref)
    assert (place.aside / "big/model.bin").stat().st_size == 1001
    assert not (place.folder / "big/model.bin").exists()


def test_what_was_kept_aside_before_is_never_replaced(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second thing of the same name gets a name of its own."""
    monkeypatch.setattr(leftovers, "LARGE", 10)
    for text in ("first " * 3, "second " * 3):
        (place.folder / "model.bin").write_text(text)
        place.sh("git init -q inner && echo x > inner/x")
        place.save()
    assert {path.read_text() for path in place.aside.glob("model.bin*")} == {"first " * 3, "second " * 3}
    assert len(list(place.aside.glob("inner*"))) == 2


# -- descent


def test_descent_cannot_be_forged_by_a_path(place: Place) -> None:
    """A file named like a line of git's answer does not make an orphan a descendant."""
    for number, separator in enumerate("\f\v\x1c\x85\u2028\n"):
        place.sh("git checkout -q --orphan other && git rm -rfq --cached .")
        (place.folder / f"x{separator}-{place.base}").write_text(str(number))
        place.sh(f"git add x* && git commit -qm orphan && git branch -qf orphan{number}")
        orphan = place.ws.git("rev-parse", "HEAD", cwd=place.folder)
        assert not place.lane.pin(candidate_ref(RUN, number, 1), orphan, place.base).descends
        place.sh(f"git checkout -qf {BRANCH} && git branch -D -q other orphan{number} || true")
    place.lane.converge(place.base)
    made = place.commit("2")
    assert place.lane.pin(candidate_ref(RUN, 9, 1), made, place.base).descends
    assert place.lane.pin(candidate_ref(RUN, 10, 1), place.base, place.base).descends


def test_descent_is_seen_through_merges_and_not_seen_from_the_side_or_backwards(place: Place) -> None:
    first = place.commit("2")
    second = place.commit("3")
    place.sh(f"git checkout -q --detach {place.base} && git commit -q --allow-empty -m side")
    side = place.ws.git("rev-parse", "HEAD", cwd=place.folder)
    place.sh(f"git merge -q -m merge {second} && git commit -q --allow-empty -m more")
    merged = place.ws.git("rev-parse", "HEAD", cwd=place.folder)
    asked = [
        (first, place.base),
        (second, place.base),
        (merged, first),
        (merged, side),
        (side, first),
        (first, second),
    ]
    found = [place.lane.pin(candidate_ref(RUN, number, 1), *pair).descends for number, pair in enumerate(asked)]
    assert found == [True, True, True, True, False, False]


def test_a_planted_commit_graph_is_not_believed(place: Place) -> None:
    """git's cache of parents lies in the repository, where a session may write."""
    place.sh("git checkout -q --orphan other && git commit -qm orphan --allow-empty")
    orphan = place.ws.git("rev-parse", "HEAD", cwd=place.folder)
    child = place.ws.git("commit-tree", "-p", place.base, "-m", "child", f"{orphan}^{{tree}}")
    place.ws.git("update-ref", "refs/heads/child", child)
    place.ws.git("commit-graph", "write", "--reachable")
    graph = place.ws.root / ".git/objects/info/commit-graph"
    forged = graph.read_bytes()
    graph.chmod(0o644)
    # The graph's rows are found by id: swapping the two ids gives the orphan the child's parent.
    one, other = bytes.fromhex(orphan), bytes.fromhex(child)
    graph.write_bytes(forged.replace(one, b"!" * 20).replace(other, one).replace(b"!" * 20, other))
    assert not place.lane.pin(candidate_ref(RUN, 1, 1), orphan, place.base).descends


# -- looking only where something can have happened


def test_a_lane_that_was_just_seen_at_a_commit_is_not_looked_at_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omagy_supervisor.adapters.git.lane._JUST_S", 60.0)
    place.lane.converge(place.base)
    (place.folder / "proof").touch()
    place.lane.converge(place.base)
    assert (place.folder / "proof").exists()


@pytest.mark.parametrize("since", ["somebody was let in", "time went by", "the index was written", "another life"])
@pytest.mark.parametrize("act", ["echo 9 > value.txt", "touch new", "git commit -qm late --allow-empty"])
def test_what_was_seen_of_a_lane_does_not_hide_what_came_later(
    place: Place, monkeypatch: pytest.MonkeyPatch, since: str, act: str
) -> None:
    """However soon it came: after a session or a measurement, a pause, a git command, or a new start."""
    lanes = "omagy_supervisor.adapters.git.lane._JUST_S"
    monkeypatch.setattr(lanes, 60.0)
    place.lane.converge(place.base)
    if since == "somebody was let in":
        place.lane.sweep_locks()
    elif since == "time went by":
        monkeypatch.setattr(lanes, 0.0)
    elif since == "the index was written":
        place.sh("touch more && git add more && git reset -q && rm more")
    else:
        place.lane = place.made()
    place.sh(act)
    place.lane.converge(place.base)
    assert place.ws.git("status", "--porcelain", cwd=place.folder) == ""
    assert place.ws.git("rev-parse", "HEAD", cwd=place.folder) == place.base


def test_a_lane_that_was_seen_to_be_changed_is_put_right(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """From what was seen, without another look: changed, at another commit, on another branch, in a merge."""
    monkeypatch.setattr("omagy_supervisor.adapters.git.lane._JUST_S", 60.0)
    place.lane.converge(place.base)
    for act in ("echo 9 > value.txt; touch new", "git update-ref HEAD $(git commit-tree -p HEAD -m x HEAD^{tree})"):
        place.sh(act)
        place.lane.status()
        place.lane.converge(place.base)
        assert place.made().status() == LaneStatus(place.base, BRANCH, ())
    place.sh("git symbolic-ref HEAD refs/heads/elsewhere; git update-ref HEAD $(git rev-parse " + BRANCH + ")")
    place.lane.status()
    (place.lane.git_dir / "MERGE_HEAD").write_text(place.base + "\n")
    place.lane.converge(place.base)
    assert place.made().status() == LaneStatus(place.base, BRANCH, ())
    assert not (place.lane.git_dir / "MERGE_HEAD").exists()


def test_a_link_in_the_place_of_a_rebase_is_removed_and_not_followed(place: Place) -> None:
    place.aside.mkdir()
    (place.aside / "mine").write_text("mine")
    (place.lane.git_dir / "rebase-merge").symlink_to(place.aside)
    place.lane.sweep_locks()
    place.comes_back()
    assert not (place.lane.git_dir / "rebase-merge").is_symlink()
    assert (place.aside / "mine").read_text() == "mine"


def test_taking_over_a_lane_shows_and_saves_what_an_index_hid(place: Place) -> None:
    place.lane.converge(place.base)
    place.sh("git update-index --skip-worktree value.txt; echo 9 > value.txt")
    assert place.lane.status().dirty == ()
    assert place.lane.take_over().dirty == ("value.txt",)
    assert place.ws.git("show", f"{place.save()}:value.txt") == "9"
    place.comes_back()


def test_taking_over_a_lane_whose_head_cannot_be_read_leaves_its_index(place: Place) -> None:
    place.sh("touch new; git add new; git symbolic-ref HEAD refs/heads/unborn")
    index = (place.lane.git_dir / "index").read_bytes()
    assert "new" in place.lane.take_over().dirty
    assert (place.lane.git_dir / "index").read_bytes() == index
    assert list(place.lane.git_dir.glob("omagy*")) == []


# -- settings that a session planted


@pytest.mark.parametrize("where", ["config", "config.worktree", "included", "linked"])
def test_a_planted_filter_never_runs(place: Place, where: str) -> None:
    """Not even to find out what a session left, wherever it was planted, and also the second time."""
    git_folder = place.ws.root / ".git"
    config, elsewhere = git_folder / "config", place.ws.root.parent / "elsewhere"
    place.ws.git("config", "extensions.worktreeConfig", "true")
    place.lane.converge(place.base)
    if where == "included":
        place.ws.git("config", "include.path", str(elsewhere))
    elif where == "linked":
        config.rename(elsewhere)
        config.symlink_to(elsewhere)
    file = {"config": config, "config.worktree": place.lane.git_dir / "config.worktree"}.get(where, elsewhere)
    for name in ("one", "two"):
        ran = place.ws.root.parent / name
        place.ws.git("config", "--file", str(file), f"filter.{name}.clean", f"touch {ran}; cat")
        (place.folder / ".gitattributes").write_text(f"* filter={name}\n")
        (place.folder / "value.txt").write_text("7\n")  # as long as before: git has to look at what it holds
        assert "value.txt" in place.lane.status().dirty
        place.lane.converge(place.base)
        assert place.lane.status().dirty == ()
        assert not ran.exists()


_NESTED = """
    git init -q {0} && cd {0} && echo 1 > f && git add f && git commit -qm nested
    echo '* filter=evil' > .gitattributes && git config filter.evil.clean 'touch {1}; cat'
"""


def _plain(place: Place, inside: Path, ran: Path) -> None:
    place.sh(_NESTED.format(inside, ran))


def _linked(place: Place, inside: Path, ran: Path) -> None:
    elsewhere = place.ws.root.parent / "elsewhere"
    place.sh(_NESTED.format(elsewhere, ran) + f"ln -s {elsewhere} {inside}")


def _apart(place: Place, inside: Path, ran: Path) -> None:
    """Its folder holds a file that names the repository."""
    _plain(place, inside, ran)
    apart = place.ws.root.parent / "apart"
    place.sh(f"mv {inside}/.git {apart} && echo gitdir: {apart} > {inside}/.git")


def _deeper(place: Place, inside: Path, ran: Path) -> None:
    """A repository whose files lie elsewhere, with another one in it."""
    elsewhere = place.ws.root.parent / "elsewhere"
    place.sh(f"git init -q {inside} && cd {inside} && git config core.worktree {elsewhere} && mkdir {elsewhere}")
    place.sh(_NESTED.format(elsewhere / "deep", ran))
    place.sh(f"cd {inside} && git add deep && git commit -qm outer && echo 2 > {elsewhere}/deep/f")


@pytest.mark.parametrize("plant", [_plain, _linked, _apart, _deeper])
def test_a_filter_of_a_repository_inside_never_runs(place: Place, plant: Callable[[Place, Path, Path], None]) -> None:
    """git looks into repositories that a commit links to, with the settings that they have."""
    ran, inside = place.ws.root.parent / "ran", place.folder / "inside"
    place.lane.converge(place.base)
    plant(place, inside, ran)
    commit = place.ws.git("-C", str(inside), "rev-parse", "HEAD")
    place.sh(f"git update-index --add --cacheinfo 160000,{commit},inside && git commit -qm link && rm -f {ran}")
    with contextlib.suppress(OSError):
        (inside / "f").write_text("2\n")
    for look in (place.lane.status, place.lane.take_over):
        assert any(path.startswith("inside") for path in look().dirty)
        assert not ran.exists()
    place.save()
    place.comes_back()
    assert not ran.exists()


@pytest.mark.parametrize("gone", ["HEAD:value.txt", "HEAD^{tree}"])
def test_a_planted_remote_is_not_asked_for_what_is_missing(place: Place, gone: str) -> None:
    """A repository can name a remote, and a command in place of its address, that has the objects it lacks."""
    place.lane.advance_kept(place.base)
    ran = place.ws.root.parent / "ran"
    head = place.commit("55")
    lost = place.ws.git("rev-parse", gone, cwd=place.folder)
    (place.ws.root / ".git/objects" / lost[:2] / lost[2:]).unlink()
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "evil"),
        ("remote.evil.promisor", "true"),
        ("remote.evil.url", f"ext::touch {ran}"),
        ("protocol.ext.allow", "always"),
    ):
        place.ws.git("config", key, value)
    place.lane.sweep_locks()
    place.lane.take_over()
    with pytest.raises(IncompleteCommitError):
        place.lane.pin(candidate_ref(RUN, 1, 1), head, place.base)
    assert not ran.exists()
    with pytest.raises(RepositoryError):
        FreshCheckout(place.git(), place.plan).place(head, place.base, ())
    place.comes_back()
    assert not ran.exists()


@pytest.mark.parametrize("form", ["empty", "missing"])
@pytest.mark.parametrize("gone", ["HEAD", "HEAD^{tree}", "HEAD:missions", "HEAD:value.txt"])
@pytest.mark.parametrize("then", [":", "git checkout -q --detach"])
def test_a_commit_that_cannot_be_read_does_not_end_the_run(place: Place, form: str, gone: str, then: str) -> None:
    """A session's git syncs nothing, so a power cut can empty it. What the files hold is saved all the same."""
    place.lane.advance_kept(place.base)
    place.sh(f"touch missions/new; git add .; git commit -qm before; {then}")
    head = place.commit("55")
    lost = place.ws.git("rev-parse", gone, cwd=place.folder)
    path = place.ws.root / ".git/objects" / lost[:2] / lost[2:]
    path.unlink()
    if form == "empty":
        path.touch()
    place.lane = place.made()
    place.lane.sweep_locks()
    seen = place.lane.take_over()
    if seen.head == head:
        with pytest.raises(IncompleteCommitError):
            place.lane.pin(candidate_ref(RUN, 1, 1), head, place.base)
    else:
        assert seen.head == place.base
        assert place.ws.git("show", f"{place.save()}:value.txt") == "55"
    place.comes_back()


def test_an_object_that_a_session_emptied_is_not_handed_in(place: Place) -> None:
    head = place.commit("55")
    blob = place.ws.git("rev-parse", "HEAD:value.txt", cwd=place.folder)
    path = place.ws.root / ".git/objects" / blob[:2] / blob[2:]
    path.unlink()
    path.touch()
    with pytest.raises(IncompleteCommitError, match="empty"):
        place.lane.pin(candidate_ref(RUN, 1, 1), head, place.base)
    place.comes_back()


def test_an_object_that_a_session_damaged_is_not_handed_in(place: Place) -> None:
    """It is there, and not empty: only who reads it sees what became of it."""
    head = place.commit("55")
    blob = place.ws.git("rev-parse", "HEAD:value.txt", cwd=place.folder)
    path = place.ws.root / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-6] + b"nobody")
    with pytest.raises(IncompleteCommitError, match="corrupt"):
        place.lane.pin(candidate_ref(RUN, 1, 1), head, place.base)
    place.comes_back()


@pytest.mark.parametrize(
    ("setting", "act"),
    [
        ("core.ignoreStat", "echo 9 > value.txt"),
        ("core.splitIndex", "echo 9 > value.txt"),
        ("core.fileMode", "chmod +x value.txt"),
    ],
)
def test_a_setting_hides_nothing_that_comes_later(place: Place, setting: str, act: str) -> None:
    """One session sets it and changes files, the next one changes some without writing to the index."""
    place.lane.converge(place.base)
    place.ws.git("config", setting, "false" if setting == "core.fileMode" else "true")
    place.sh("echo 2 > value.txt && git commit -qam 2")
    place.lane.sweep_locks()
    place.lane.converge(place.base)
    assert b"link" not in (place.lane.git_dir / "index").read_bytes()  # what is kept in another file
    place.sh(act)
    place.lane.sweep_locks()
    assert place.lane.take_over().dirty == ("value.txt",)


@pytest.mark.parametrize("life", ["same", "next"])
def test_a_planted_list_of_ignored_files_hides_none(place: Place, life: str) -> None:
    """What git would ignore is neither saved nor gone before a measurement."""
    place.sh("echo '*' > ../everything; git config core.excludesFile \"$PWD/../everything\"; echo 9 > helper.py")
    place.lane.sweep_locks()
    lane = place.lane if life == "same" else place.made()
    assert lane.take_over().dirty == ("helper.py",)
    lane.converge(place.base)
    assert not (place.folder / "helper.py").exists()


def test_line_endings_are_those_of_the_launch(place: Place) -> None:
    place.ws.git("config", "core.autocrlf", "true")
    (place.folder / "value.txt").unlink()
    place.comes_back()
    (place.folder / "value.txt").write_bytes(b"1\r\n")
    place.lane.sweep_locks()
    assert place.lane.take_over().dirty == ("value.txt",)
    ref = place.save()
    place.ws.git("config", "core.autocrlf", "false")
    place.sh(f"git show {ref}:value.txt > shown")
    assert (place.folder / "shown").read_bytes() == b"1\r\n"


def test_a_filter_of_the_repository_makes_no_file_of_the_lane(ws: Workspace) -> None:
    """Not the first ones either: what is compared is made alike."""
    ws.git("config", "filter.own.smudge", "sed s/1/7/")
    ws.git("config", "filter.own.clean", "sed s/7/1/")
    ws.write(".gitattributes", "value.txt filter=own\n")
    place = Place(ws)
    assert (place.folder / "value.txt").read_text() == "1\n"
    place.comes_back()


@pytest.mark.parametrize("launched", ["as a part", "as a whole", "by an older version"])
def test_what_an_index_hid_is_saved_where_a_part_is_checked_out(place: Place, launched: str) -> None:
    """Whether the repository was so at launch, or a session made it look so and the run was resumed since."""
    place.sh("git config core.sparseCheckout true && mkdir -p $(git rev-parse --git-dir)/info")
    (place.lane.git_dir / "info/sparse-checkout").write_text("/*\n!/missions/\n")
    sparse = {"as a part": True, "as a whole": False}.get(launched)
    place.plan = msgspec.structs.replace(place.plan, sparse=sparse)
    place.lane = place.made()
    place.lane.converge(place.base)
    place.sh("git update-index --assume-unchanged value.txt; echo 9 > value.txt")
    place.lane = place.made()
    place.lane.sweep_locks()
    assert "value.txt" in place.lane.take_over().dirty
    assert place.ws.git("show", f"{place.save()}:value.txt") == "9"
    place.comes_back()
    assert (place.folder / "missions").exists() is (launched == "as a whole")


_FORGE = """
old=$(git rev-parse HEAD:value.txt); echo 9 > value.txt; git add value.txt; new=$(git rev-parse :value.txt)
python3 - $old $new "$(git rev-parse --git-dir)/index" <<'END'
import hashlib, sys
old, new, path = sys.argv[1:]
index = open(path, "rb").read()[:-20].replace(bytes.fromhex(new), bytes.fromhex(old))
at = index.find(b"TREE")
index = index[:at] + index[at + 8 + int.from_bytes(index[at + 4 : at + 8], "big") :]
open(path, "wb").write(index + hashlib.sha1(index).digest())
END
touch -d '+1 hour' "$(git rev-parse --git-dir)/index"
"""


def test_a_forged_index_of_a_part_shows_nothing_else_than_the_commit(place: Place) -> None:
    """It gives a changed file's own size and times to what the file was."""
    place.sh("git config core.sparseCheckout true && mkdir -p $(git rev-parse --git-dir)/info")
    (place.lane.git_dir / "info/sparse-checkout").write_text("/*\n!/missions/\n")
    place.sh("git read-tree -mu HEAD")
    place.plan = msgspec.structs.replace(place.plan, sparse=True)
    place.lane = place.made()
    place.lane.converge(place.base)
    assert not (place.folder / "missions").exists()
    place.sh(_FORGE)
    place.lane.sweep_locks()
    place.lane.take_over()
    place.comes_back()
    assert not (place.folder / "missions").exists()


@pytest.fixture
def part(ws: Workspace) -> Place:
    """A repository that checks out all but ``rest``."""
    ws.write("rest/more.txt", "more\n")
    ws.mission()
    ws.commit()
    ws.git("sparse-checkout", "set", "--no-cone", "/*", "!/rest/")
    return Place(ws)


@pytest.mark.parametrize(
    "act",
    [
        "printf '/*\\n!/value.txt\\n' > $i/sparse-checkout; git read-tree -mu HEAD",
        "printf '/*\\n' > $i/sparse-checkout; git read-tree -mu HEAD; echo 9 > rest/more.txt",
        "git sparse-checkout set rest missions",
        "git sparse-checkout disable",
        "rm $i/sparse-checkout; git read-tree -mu HEAD",
        "rm $i/sparse-checkout; ln -s /dev/null $i/sparse-checkout; git read-tree -mu HEAD",
        "mkdir rest; echo 9 > rest/more.txt; git config sparse.expectFilesOutsideOfPatterns true",
        "mkdir rest; echo 9 > rest/more.txt",
        "mkdir rest; echo more > rest/more.txt",
        "git config core.sparseCheckoutCone true; git sparse-checkout set missions rest; echo 9 > rest/more.txt",
        "ln -s $HOME/rest rest",
        "mkdir -p rest/more.txt; echo 9 > rest/more.txt/more.txt",
        "printf 'DIRC and no more' > $i/../index",
    ],
)
@pytest.mark.parametrize("life", ["same", "next"])
def test_the_part_that_is_checked_out_is_that_of_the_launch(part: Place, act: str, life: str) -> None:
    """Whatever patterns a session left: which files stand in the lane is settled before there was one."""
    assert not (part.folder / "rest").exists()
    outside = Path(part.ws.environment["HOME"]) / "rest/more.txt"
    outside.parent.mkdir()
    outside.write_text("mine")
    part.lane.sweep_locks()
    part.sh(f"i=$(git rev-parse --git-dir)/info; {act}")
    if life == "next":
        part.lane = part.made()
    part.lane.take_over()
    ref = part.lane.save_leftovers(leftovers_ref(RUN, "1.1"), part.aside)
    if "9 >" in act:
        saved = [path.read_text() for path in part.aside.rglob("more.txt") if path.is_file()]
        assert "9\n" in saved or part.ws.git("show", f"{ref}:rest/more.txt") == "9"
    part.comes_back()
    assert not [path for path in (part.folder / "rest").rglob("*") if not path.is_dir()]
    assert outside.read_text() == "mine"


# -- branches of the user's


@pytest.mark.parametrize("in_place", ["symbolic-ref", "ln -s"])
def test_a_lane_branch_that_stands_for_another_moves_no_branch(place: Place, in_place: str) -> None:
    """A session may write below refs/heads/autoresearch, and so name a branch of the user's there."""
    main = place.ws.git("rev-parse", "main")
    made = place.commit("2")
    place.lane.sweep_locks()
    link = {
        "symbolic-ref": f"git symbolic-ref {place.ref} refs/heads/main",
        "ln -s": f"ln -sf refs/heads/main {place.ref}",
    }
    place.sh(f"cd $(git rev-parse --git-common-dir); {link[in_place]}")
    place.lane.take_over()
    for commit in (made, place.base):
        place.lane.converge(commit)
        assert place.ws.git("rev-parse", "main") == main
        assert place.ws.git("rev-parse", BRANCH) == commit
    place.comes_back()


# -- things that block


@pytest.mark.parametrize(
    "name", ["d/.gitignore", "value.txt", ".gitattributes", ".gitmodules", "repo/.git/HEAD", "d/e/f", ".gitignore"]
)
def test_a_pipe_in_the_worktree_does_not_stop_git(place: Place, name: str) -> None:
    """git would wait for ever for somebody to write into it."""
    path = place.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name.startswith("repo"):
        place.sh("git init -q repo")
    (place.folder / "work.txt").write_text("work")
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    lane = place.lane = place.made()
    lane.status()
    place.save()
    place.comes_back()


def test_a_link_to_a_pipe_does_not_stop_git(place: Place) -> None:
    os.mkfifo(place.ws.root.parent / "pipe")
    (place.folder / ".gitattributes").symlink_to(place.ws.root.parent / "pipe")
    place.lane = place.made()
    place.lane.status()
    place.comes_back()


@pytest.mark.parametrize("look", [GitLane.status, GitLane.take_over])
def test_an_index_that_git_cannot_read_is_made_anew(place: Place, look: Callable[[GitLane], LaneStatus]) -> None:
    """A session, or a power cut in the middle of it, would end every life of the run."""
    (place.folder / "value.txt").write_text("9\n")
    (place.lane.git_dir / "index").write_bytes(b"DIRC and no more")
    place.lane = place.made()
    assert look(place.lane).dirty == ("value.txt",)
    place.comes_back()


@pytest.mark.parametrize("name", ["index", "HEAD", "commondir", "gitdir", "logs/HEAD", "ORIG_HEAD", "MERGE_HEAD"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "link"])
def test_something_else_in_the_admin_folder_does_not_stop_git(place: Place, name: str, kind: str) -> None:
    """Pipes, sockets and links to pipes among git's own files are taken away, and what is needed is made anew."""
    path = place.lane.git_dir / name
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        os.mkfifo(place.ws.root.parent / "pipe")
        path.symlink_to(place.ws.root.parent / "pipe")
    else:
        folder = os.open(path.parent, os.O_RDONLY)  # a socket's path is limited to about a hundred bytes
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{folder}/{path.name}")
        os.close(folder)
    place.lane = place.made()
    place.lane.status()
    place.comes_back()


def test_a_lane_is_taken_away_with_its_branch_alone(place: Place) -> None:
    """What its branch was made to stand for is somebody else's."""
    main = place.ws.git("rev-parse", "main")
    place.ws.git("symbolic-ref", place.ref, "refs/heads/main")
    place.lane.remove()
    assert place.ws.git("rev-parse", "main") == main
    assert place.ws.git("for-each-ref", place.ref) == ""


@pytest.mark.parametrize("name", ["info/attributes", "info/exclude", "objects/info/alternates"])
def test_a_pipe_among_the_shared_settings_does_not_stop_git(place: Place, name: str) -> None:
    path = place.ws.root / ".git" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    place.lane = place.made()
    place.lane.status()
    place.comes_back()


def test_a_git_that_hangs_is_ended_with_all_that_it_started(place: Place) -> None:
    """A user's filter that never answers becomes an error that names the command, and leaves no process behind."""
    place.ws.git("config", "--global", "filter.slow.clean", "sleep 1000; cat")
    (place.folder / ".gitattributes").write_text("value.txt filter=slow\n")
    (place.folder / "value.txt").write_text("3\n")
    with pytest.raises(RepositoryError, match=r"git status .*did not end within 4 s") as caught:
        place.made(patience_s=4).status()
    assert caught.value.recoverable
    assert place.ws.wait_for_quiet() == []


# -- damage


def damage_removed(place: Place) -> None:
    shutil.rmtree(place.lane.git_dir)


def damage_all_removed(place: Place) -> None:
    shutil.rmtree(place.ws.root / ".git/worktrees")


def damage_pruned(place: Place) -> None:
    (place.folder / ".git").unlink()
    place.ws.git("worktree", "prune", "--expire=now")
    assert not place.lane.git_dir.exists()


def damage_emptied(place: Place) -> None:
    for path in place.lane.git_dir.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def damage_file(place: Place) -> None:
    shutil.rmtree(place.lane.git_dir)
    place.lane.git_dir.write_text("not a folder")


def damage_link_to_the_users(place: Place) -> None:
    shutil.rmtree(place.lane.git_dir)
    place.lane.git_dir.symlink_to(place.ws.root / ".git")
    (place.ws.root / ".git/gitdir").write_text(f"{place.folder}/.git\n")


def damage_head(place: Place) -> None:
    (place.lane.git_dir / "HEAD").write_text("nonsense")


def damage_folders_for_files(place: Place) -> None:
    for name in ("HEAD", "index", "commondir", "gitdir"):
        (place.lane.git_dir / name).unlink()
        (place.lane.git_dir / name).mkdir()
        (place.lane.git_dir / name / "x").write_text("x")


def damage_backlink(place: Place) -> None:
    (place.lane.git_dir / "gitdir").write_text("/somewhere/else/.git\n")


def damage_both(place: Place) -> None:
    shutil.rmtree(place.lane.git_dir)
    shutil.rmtree(place.folder)


def damage_worktree_is_a_file(place: Place) -> None:
    shutil.rmtree(place.folder)
    place.folder.write_text("a file")


def damage_worktree_is_a_link(place: Place) -> None:
    place.folder.rename(place.folder.with_name("elsewhere"))
    place.folder.symlink_to(place.folder.with_name("elsewhere"))


def damage_branch_too(place: Place) -> None:
    shutil.rmtree(place.lane.git_dir)
    place.ws.git("update-ref", "-d", f"refs/heads/{BRANCH}")


DAMAGES = [found for name, found in sorted(globals().items()) if name.startswith("damage_")]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.removeprefix("damage_"))
def test_a_damaged_lane_is_made_again(place: Place, damage: Callable[[Place], None]) -> None:
    """All that matters is in the refs: the admin folder is rebuilt, and everything converges. Work that was not
    committed is saved first, and the user's own side stays as it was."""
    had = "damage_both" not in damage.__name__ and "worktree_is" not in damage.__name__
    (place.folder / "draft.txt").write_text("half")
    damage(place)
    before = place.ws.users_side()
    place.lane = place.made()
    place.lane.sweep_locks()
    place.lane.status()
    if had:
        assert place.ws.git("show", f"{place.save()}:draft.txt") == "half"
    place.comes_back()
    after = place.ws.users_side()
    assert {k: v for k, v in after.items() if not k.endswith("/gitdir")} == {
        k: v for k, v in before.items() if not k.endswith("/gitdir")
    }


def test_a_link_replaced_twice_is_moved_aside_twice(place: Place) -> None:
    """What stands in the place of the worktree's link is saved, under a name that is free."""
    for text in ("first", "second"):
        (place.folder / ".git").unlink()
        (place.folder / ".git").mkdir()
        (place.folder / ".git/notes").write_text(text)
        (place.folder / "git.moved-aside-by-omagy").mkdir(exist_ok=True)
        (place.folder / "git.moved-aside-by-omagy" / text).write_text(text)
        place.lane.status()
    names = place.saved(place.save())
    assert len([name for name in names if name.endswith("/notes")]) == 2
    place.comes_back()


def test_a_lane_that_was_moved_by_hand_is_not_taken_over(place: Place) -> None:
    """``git worktree move`` is a person's doing: omagy says so and leaves both alone."""
    place.ws.git("worktree", "move", str(place.folder), str(place.ws.root.parent / "moved"))
    with pytest.raises(RepositoryError, match="moved") as caught:
        place.made().status()
    assert caught.value.recoverable
    assert (place.ws.root.parent / "moved/value.txt").exists()


def test_a_session_that_removes_the_admin_folder_does_not_end_the_run(ws: Workspace) -> None:
    """The run goes on to the next session, and what the first one kept stays kept."""
    ws.mission("budget:\n  max_iterations: 3\n")
    ws.commit()
    removed: list[dict[str, Any]] = [{"sh": 'rm -rf "$(git rev-parse --absolute-git-dir)"'}, {"exit": 0}]
    ws.plan(i1=candidate(3), i2=removed, i3=candidate(4))
    done = ws.launch()
    assert done.returncode == 0, done.stderr
    assert ws.decisions()[::3] == ["baseline", "keep"]
    assert ws.manifest()["last_kept_score"] == 4


def test_a_resume_works_after_the_worktrees_were_pruned(ws: Workspace) -> None:
    """``rm -rf .git/worktrees`` between two lives of a run is mended by the second one."""
    ws.mission("budget:\n  max_iterations: 2\n")
    ws.commit()
    ws.plan(i1=candidate(3), i2=[{"hang": True}])
    process = ws.start_launch()
    ws.wait_for_run()
    ws.wait_for_session(2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    shutil.rmtree(ws.root / ".git/worktrees")
    ws.plan(default=candidate(4))
    done = ws.resume(ws.run_id())
    assert done.returncode == 0, done.stderr
    assert ws.decisions() == ["baseline", "keep", "keep"]


# -- names with blanks, locks, forks


def test_a_repository_whose_name_ends_in_a_blank(tmp_path: Path) -> None:
    """Only the newline that git adds is taken off a path."""
    with workspace(tmp_path, "repo ") as ws:
        (tmp_path / "repo").mkdir()
        ws.mission("budget:\n  max_iterations: 1\n")
        ws.commit()
        ws.plan(default=candidate(3))
        done = ws.launch()
        assert done.returncode == 0, done.stderr
        assert ws.decisions() == ["baseline", "keep"]
        assert not list((tmp_path / "repo").iterdir())


def test_locks_of_killed_commands_are_removed_without_reading_every_ref(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All refs of the run are looked through once; later only where a lock can have come since."""
    refs = place.ws.root / f".git/refs/omagy/{RUN}"
    (refs / "cand").mkdir(parents=True)
    (refs / "cand/7.lock").touch()
    lane = place.made()
    lane.sweep_locks()
    assert not (refs / "cand/7.lock").exists()
    walked: list[Path] = []

    def walk(folder: Path, _: str) -> list[Path]:
        walked.append(folder)
        return []

    monkeypatch.setattr(Path, "rglob", walk)
    for lock in (refs / "kept.lock", place.lane.git_dir / "index.lock", place.lane.git_dir / "HEAD.lock"):
        lock.touch()
    (place.ws.root / f".git/refs/heads/{BRANCH}.lock").touch()
    lane.sweep_locks()
    assert not list(refs.glob("*.lock")) + list(place.lane.git_dir.glob("*.lock"))
    assert not walked
    for ref in (candidate_ref(RUN, 8, 1), kept_ref(RUN)):
        lock = place.ws.root / f".git/{ref}.lock"
        lock.touch()
    lane.advance_kept(place.base)
    assert lane.pin(candidate_ref(RUN, 8, 1), place.base, place.base).descends


@pytest.fixture
def unreliable(place: Place, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], Git]:
    """A git that fails with the given words so many times, and then works."""
    monkeypatch.setattr(commands, "_RETRY_AFTER_S", (0.0, 0.0, 0.0))
    real = shutil.which("git")

    def make(words: str, times: int) -> Git:
        folder = place.ws.root.parent / "bin"
        folder.mkdir()
        left = folder / "left"
        left.write_text("x" * times)
        fake = folder / "git"
        fake.write_text(
            f'#!/bin/sh\nif [ -s {left} ]; then\n  truncate -s -1 {left}\n  echo "{words}" >&2\n  exit 128\nfi\n'
            f'exec {real} "$@"\n'
        )
        fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return place.git()

    return make


SHORT = [
    "error: cannot fork() for git-remote: Resource temporarily unavailable",
    "fatal: unable to create thread: Resource temporarily unavailable",
]


@pytest.mark.parametrize("words", SHORT)
def test_a_git_that_cannot_fork_is_tried_again(
    place: Place, unreliable: Callable[[str, int], Git], words: str
) -> None:
    """A moment without free processes does not end a night."""
    git = unreliable(words, 3)
    assert git.line(place.ws.root, "rev-parse", "HEAD") == place.base


def test_a_git_that_still_cannot_fork_can_be_resumed(place: Place, unreliable: Callable[[str, int], Git]) -> None:
    git = unreliable(SHORT[0], 9)
    with pytest.raises(RepositoryError, match="cannot fork") as caught:
        git.run(place.ws.root, "rev-parse", "HEAD")
    assert caught.value.recoverable


OID = "12" * 20


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("fatal: something nobody has thought of", ""),
        ("fatal: bad object HEAD", "fsck"),
        (f"error: object file .git/objects/12/{OID[2:]} is empty", OID),
        (f"fatal: loose object {OID} (stored in .git/objects/12/{OID[2:]}) is corrupt", OID),
        (f"fatal: unable to read tree {OID}\nfatal: Could not reset index file to revision '{'34' * 20}'.", OID),
        (f"error: Could not read {OID}", OID),
        (f"fatal: missing blob object '{OID}'", OID),
    ],
)
def test_whatever_git_complains_of_a_run_can_go_on(
    place: Place, unreliable: Callable[[str, int], Git], words: str, hint: str
) -> None:
    """A person may be able to mend it; for an object that is missing they are told which."""
    with pytest.raises(RepositoryError) as caught:
        unreliable(words, 1).run(place.ws.root, "rev-parse", "HEAD")
    assert caught.value.recoverable
    assert hint in caught.value.hint
    assert bool(hint) is isinstance(caught.value, DamagedObjectError)


@pytest.mark.parametrize("of", ["value.txt", "", "missions"])
@pytest.mark.parametrize("damage", ["rm -f $o", "chmod u+w $o; echo damaged > $o", "chmod u+w $o; : > $o"])
def test_an_object_that_a_session_damaged_can_be_put_back(place: Place, of: str, damage: str) -> None:
    """By the very command that the error names, and the lane comes back."""
    clone = place.ws.root.parent / "another clone"
    place.ws.git("clone", "-q", "--no-local", str(place.ws.root), str(clone))
    place.sh(
        f"o=$(git rev-parse HEAD:{of}); echo 9 > value.txt; rm -r missions; "
        f'cd "$(git rev-parse --git-common-dir)"; o=objects/$(echo $o | sed "s|..|&/|"); {damage}'
    )
    lane = place.made()
    with pytest.raises(DamagedObjectError) as caught:
        lane.converge(place.base)
    assert caught.value.recoverable
    command = caught.value.hint.partition("then resume: ")[2].replace("<another clone>", f"'{clone}'")
    subprocess.run(["sh", "-ec", command], env=place.ws.environment, cwd="/", check=True)
    place.comes_back()


# -- the fresh checkout


@pytest.mark.parametrize("link", [True, False])
def test_the_fresh_checkout_obeys_no_planted_settings(place: Place, link: bool) -> None:
    """Its own repository lies beside the lane: settings that somebody put there are written anew before each use."""
    checkout = FreshCheckout(place.git(), place.plan)
    checkout.place(place.base, place.base, ())
    own = checkout.folder / "objects.git"
    own_git = {**place.ws.environment, "GIT_DIR": str(own)}
    subprocess.run(
        ["git", "config", "filter.evil.smudge", "echo 1000000"], env=own_git, check=True, cwd=place.ws.root
    )
    (own / "info").mkdir(exist_ok=True)
    (own / "info/attributes").write_text("value.txt filter=evil\n")
    (own / "info/exclude").write_text("*\n")
    place.ws.git("config", "filter.evil.smudge", "echo 1000000")
    (own / "config.worktree").write_text('[filter "evil"]\n\tsmudge = echo 1000000\n')
    if link:
        (own / "commondir").write_text(f"{place.ws.root}/.git\n")
        (place.ws.root / ".git/info/attributes").write_text("value.txt filter=evil\n")
    made = place.commit("2\n")
    placed = checkout.place(made, place.base, ())
    assert (placed / "value.txt").read_text() == "2\n"
    assert checkout.dirt() == ()
    (placed / "loose").touch()
    assert checkout.dirt() == ("loose",)


def test_the_fresh_checkout_does_not_follow_a_link(place: Place) -> None:
    """Something else in the place of its repository is taken away."""
    checkout = FreshCheckout(place.git(), place.plan)
    checkout.place(place.base, place.base, ())
    shutil.rmtree(checkout.folder / "objects.git")
    (checkout.folder / "objects.git").symlink_to(place.ws.root / ".git")
    before = place.ws.users_side()
    placed = checkout.place(place.base, place.base, ())
    assert (placed / "value.txt").read_text() == "1\n"
    assert place.ws.users_side() == before
