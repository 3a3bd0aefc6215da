"""``omagy hud``: one line for a status bar, in the time that a status bar has (contract section 7).

Nothing heavy is imported here, nothing is written, and no program is started.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omagy_autoresearch.errors import ContractError, StorageError
from omagy_autoresearch.hud import RunGlance, hud_line, name_of
from omagy_autoresearch.lifecycle import normalise
from omagy_autoresearch.mode_scope import parse_session_id
from omagy_autoresearch.strict_json import JsonProblem, loads_object
from omagy_autoresearch.workflow import combination
from omagy_supervisor.active import last_pointer, place_of, supervisor_lives
from omagy_supervisor.adapters.workflow_files import WorkflowFiles
from omagy_supervisor.files import read_regular
from omagy_supervisor.options import Options, read_options
from omagy_supervisor.paths import RunFolder, StateRoot, find_root
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.messages import show, show_data

if TYPE_CHECKING:
    from datetime import datetime

HELP = """\
omagy hud: active modes and the run of this repository, in one line of text.

usage:
  omagy hud [options]

  --session-id ID   modes of that session alone; without it, of all scopes
  --path DIR        the repository around DIR, instead of the current folder
  --width N         at most N characters (default: the terminal's width, 120
                    without one)
  --watch           show it anew whenever it changes, until Ctrl-C
  --json            the same as data

tmux:
  set -g status-right '#(omagy hud --path "#{pane_current_path}" --width 80)'
starship:
  [custom.omagy]
  command = "omagy hud"
  when = true
Outside a repository it prints nothing.

--json: {"repository", "scopes": {"<session-id, or empty>": "team+ralph"},
         "line", "run": null or {"run_id", "name", "state", "iteration",
         "best", "baseline", "scores", "waits_until", "waits_for"}}
exit status: 0, whatever there is to show · 2 usage error
"""

_LIMIT = 1 << 20
_WIDTH = 120
_TICK_S = 1.0
_SHOWN_AFTER_ITS_END_S = 24 * 3600


def hud(words: list[str], settings: Settings) -> int:  # noqa: ARG001 - commands have one signature
    """Print the line; returns 0. Raises ContractError for a wrong option."""
    options = read_options(words, "hud", flags=("--json", "--watch"), values=("--session-id", "--path", "--width"))
    if options.has("--help"):
        show(HELP.rstrip())
        return 0
    if options.words:
        raise ContractError(f"hud does not take {' '.join(options.words)}", "omagy hud --help")
    width, session_id = _width(options), parse_session_id(options.values.get("--session-id"))
    folder = Path(options.values.get("--path", ".")).absolute()
    if options.has("--watch"):
        return _watch(lambda: _told(folder, session_id, width, as_json=options.has("--json")))
    text = _told(folder, session_id, width, as_json=options.has("--json"))
    if text:
        show_data(text)
    return 0


def _width(options: Options) -> int:
    given = options.values.get("--width")
    if given is None:
        return _terminal_width()
    if not (given.isascii() and given.isdigit()) or not 1 <= int(given) <= 10_000:
        raise ContractError(f"--width {given}: it is a number of characters, from 1 to 10000")
    return int(given)


def _terminal_width() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


def _told(folder: Path, session_id: str | None, width: int, *, as_json: bool) -> str:
    root = find_root(folder)
    if root is None:
        return json.dumps({"repository": None, "line": ""}) if as_json else ""
    scopes, run = _scopes(root, session_id), _run(root)
    combinations, nothing = list(dict.fromkeys(scopes.values())), _nothing(root) if run is None else ""
    line = hud_line(combinations, run, width, unicode=_speaks_unicode(), nothing=nothing)
    if not as_json:
        return line
    facts = run._asdict() if run is not None else None
    data = {"repository": str(root.repo_root), "scopes": scopes, "run": facts, "line": line}
    return json.dumps(data, ensure_ascii=False, default=str)


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _watch(told: Any) -> int:
    """On a terminal the line is replaced; elsewhere each change is a line of its own."""
    shown, terminal = None, sys.stdout.isatty()
    from threading import Event

    tick = Event()
    try:
        while True:
            text = told()
            if text != shown:
                sys.stdout.write(f"\r\033[K{text}" if terminal else f"{text}\n")
                sys.stdout.flush()
                shown = text
            tick.wait(_TICK_S)
    except KeyboardInterrupt:
        if terminal:
            sys.stdout.write("\n")
        return 0


# -- what there is


def _scopes(root: StateRoot, session_id: str | None) -> dict[str, str]:
    """The combination of each scope that has one; the repository's own is called ``""``."""
    files = WorkflowFiles(root.state)
    meant = [session_id] if session_id else [None, *files.sessions()]
    found = {name or "": combination(files.scope(name).entries()) for name in meant}
    return {name: shown for name, shown in found.items() if shown}


