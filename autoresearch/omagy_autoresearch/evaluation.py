"""What an evaluator's output means (contract section 2): a score, or a reason why there is none."""

import contextlib
import json
import signal
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct, field

from omagy_autoresearch.durations import format_duration
from omagy_autoresearch.strict_json import JsonProblem, NotJson, loads_object

_EXTRA_LIMIT = 2048
_TAIL_LIMIT = 2048
_METRICS_LIMIT = 100
_LINE_LIMIT = 160
_HUGE = 1e300


class EvaluatorFault(StrEnum):
    """The ways in which an evaluator fails to answer."""

    EXIT_STATUS = "exit_status"
    KILLED = "killed"
    TIMEOUT = "timeout"
    NO_OUTPUT = "no_output"
    BAD_OUTPUT = "bad_output"
    BUILD = "build"
    SETUP = "setup"
    CHECKOUT = "checkout"
    NOT_STARTED = "not_started"


class EvaluatorRun(Struct, frozen=True):
    """How one evaluator process went. ``stdout`` is its (bounded) end, ``result`` the result file's content.

    ``result_problem`` says why a result file that is there cannot be read.
    """

    exit_status: int | None
    signal: int | None = None
    timed_out_after_s: float | None = None
    not_started: str = ""
    duration_s: float = 0.0
    stdout: bytes = b""
    stderr: bytes = b""
    result: bytes | None = None
    result_problem: str = ""


