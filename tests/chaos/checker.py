"""One independent check of what a run leaves behind, whatever happened to it.

Nothing of omagy's own code is used to read its records: they are what any other program would find.
"""

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from fakes.workspace import Workspace
from omagy_supervisor.commands.steer import rebuild
from omagy_supervisor.settings import read_settings

_TEMPORARY = ("*.omagy-tmp", "handover-*", "start-*", "omagy-leftovers-index*", "omagy-check*", "omagy-snapshot-*")
_OWN_LOCKS = ("autoresearch.lock", "workflow.lock")


def check(ws: Workspace, run_id: str | None = None) -> None:
    """Fail with everything that is wrong about an ended run."""
    found = list(violations(ws, run_id or ws.run_id()))
    assert not found, "\n".join(found)


def violations(ws: Workspace, run_id: str) -> Iterator[str]:
    """What contradicts the promises about an ended run, as sentences."""
    events = read_journal(ws.folder(run_id) / "journal.jsonl")
    manifest, ledger = ws.manifest(run_id), ws.ledger(run_id)
    entries = ledger["entries"]
    yield from _history(events, manifest, ledger)
    yield from _results(Path(manifest["worktree_path"]), entries)
    yield from _git(ws, run_id, manifest, entries)
    yield from _litter(ws, Path(manifest["worktree_path"]))
    yield from _survivors(manifest["worktree_path"])
    yield from _recovering_again(ws, run_id)


def read_journal(path: Path) -> list[dict[str, Any]]:
    """The events of a journal whose every line is whole."""
    events = []
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
        checksum, _, data = line.rstrip(b"\n").partition(b" ")
        assert line.endswith(b"\n"), f"{path}:{number} is torn"
        assert int(checksum, 16) == zlib.crc32(data), f"{path}:{number} has a wrong checksum"
        events.append(json.loads(data)["event"])
    return events