def _run(root: StateRoot) -> RunGlance | None:
    """The active run, else the last: while it is interrupted, or for some time after its end."""
    pointer, lives = last_pointer(root), supervisor_lives(root)
    if pointer is None and lives:
        return RunGlance("", "", "starting", 0)
    active = lives and pointer is not None and pointer.active
    folder = _pointed_to(root)
    if folder is None or not (folder.known or active):  # a person removed it
        folder = _newest(root)
    if folder is None:
        return None
    run_id, manifest = folder.root.name, _manifest(folder)
    if manifest is None:
        return RunGlance(run_id, run_id, "unreadable" if folder.known else "without records", None)
    state = _state(manifest, lives=active)
    return None if state is None else _glance(manifest, run_id, state)


def _nothing(root: StateRoot) -> str:
    """What no run is called: there is none any more, or none that is to be shown."""
    last = _pointed_to(root)
    return "no run" if last is not None and not last.known and _newest(root) is None else "idle"


def _pointed_to(root: StateRoot) -> RunFolder | None:
    pointer = last_pointer(root)
    return place_of(pointer, root).run(pointer.run_id) if pointer is not None else None


def _newest(root: StateRoot) -> RunFolder | None:
    try:
        found = root.known_runs()
    except StorageError:
        return None
    return root.run(found[-1]) if found else None


def _manifest(folder: RunFolder) -> Mapping[str, Any] | None:
    try:
        return loads_object(read_regular(folder.manifest, _LIMIT) or b"")
    except (ValueError, JsonProblem):
        return None


def _state(manifest: Mapping[str, Any], *, lives: bool) -> str | None:
    reading = normalise(manifest)
    if lives:
        return name_of(manifest.get("status")).replace("_", " ")
    if not reading.ended:
        return "interrupted"
    return str(reading.outcome or "ended") if _is_recent(manifest.get("completed_at")) else None


def _is_recent(value: object) -> bool:
    from omagy_supervisor.adapters.clock import SystemClock

    at = _time(value)
    return at is not None and (SystemClock().now() - at).total_seconds() < _SHOWN_AFTER_ITS_END_S


def _glance(manifest: Mapping[str, Any], run_id: str, state: str) -> RunGlance:
    scores = manifest.get("kept_scores")
    iteration = manifest.get("iteration")
    waits_until = _time(manifest.get("waiting_until")) if state == "waiting" else None
    return RunGlance(
        run_id=run_id,
        name=name_of(manifest.get("mission_slug")) or run_id,
        state=state,
        iteration=iteration if isinstance(iteration, int) and not isinstance(iteration, bool) else 0,
        best=_number(manifest.get("last_kept_score")),
        baseline=_number(manifest.get("baseline_score")),
        scores=tuple(n for score in scores if (n := _number(score)) is not None) if isinstance(scores, list) else (),
        waits_until=waits_until,
        waits_for=name_of(manifest.get("waiting_for")),
    )


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _time(value: object) -> "datetime | None":
    """Local time; without a zone it was UTC."""
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
        return None if found is None else (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone()
    except (ValueError, OverflowError):  # no time, or one that no clock here can show
        return None
