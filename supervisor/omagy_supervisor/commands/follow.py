"""The plain live view: the supervisor's lines as they are written (contract section 1)."""

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from omagy_autoresearch.errors import ExitStatus, StorageError
from omagy_autoresearch.handoff import handoff_markdown
from omagy_autoresearch.lifecycle import Outcome
from omagy_autoresearch.manifest import Manifest
from omagy_autoresearch.workflow_handoff import workflow_handoff
from omagy_supervisor.active import is_supervised
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.stops import SignalStops
from omagy_supervisor.files import read_regular
from omagy_supervisor.paths import RunFolder, StateRoot
from omagy_supervisor.ports import Wake
from omagy_supervisor.recover import read_manifest
from omagy_supervisor.ui.messages import say, show, show_prose

_TICK_S = 0.2
_LETTING_GO_S = 10.0
_HANDOFF_LIMIT = 1 << 20


def follow(root: StateRoot, run_id: str, told: int = 0) -> int:
    """Show the run's progress until it ends or the person leaves; returns the exit status.

    Ctrl-C leaves the view, not the run. ``told`` are the bytes of the log that earlier views have shown.
    """
    folder = root.run(run_id)
    with leaving() as stops, _open(folder.log) as log:
        log.seek(told)
        while True:
            _copy(log)
            manifest = read_manifest(folder)
            if manifest is not None and manifest.over:
                _await_letting_go(root, run_id, stops)
                _copy(log)
                show("")
                return show_end(folder, manifest.outcome)
            if not is_supervised(root, run_id) and _still_unfinished(folder):
                _copy(log)
                return _gone(root, folder, run_id)
            if stops.wait(_TICK_S) is Wake.STOP:
                return _left(run_id)


def _await_letting_go(root: StateRoot, run_id: str, stops: SignalStops) -> None:
    """Wait until the supervisor of a run that has ended is gone: until then the next launch or resume is refused."""
    clock = SystemClock()
    deadline = clock.monotonic_s() + _LETTING_GO_S
    while is_supervised(root, run_id) and clock.monotonic_s() < deadline:
        if stops.wait(_TICK_S / 4) is Wake.STOP:
            return


def _still_unfinished(folder: RunFolder) -> bool:
    manifest = read_manifest(folder)
    return manifest is None or not manifest.over


def show_end(folder: RunFolder, outcome: Outcome | None) -> int:
    """Print the handoff of an ended run; returns the exit status that its outcome has.

    Where the handoff's own file is missing, as with runs of older tools, the manifest has what there is to tell. One
    that does not say how its run ended counts as blocked: somebody has to look.
    """
    try:
        told = read_regular(folder.handoff_markdown, _HANDOFF_LIMIT)
    except ValueError:
        told = None
    show_prose(_told_by_manifest(folder) if told is None else told.decode(errors="replace"))
    return int(outcome.exit_status if outcome is not None else ExitStatus.BLOCKED)


def _told_by_manifest(folder: RunFolder) -> str:
    record = json.loads(folder.manifest.read_bytes())
    found = workflow_handoff("autoresearch", record, state_path=str(folder.manifest))
    return handoff_markdown(found) if found is not None else ""


def _gone(root: StateRoot, folder: RunFolder, run_id: str) -> int:
    if root.is_gone:  # whether the run goes on elsewhere cannot be seen from here
        say(f"omagy: the repository {root.repo_root} was moved or deleted while run {run_id} worked on it")
        say(f"  move it back, and see how the run stands: omagy autoresearch status {run_id}")
        return int(ExitStatus.FAILED)
    say(f"omagy: the supervisor of run {run_id} is gone without ending the run")
    if folder.journal.exists():
        say(f"  go on with it: omagy autoresearch --resume {run_id}")
    else:
        say(f"  its records were deleted ({folder.root}), so it cannot go on; the kept work is on its branch:")
        say("  git branch --list 'autoresearch/*'")
    return int(ExitStatus.FAILED)


def _left(run_id: str) -> int:
    say("")
    say(f"You left the view; run {run_id} goes on.")
    say(f"  watch again: omagy autoresearch watch {run_id}")
    say(f"  stop it:     omagy autoresearch stop {run_id}")
    return int(ExitStatus.OK)


def until_baseline(folder: RunFolder, run_id: str, under_way: str) -> int:
    """Wait until the baseline is recorded, or the run ended before it; returns the exit status.

    ``under_way`` tells the person what they waited for.
    """
    root = StateRoot(folder.root.parents[3])
    with leaving() as stops:
        while True:
            manifest = read_manifest(folder)
            if manifest is not None and manifest.over:
                _await_letting_go(root, run_id, stops)
                return show_end(folder, manifest.outcome)
            if manifest is not None and _baseline_recorded(manifest):
                say(f"{under_way}; watch: omagy autoresearch watch {run_id}")
                return int(ExitStatus.OK)
            if not is_supervised(root, run_id) and _still_unfinished(folder):
                return _gone(root, folder, run_id)
            if stops.wait(_TICK_S) is Wake.STOP:
                return _left(run_id)


def _baseline_recorded(manifest: Manifest) -> bool:
    """True once the first session has begun: only then is it known that the baseline did not end the run."""
    return manifest.baseline_commit is not None and manifest.iteration > 0


@contextlib.contextmanager
def leaving() -> Iterator[SignalStops]:
    """Ctrl-C inside means leaving; the signals are as before afterwards."""
    stops = SignalStops(Path("/nonexistent/omagy"), SystemClock())
    with stops.installed():
        yield stops


@contextlib.contextmanager
def _open(log: Path) -> Iterator[IO[str]]:
    """The log to read, which is made where there is none yet. Raises StorageError for anything but a file."""
    try:
        fd = os.open(log, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(f"{log} cannot be read: {error.strerror}") from None
    with os.fdopen(fd, encoding="utf-8", errors="replace") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise StorageError(f"{log} cannot be read: it is not a regular file")
        yield file


_STYLES = ((": keep,", "green"), (": error,", "red"), (": discard,", "dim"), ("run ended", "bold"))


def _copy(log: IO[str]) -> None:
    for line in log:
        say(line.rstrip("\n"), next((style for mark, style in _STYLES if mark in line), None))
