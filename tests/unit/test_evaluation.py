"""What an evaluator's output means."""

import json
from typing import Any

import msgspec
import pytest

from omagy_autoresearch.evaluation import Evaluation, EvaluatorFault, EvaluatorRun, read_evaluation

Fault = EvaluatorFault
GOOD = b'{"pass": true, "score": 2.5}'


def _read(stdout: bytes = b"", result: bytes | None = None, stderr: bytes = b"", **run: Any) -> Evaluation:
    return read_evaluation(EvaluatorRun(exit_status=0, stdout=stdout, result=result, stderr=stderr, **run))


def _says(found: Evaluation, score: float | None = 2.5, *, passed: bool = True) -> bool:
    return (found.fault, found.passed, found.score) == (None, passed, score)


@pytest.mark.parametrize(
    ("run", "fault", "error"),
    [
        (EvaluatorRun(1, stdout=GOOD), Fault.EXIT_STATUS, "the evaluator exited with status 1"),
        (EvaluatorRun(127, stdout=b""), Fault.EXIT_STATUS, "the evaluator exited with status 127"),
        (EvaluatorRun(139), Fault.EXIT_STATUS, "the evaluator exited with status 139 (SIGSEGV)"),
        (EvaluatorRun(255), Fault.EXIT_STATUS, "the evaluator exited with status 255"),
        (EvaluatorRun(None, signal=9, stdout=GOOD), Fault.KILLED, "the evaluator was killed by signal 9"),
        (
            EvaluatorRun(None, signal=15, timed_out_after_s=1800.0, stdout=GOOD),
            Fault.TIMEOUT,
            "the evaluator was stopped at its time limit of 30m 00s",
        ),
        (
            EvaluatorRun(0, timed_out_after_s=1.0, stdout=GOOD, result=GOOD),
            Fault.TIMEOUT,
            "the evaluator was stopped at its time limit of 1.0s",
        ),
        (
            EvaluatorRun(None, not_started="no such file", stdout=GOOD),
            Fault.NOT_STARTED,
            "the evaluator could not be started: no such file",
        ),
    ],
)
def test_a_process_that_failed_has_no_score_whatever_it_printed(run: EvaluatorRun, fault: Fault, error: str) -> None:
    """Exit status, signal, time limit and a failed start are faults of their own, before any output counts."""
    found = read_evaluation(run)
    assert (found.fault, found.error) == (fault, error)
    assert (found.passed, found.score) == (None, None)
    assert found.stdout_tail == run.stdout.decode()


@pytest.mark.parametrize(
    ("stdout", "passed", "score"),
    [
        (b'{"pass": true, "score": 2.5}', True, 2.5),
        (b'{"pass": false, "score": 2}', False, 2.0),
        (b'{"pass": true}', True, None),
        (b'{"pass": true, "score": null}', True, None),
        (b'{"pass": false}', False, None),
        (b'{"pass": true, "score": -0.0}', True, 0.0),
        (b'{"pass": true, "score": 1e299}', True, 1e299),
        (b'{"pass": true, "score": ' + b"9" * 299 + b"}", True, float("9" * 299)),
        (b'\xef\xbb\xbf{"pass": true, "score": 1}\r\n', True, 1.0),
        (b'{\n  "pass": true,\n  "score": 3\n}\n', True, 3.0),
        (b'loading\n[1, 2]\n{"pass": true, "score": 4}\n', True, 4.0),
        (b'{"pass": false, "score": 1}\n{"pass": true, "score": 5}\n', True, 5.0),
        (b'{"pass": true, "score": 6}\ndone in 3 s\n', True, 6.0),
        (b'{"pass": true, "score": 7}\n\n\n', True, 7.0),
        (b'  {"pass": true, "score": 8}  \r\nbye\r\n', True, 8.0),
        (b'\xff\xfe binary log\n{"pass": true, "score": 9}\n', True, 9.0),
        (b'50 %\r100 %\r{"pass": true, "score": 10}\n', True, 10.0),
    ],
)
def test_an_answer_is_found_in_the_output(stdout: bytes, passed: bool, score: float | None) -> None:
    """The whole output counts when it is an object; else the last line that is one, with log lines around it."""
    assert _says(_read(stdout), score, passed=passed)