class Evaluation(Struct, frozen=True, omit_defaults=True):
    """A measured commit: ``passed`` and ``score`` when ``fault`` is None, else ``error`` says what went wrong."""

    passed: bool | None = field(default=None, name="pass")
    score: float | None = None
    fault: EvaluatorFault | None = None
    error: str = ""
    exit_status: int | None = None
    duration_s: float = 0.0
    samples: tuple[float, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    dirty: tuple[str, ...] = field(default=(), name="evaluator_dirty")
    stdout_tail: str = ""
    stderr_tail: str = ""


def read_evaluation(run: EvaluatorRun) -> Evaluation:
    """The evaluation of ``run``. Every way of going wrong has its fault and a reason fit to show."""
    fault = _process_fault(run)
    if fault is not None:
        return _broken(run, *fault)
    try:
        data = _answer(run)
        passed, score = _pass(data), _score(data)
    except JsonProblem as problem:
        said = run.stdout.strip() or run.result or run.result_problem
        return _broken(run, EvaluatorFault.BAD_OUTPUT if said else EvaluatorFault.NO_OUTPUT, str(problem))
    return Evaluation(
        passed=passed,
        score=score,
        exit_status=run.exit_status,
        duration_s=run.duration_s,
        metrics=_metrics(data),
        extra=_extra(data),
        stderr_tail=_tail(run.stderr) if not passed else "",
    )


def read_check(run: EvaluatorRun, name: str) -> Evaluation:
    """The evaluation of a command that answers by its exit status alone: a guard, a build, a set-up."""
    fault = _process_fault(run)
    if fault is None:
        return Evaluation(passed=True, exit_status=0, duration_s=run.duration_s)
    kind, error = fault
    told = _last_line(run.stderr) or _last_line(run.stdout)
    broken = _broken(run, kind, error.replace("the evaluator", name) + (f": {told}" if told else ""))
    return msgspec.structs.replace(broken, passed=False)


def _process_fault(run: EvaluatorRun) -> tuple[EvaluatorFault, str] | None:
    if run.not_started:
        return EvaluatorFault.NOT_STARTED, f"the evaluator could not be started: {run.not_started}"
    if run.timed_out_after_s is not None:
        limit = format_duration(run.timed_out_after_s)
        return EvaluatorFault.TIMEOUT, f"the evaluator was stopped at its time limit of {limit}"
    if run.signal is not None:
        return EvaluatorFault.KILLED, f"the evaluator was killed by signal {run.signal}"
    if run.exit_status != 0:
        return EvaluatorFault.EXIT_STATUS, f"the evaluator exited with status {_told(run.exit_status)}"
    return None


def _told(exit_status: int | None) -> str:
    """A shell tells that what it ran was ended by a signal as 128 and the signal's number."""
    with contextlib.suppress(ValueError):
        return f"{exit_status} ({signal.Signals((exit_status or 0) - 128).name})"
    return str(exit_status)


def _broken(run: EvaluatorRun, fault: EvaluatorFault, error: str) -> Evaluation:
    return Evaluation(
        fault=fault,
        error=error,
        exit_status=run.exit_status,
        duration_s=run.duration_s,
        stdout_tail=_tail(run.stdout),
        stderr_tail=_tail(run.stderr),
    )


def _answer(run: EvaluatorRun) -> dict[str, Any]:
    """The object the evaluator answered with: result file first, whole output next, last object line last."""
    if run.result_problem:
        raise JsonProblem(f"the evaluator's result file: {run.result_problem}")
    if run.result is not None:
        try:
            return loads_object(run.result)
        except JsonProblem as problem:
            raise JsonProblem(f"the evaluator's result file: {problem}") from None
    if not run.stdout.strip():
        raise JsonProblem("the evaluator printed nothing; it must print a JSON object with pass and score")
    try:
        return loads_object(run.stdout)
    except NotJson as problem:
        return _last_object_line(run.stdout, problem)
    except JsonProblem as problem:
        raise JsonProblem(f"the evaluator's output has no JSON object: {problem}") from None


def _last_object_line(stdout: bytes, whole: JsonProblem) -> dict[str, Any]:
    """The last line that is meant as a JSON object. A broken one is refused, not passed over for an earlier one."""
    for line in reversed(stdout.splitlines()):
        if not line.strip().startswith(b"{"):
            continue
        try:
            return loads_object(line)
        except JsonProblem as problem:
            raise JsonProblem(f"the evaluator's last line that looks like JSON: {problem}") from None
    raise JsonProblem(f"the evaluator's output has no JSON object: {whole}")


def _pass(data: dict[str, Any]) -> bool:
    value = data.get("pass")
    if not isinstance(value, bool):
        said = "has no pass" if "pass" not in data else f"says pass is {json.dumps(value)[:40]}"
        raise JsonProblem(f"the evaluator's answer {said}; pass must be true or false")
    return value


def _score(data: dict[str, Any]) -> float | None:
    value = data.get("score")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise JsonProblem(f"the evaluator's answer says score is {json.dumps(value)[:40]}; score must be a number")
    try:
        score = float(value)
    except OverflowError:
        score = _HUGE
    if abs(score) >= _HUGE:
        raise JsonProblem("the evaluator's score is too large for a number")
    return score


def _metrics(data: dict[str, Any]) -> dict[str, float]:
    """The answer's other numbers; the first hundred, so that a record stays small."""
    numbers = ((key, value) for key, value in data.items() if key not in {"pass", "score"})
    found = {key: value for key, value in numbers if isinstance(value, int | float) and not isinstance(value, bool)}
    return {key: float(value) for key, value in list(found.items())[:_METRICS_LIMIT] if abs(value) < _HUGE}


def _extra(data: dict[str, Any]) -> dict[str, Any]:
    extra = {key: value for key, value in data.items() if key not in {"pass", "score"}}
    return extra if len(json.dumps(extra)) <= _EXTRA_LIMIT else {"dropped": "other fields over 2,048 characters"}


def _last_line(raw: bytes) -> str:
    """The last line that says anything, short enough for a reason."""
    lines = raw[-_TAIL_LIMIT:].decode("utf-8", "replace").splitlines()
    return next((" ".join(line.split())[:_LINE_LIMIT] for line in reversed(lines) if line.strip()), "")


def _tail(raw: bytes) -> str:
    return raw[-_TAIL_LIMIT:].decode("utf-8", "replace").strip()
