"""``omagy state write | read | list | clear | cancel``: workflow modes and which of them are active (section 7)."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.handoff import Handoff, handoff_markdown
from omagy_autoresearch.lifecycle import normalise
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.mode_request import parse_clear, parse_read, parse_write
from omagy_autoresearch.spelling import nearest
from omagy_autoresearch.workflow import clear_command
from omagy_supervisor.options import Options, read_options
from omagy_supervisor.paths import StateRoot, find_root
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.messages import say, show, show_data
from omagy_supervisor.workflow_state import Answer, cancel, clear, list_scopes, read, write

HELP = """\
omagy state: workflow modes, and which of them are active.

usage:
  omagy state write [--mode] <mode> [options]    activate a mode, say how far
                                                 it is, or how it ended
  omagy state read [[--mode] <mode>]             one mode's state, or the
                                                 active set with all states
  omagy state list                               all scopes
  omagy state clear [--mode] <mode> | --all      take a mode out of the active
                                                 set, and its state away
  omagy state cancel [--mode] <mode> | --all     end an active mode as
                                                 userinterlude; its state stays

options:
  --session-id ID   the scope; without it, the repository's own
  --phase TEXT      write: the mode's current_phase
  --outcome WORD    write: finished, blocked, failed, userinterlude or
                    askuserQuestion; the mode ends
  --inactive        write: the mode is over, and nobody says how
  --input JSON      the same as one object, - for stdin. It alone can hold more
                    of a state:
                    '{"mode":"team","current_phase":"exec","state":{"n":3}}'
  --json            answer, and errors, as JSON on stdout

examples:
  omagy state write team --phase exec
  omagy state write team --outcome blocked --input '{"error":"no key"}'
  omagy state clear --input '{"mode":"ralph","session_id":"s-1"}' --json

modes: deep-interview, plan, review, team, ralph, ultrawork, ultragoal,
       ultraqa, autoresearch
  Side by side: team with ralph, ultrawork or ultragoal. A handoff ends its
  source as finished. autoresearch is active exactly while a run is; clearing
  it stops the run. What belongs together, and what --json holds, is in
  docs/contracts/multi-state-transitions.md.

exit status: 0 done, also when there was nothing to do
             1 a file or lock that omagy could not use
             2 denied, or a usage or contract error: nothing was changed