@pytest.mark.parametrize(
    ("stdout", "error"),
    [
        (b'{"score": 1}', "the evaluator's answer has no pass"),
        (b"{}", "the evaluator's answer has no pass"),
        (b'{"Pass": true}', "has no pass"),
        (b'{"pass": "true"}', 'says pass is "true"; pass must be true or false'),
        (b'{"pass": 1}', "says pass is 1;"),
        (b'{"pass": null}', "says pass is null;"),
        (b'{"pass": true, "score": true}', "says score is true; score must be a number"),
        (b'{"pass": true, "score": "2.5"}', 'says score is "2.5"; score must be a number'),
        (b'{"pass": true, "score": [1]}', "says score is [1];"),
        (b'{"pass": true, "score": {}}', "says score is {};"),
        (b'{"pass": true, "score": NaN}', "NaN is not a number"),
        (b'{"pass": true, "score": Infinity}', "Infinity is not a number"),
        (b'{"pass": true, "score": -Infinity}', "-Infinity is not a number"),
        (b'{"pass": true, "score": 1e999}', "1e999 is too large for a number"),
        (b'{"pass": true, "score": ' + b"9" * 400 + b"}", "too large for a number"),
        (b'{"pass": false, "pass": true}', "the key 'pass' stands in it twice"),
        (b'{"pass": true, "x": NaN}', "NaN is not a number"),
        (b'{"pass": true, "x": "\\ud800"}', "half a character"),
        (b"all good", "the evaluator's output has no JSON object: it is not JSON"),
        (b"[true]", "no JSON object: it is a list"),
        (b"2.5", "no JSON object: it is a number"),
        (b"log\n{'pass': True}", "the evaluator's last line that looks like JSON: it is not JSON"),
        (b'{"pass": true, "score": 1}\n{"pass": true, "score": NaN}', "NaN is not a number"),
        (b'{"pass": true, "score": 1}\n{"pass": tru', "it is not JSON"),
        (b'{"pass": true, "score": NaN, "parts": [\n{"pass": true, "score": 9}\n]}', "NaN is not a number"),
    ],
)
def test_a_bad_answer_is_a_fault_with_its_reason(stdout: bytes, error: str) -> None:
    """What is no boolean, no finite number or no JSON is never guessed: not from an earlier line either."""
    found = _read(stdout)
    assert found.fault is Fault.BAD_OUTPUT
    assert error in found.error
    assert (found.passed, found.score) == (None, None)
    assert len(found.error) < 300


@pytest.mark.parametrize("stdout", [b"", b" \n\t\n"])
def test_an_evaluator_that_said_nothing_is_told_so(stdout: bytes) -> None:
    """No output is a fault of its own, with what was expected."""
    found = _read(stdout)
    assert found.fault is Fault.NO_OUTPUT
    assert "printed nothing; it must print a JSON object with pass and score" in found.error


def test_the_result_file_wins_over_the_output() -> None:
    """An object in the result file is the answer, whatever stands on stdout."""
    assert _says(_read(b'{"pass": false, "score": 0}', result=GOOD))
    assert _says(_read(b"", result=b"\xef\xbb\xbf" + GOOD))


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (b"", "the evaluator's result file: it is not JSON"),
        (b"log\n" + GOOD, "the evaluator's result file: it is not JSON"),
        (b"[]", "the evaluator's result file: it is a list"),
        (b'{"pass": true, "score": NaN}', "the evaluator's result file: NaN is not a number"),
    ],
)
def test_a_bad_result_file_is_not_replaced_by_the_output(result: bytes, error: str) -> None:
    """An answer that went wrong in the file is a fault even when stdout holds another one."""
    found = _read(GOOD, result=result)
    assert found.fault is Fault.BAD_OUTPUT
    assert error in found.error


def test_a_result_file_that_cannot_be_read_is_a_fault() -> None:
    """Something else in the result file's place is told, and stdout does not count instead."""
    found = _read(GOOD, result_problem="it is not a regular file")
    assert found.fault is Fault.BAD_OUTPUT
    assert found.error == "the evaluator's result file: it is not a regular file"


def test_other_fields_are_kept_while_they_are_small() -> None:
    """Everything else an evaluator measured stays in the record, up to a limit."""
    assert _read(b'{"pass": true, "seconds": [1, 2], "note": "x"}').extra == {"seconds": [1, 2], "note": "x"}
    huge = json.dumps({"pass": True, "score": 1, "trace": "x" * 3000}).encode()
    assert _read(huge).extra == {"dropped": "other fields over 2,048 characters"}


def test_a_huge_output_leaves_small_records() -> None:
    """Megabytes of log lines cost a record only its tails, cut without breaking the text."""
    noise = "é".encode() * 2_000_001
    good = _read(noise + b"\n" + GOOD, stderr=noise)
    assert _says(good)
    assert good.stdout_tail == good.stderr_tail == ""
    bad = _read(noise, stderr=noise)
    for tail in (bad.stdout_tail, bad.stderr_tail):
        assert 1000 < len(tail) <= 2048
        assert set(tail.removeprefix("\ufffd")) == {"é"}


def test_the_words_of_a_failed_check_are_kept() -> None:
    """A candidate that does not pass keeps the end of stderr, where test runners say why."""
    assert _read(b'{"pass": false}', stderr=b"  3 tests failed\n").stderr_tail == "3 tests failed"


def test_an_evaluation_survives_being_recorded() -> None:
    """What is written to journal and ledger reads back equal, under the name that readers know."""
    for found in (_read(GOOD), _read(b""), _read(b'{"pass": false, "n": ' + b"9" * 290 + b"}", stderr=b"\xff\x00")):
        data = msgspec.json.encode(found)
        assert msgspec.json.decode(data, type=Evaluation) == found
        assert "passed" not in json.loads(data)