def decided(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries that the journal says were decided and applied."""
    entries, last = [], None
    for event in events:
        if event["type"] == "Decided":
            last = event["entry"]
        elif event["type"] == "Applied" and last is not None:
            entries.append(last)
            last = None
    return entries


def leaves_lane_alone(entry: dict[str, Any]) -> bool:
    return entry["decision"] == "abort" or (entry["decision"] == "interrupted" and bool(entry["dirty_files"]))


def _history(events: list[dict[str, Any]], manifest: dict[str, Any], ledger: dict[str, Any]) -> Iterator[str]:
    entries, end = ledger["entries"], events[-1]
    if entries != decided(events):
        yield f"the ledger's {len(entries)} entries are not the journal's {len(decided(events))}"
    numbers = [entry["iteration"] for entry in entries]
    if numbers != list(range(len(entries))):
        yield f"iterations have gaps or repeat: {numbers}"
    if end["type"] != "RunEnded":
        yield f"the journal ends with {end['type']}"
        return
    for name, record in (("manifest", manifest), ("ledger", ledger)):
        said = (record["lifecycle_outcome"], record["stop_reason"])
        if said != (end["outcome"], end["reason"]):
            yield f"the {name} says {said}, the journal {end['outcome']}: {end['reason']}"
    if entries and manifest["last_kept_commit"] != entries[-1]["kept_commit"]:
        yield f"the manifest's kept commit {manifest['last_kept_commit']} is not the journal's"
    if entries and manifest["iteration"] < entries[-1]["iteration"]:
        yield f"the manifest is behind at iteration {manifest['iteration']}"


def _results(worktree: Path, entries: list[dict[str, Any]]) -> Iterator[str]:
    rows = [line.split("\t") for line in (worktree / "results.tsv").read_text().splitlines()]
    want = [[str(entry["iteration"]), entry["decision"]] for entry in entries]
    if rows[:1] != [["iteration", "commit", "pass", "score", "status", "description"]]:
        yield f"results.tsv has the header {rows[:1]}"
    if [[row[0], row[4]] for row in rows[1:]] != want:
        yield f"results.tsv has the rows {rows[1:]}"


def _git(ws: Workspace, run_id: str, manifest: dict[str, Any], entries: list[dict[str, Any]]) -> Iterator[str]:
    kept, lane = manifest["last_kept_commit"], Path(manifest["worktree_path"])
    out = ws.git("for-each-ref", "--format=%(refname) %(objectname)", f"refs/omagy/{run_id}", "refs/heads")
    refs = dict(line.split(" ") for line in out.splitlines())
    if entries and refs.get(f"refs/omagy/{run_id}/kept") != kept:
        yield f"the kept ref is {refs.get(f'refs/omagy/{run_id}/kept')}, the manifest says {kept}"
    for entry in entries:
        for name in ("candidate_commit", "kept_commit"):
            commit = entry[name]
            if commit and commit not in refs.values() and commit != manifest["baseline_commit"]:
                yield f"the {name} of iteration {entry['iteration']} is under no ref"
        if entry["leftovers_ref"] and entry["leftovers_ref"] not in refs:
            yield f"the leftovers of iteration {entry['iteration']} are gone"
    if not (entries and leaves_lane_alone(entries[-1])):
        yield from _lane(ws, lane, kept, manifest["branch_name"], refs)
    inventory = json.loads((ws.root / ".omagy/state/skill-active-state.json").read_text())
    if inventory["active_skills"]:
        yield f"a run that has ended is still an active mode: {inventory['active_skills']}"
    if ws.git("status", "--porcelain"):
        yield f"the user's checkout was changed: {ws.git('status', '--porcelain')}"
    problems = ws.git("fsck", "--full", "--no-dangling", "--no-progress")
    if problems:
        yield f"git fsck: {problems}"


def _lane(ws: Workspace, lane: Path, kept: str, branch: str, refs: dict[str, str]) -> Iterator[str]:
    head, where = ws.git("rev-parse", "HEAD", cwd=lane), ws.git("symbolic-ref", "HEAD", cwd=lane)
    if not refs.get(f"refs/heads/{branch}") == head == kept:
        yield f"the lane's branch is at {refs.get(f'refs/heads/{branch}')}, its HEAD at {head}, kept is {kept}"
    if where != f"refs/heads/{branch}":
        yield f"the lane is on {where}"
    dirty = ws.git("status", "--porcelain", cwd=lane)
    if dirty:
        yield f"the lane is not clean: {dirty}"


def _litter(ws: Workspace, worktree: Path) -> Iterator[str]:
    for pattern in _TEMPORARY:
        yield from (f"left behind: {path}" for path in worktree.rglob(pattern))
    for folder in (ws.root / ".git", ws.root / ".omagy"):
        for pattern in ("*.lock", *_TEMPORARY):
            ours = [ws.root / ".git/omagy" / name for name in _OWN_LOCKS]
            strays = (path for path in folder.rglob(pattern) if path not in ours)
            yield from (f"left behind: {path}" for path in strays)


def _survivors(worktree: str) -> Iterator[str]:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            environment = process.environ()
            ours = environment.get("OMAGY_COOKIE", "").startswith(f"{worktree}/")
            ours = ours or environment.get("OMAGY_WORKTREE") == worktree
            if ours and process.status() != psutil.STATUS_ZOMBIE:
                yield f"still running: {process.pid} {' '.join(process.cmdline())}"


def _recovering_again(ws: Workspace, run_id: str) -> Iterator[str]:
    """Reading the run back from its journal writes what is there already."""
    before = digest(ws, run_id)
    with contextlib.chdir(ws.root), Path(os.devnull).open("w") as quiet, contextlib.redirect_stderr(quiet):
        rebuild(read_settings(ws.environment), run_id)
    after = digest(ws, run_id)
    yield from (
        f"recovering again changes {name}" for name in sorted(before | after) if before.get(name) != after.get(name)
    )


def digest(ws: Workspace, run_id: str) -> dict[str, str]:
    """A fingerprint of each of the run's files, of the lane's, and of all refs."""
    lane = Path(ws.manifest(run_id)["worktree_path"])
    found = {"refs": ws.git("for-each-ref")}
    for folder in (ws.folder(run_id), lane):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