"""

_VERBS = ("write", "read", "list", "clear", "cancel")
_VALUES = {
    "write": {"--session-id": "session_id", "--phase": "current_phase", "--outcome": "lifecycle_outcome"},
    "read": {"--session-id": "session_id"},
    "list": {},
    "clear": {"--session-id": "session_id"},
    "cancel": {"--session-id": "session_id"},
}
_FLAGS = {
    "write": {"--inactive": ("active", False)},
    "clear": {"--all": ("all", True)},
    "cancel": {"--all": ("all", True)},
}


def state(words: list[str], settings: Settings) -> int:
    """Run one state command; returns its exit status. Raises OmagyError."""
    if not words or words[0] in ("--help", "-h", "help"):
        show(HELP.rstrip())
        return 0 if words else 2
    verb, *rest = words
    if verb not in _VERBS:
        raise ContractError(f"state has no command {verb}{nearest(verb, _VERBS)}", "omagy state --help")
    named = {} if verb == "list" else {"--mode": "mode", **_VALUES[verb]}
    flags = _FLAGS.get(verb, {})
    options = read_options(
        rest, f"state {verb}", flags=("--json", *flags), values=(*named, *(["--input"] if named else []))
    )
    if options.has("--help"):
        show(HELP.rstrip())
        return 0
    request = _request(options, verb, named, flags)
    root = _root()
    answer = _run(verb, root, request, settings)
    for note in answer["notes"]:
        say(f"note: {note}")
    if options.has("--json"):
        show_data(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        show("\n".join(_TOLD[verb](answer)))
    return 0


def _request(
    options: Options, verb: str, named: Mapping[str, str], flags: Mapping[str, tuple[str, bool]]
) -> dict[str, Any]:
    """What ``--input`` and the plain options say together. Raises ContractError."""
    given: dict[str, Any] = {key: options.values[option] for option, key in named.items() if option in options.values}
    given |= {key: value for flag, (key, value) in flags.items() if options.has(flag)}
    if options.words and (len(options.words) > 1 or verb == "list"):
        raise ContractError(f"state {verb} does not take {' '.join(options.words)}", "omagy state --help")
    if options.words and "mode" in given:
        raise ContractError("the mode is given twice", "say it once")
    given |= {"mode": options.words[0]} if options.words else {}
    request = options.input_object('{"mode":"team"}')
    for key in sorted(given.keys() & request.keys()):
        if given[key] != request[key]:
            raise ContractError(f"{key} stands in --input and beside it, and differs", "say it once")
    return {**request, **given}


def _root() -> StateRoot:
    here = Path.cwd()
    root = find_root(here)
    if root is None:
        raise ContractError(f"{here} is not inside a git repository", "workflow modes belong to one: git init")
    return root


def _run(verb: str, root: StateRoot, request: dict[str, Any], settings: Settings) -> Answer:
    match verb:
        case "write":
            return write(root, parse_write(request), settings)
        case "read":
            return read(root, parse_read(request))
        case "list":
            return list_scopes(root)
        case "clear":
            return clear(root, parse_clear(request), settings)
        case _:
            return cancel(root, parse_clear(request), settings)


# -- for a person


def _written(answer: Answer) -> list[str]:
    lines = [f"{mode} is finished: it handed over to {answer['mode']}" for mode in answer["completed"]]
    outcome = answer["state"].get("lifecycle_outcome")
    how = "active" if answer["active"] else f"not active ({outcome})" if outcome else "not active"
    told = {**answer["handoffs"], answer["mode"]: answer["handoff"]}
    return [*lines, f"{answer['mode']} is {how}", _now_active(answer), *_handoffs(told.values())]


def _handoffs(told: Iterable[Answer | None]) -> list[str]:
    """The four parts of each end, the last of which says whose turn it is."""
    found = [one for one in told if one is not None]
    if not found:
        return []
    from msgspec import convert

    return [line for one in found for line in ("", handoff_markdown(convert(one, Handoff)).rstrip())]


def _read(answer: Answer) -> list[str]:
    if "mode" not in answer:
        return [
            _now_active(answer),
            *(f"{mode}: {_shown(_canonical(state))}" for mode, state in answer["states"].items()),
        ]
    if not answer["exists"]:
        return [f"{answer['mode']} has no state{_where(answer['session_id'])}"]
    head = f"{answer['mode']} is {'active' if answer['active'] else 'not active'}{_where(answer['session_id'])}"
    return [
        head,
        *(f"  {_shown(key)}: {_shown(value)}" for key, value in _canonical(answer["state"]).items()),
        *_handoffs([answer["handoff"]]),
    ]


def _canonical(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """``state`` with its outcome in the canonical word alone, whatever an older tool called it."""
    outcome = normalise(state).outcome
    if outcome is None:
        return state
    return {**{key: value for key, value in state.items() if key != "run_outcome"}, "lifecycle_outcome": outcome}


def _listed(answer: Answer) -> list[str]:
    lines = []
    for scope in answer["scopes"]:
        lines.append(_now_active(scope))
        for mode, told in scope["modes"].items():
            how = "active" if told["active"] else told["lifecycle_outcome"] or "not active"
            phase = f", {_shown(told['current_phase'])}" if told["current_phase"] else ""
            lines.append(f"  {mode:<15} {how}{phase}  ({_shown(told['updated_at'] or 'no time')})")
    if answer["run"] is not None:
        lines.append(f"run {answer['run']['run_id']} is active: omagy autoresearch watch")
    return lines


def _cleared(answer: Answer) -> list[str]:
    return [*_ended(answer, "cleared", "there"), _now_active(answer), *_handoffs(answer["handoffs"].values())]


def _cancelled(answer: Answer) -> list[str]:
    ended = _ended(answer, "cancelled (userinterlude)", "active")
    return [*ended, _now_active(answer), *_handoffs(answer["handoffs"].values())]


def _ended(answer: Answer, word: str, absent: str) -> list[str]:
    if answer["run"] is not None and answer["run"]["run_id"]:
        return _run_lines(answer["run"])
    if answer["ended"]:
        return [f"{mode} is {word}" for mode in answer["ended"]]
    what = f"{answer['mode']} is not" if answer["mode"] else "no mode is"
    return [f"{what} {absent}{_where(answer['session_id'])}: nothing to do", *_elsewhere_lines(answer)]


def _run_lines(run: Mapping[str, Any]) -> list[str]:
    if run["outcome"] in ("finished", "failed"):
        return [f"run {run['run_id']} has ended for good: {run['outcome']}"]
    told = "has stopped" if run["stopped"] else "is not active: nothing to stop"
    if not run["can_go_on"]:
        told += "; its records cannot be read, so it cannot go on"
        return [f"run {run['run_id']} {told}", "  see what there is: omagy autoresearch list"]
    return [f"run {run['run_id']} {told}", f"  go on with it: omagy autoresearch --resume {run['run_id']}"]


def _elsewhere_lines(answer: Answer) -> list[str]:
    return [
        f"  it is active{_where(session_id)}: {clear_command(answer['mode'], session_id)}"
        for session_id in answer["elsewhere"]
    ]


def _now_active(answer: Answer) -> str:
    return f"active{_where(answer['session_id'])}: {answer['combination'] or 'nothing'}"


def _where(session_id: str | None) -> str:
    return f" in session {session_id}" if session_id else " in this repository"


def _shown(value: object) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 200)


_TOLD = {"write": _written, "read": _read, "list": _listed, "clear": _cleared, "cancel": _cancelled}
