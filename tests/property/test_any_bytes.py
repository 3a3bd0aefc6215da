"""Bytes of strangers: whatever they are, the answer is a value or a typed error."""

import json
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omagy_autoresearch.candidate import Candidate, CandidateStatus, Malformed, parse_candidate
from omagy_autoresearch.decision import Decision, Direction, KeepPolicy, Standing, judge
from omagy_autoresearch.errors import StorageError
from omagy_autoresearch.evaluation import Evaluation, EvaluatorFault, EvaluatorRun, read_evaluation
from omagy_autoresearch.events import Record
from omagy_autoresearch.strict_json import JsonProblem, loads
from omagy_supervisor.adapters.journal import encode_line, read_journal
from omagy_supervisor.recover import replay
from unit.histories import History, broken

_LINES = [encode_line(record) for record in History().measured().kept().candidate(broken()).records]
_json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def _almost(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[bytes]:
    """Objects with the right names, often with the right values."""
    optional = {name: values | _json_values for name, values in fields.items()}
    return st.fixed_dictionaries({}, optional=optional).map(lambda data: json.dumps(data).encode())


_artifacts = _almost(
    {
        "status": st.sampled_from([status.value for status in CandidateStatus]),
        "candidate_commit": st.none() | st.just("c" * 40),
        "base_commit": st.just("b" * 40),
        "description": st.text(),
        "notes": st.lists(st.text(), max_size=3),
        "created_at": st.datetimes().map(lambda at: at.isoformat()) | st.text(max_size=12),
        "more": _json_values,
    }
)
_answers = _almost({"pass": st.booleans(), "score": st.none() | st.floats() | st.integers(), "more": _json_values})
_pieces = st.sampled_from(
    [
        b"{",
        b"}",
        b'"pass"',
        b": ",
        b"true",
        b'"score"',
        b"1e999",
        b"NaN",
        b"\n",
        b"[",
        b"]",
        b",",
        b"\xff",
        b"\\ud800",
    ]
)
_soup = st.lists(_pieces, max_size=12).map(b"".join)


@given(st.binary(max_size=200) | _artifacts | _soup)
def test_any_artifact_is_a_candidate_or_malformed(raw: bytes) -> None:
    """Nothing that a session can write raises, and what is accepted can be recorded."""
    found = parse_candidate(raw)
    if isinstance(found, Malformed):
        assert 0 < len(found.reason) < 400
        return
    assert "\n" not in found.description
    assert msgspec.json.decode(msgspec.json.encode(found), type=Candidate) == found
    if found.status is CandidateStatus.CANDIDATE:
        assert found.candidate_commit


@given(
    st.builds(
        EvaluatorRun,
        exit_status=st.sampled_from([0, 0, 0, 0, 1, None]),
        stdout=st.binary(max_size=100) | _answers | _soup | st.tuples(_soup, _answers, _soup).map(b"\n".join),
        result=st.none() | st.none() | _answers | st.binary(max_size=20),
        stderr=st.binary(max_size=20),
    )
)
def test_any_output_is_an_evaluation(run: EvaluatorRun) -> None:
    """Nothing that an evaluator can print raises: it has passed or not, or it has a fault and a reason."""
    found = read_evaluation(run)
    assert (found.fault is None) == (found.passed is not None)
    assert (found.fault is None) == (not found.error)
    assert found.score is None or found.score - found.score == 0, "a score is finite"
    assert len(found.error) < 400
    assert msgspec.json.decode(msgspec.json.encode(found), type=Evaluation) == found


@given(st.binary(max_size=60) | _soup | _json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_value_or_a_problem(raw: bytes) -> None:
    """Strict JSON is a subset of JSON: what it accepts, Python reads the same."""
    try:
        value = loads(raw)
    except JsonProblem as problem:
        assert str(problem)  # noqa: PT017 - either outcome is right
    else:
        assert json.loads(raw.removeprefix(b"\xef\xbb\xbf")) == value


def _fold(path: Path, data: bytes) -> list[Record]:
    """The records that a damaged journal still tells; it is an error or a prefix of the truth."""
    path.write_bytes(data)
    try:
        records, whole = read_journal(path)
    except StorageError as error:
        assert str(path) in error.message  # noqa: PT017 - either outcome is right
        return []
    assert data[:whole] == b"".join(encode_line(record) for record in records) or whole <= len(data)
    try:
        replay(records, whole)
    except StorageError as error:
        assert error.message  # noqa: PT017 - either outcome is right
    return records


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journal") / "journal.jsonl"


@given(st.binary(max_size=300))
def test_any_bytes_as_a_journal_are_a_state_or_a_storage_error(journal: Path, data: bytes) -> None:
    """A journal that holds anything at all is read, or refused by name."""
    assert _fold(journal, data) == []


_records = _json_values.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40).map(
    lambda raw: raw.replace(b"\n", b"").replace(b"\r", b"")
)


@given(
    st.lists(st.sampled_from(_LINES) | _records.map(lambda raw: b"%08x %s\n" % (zlib.crc32(raw), raw)), max_size=6)
)
def test_lines_with_sound_checksums_in_any_order_are_a_state_or_a_storage_error(
    journal: Path, lines: list[bytes]
) -> None:
    """Neither strangers' JSON nor our own records in the wrong place lead to anything else."""
    _fold(journal, b"".join(lines))


@given(st.integers(0, len(b"".join(_LINES)) - 1), st.integers(0, 7), st.integers(0, 3))
@settings(max_examples=150)
def test_one_flipped_bit_never_changes_what_is_read(journal: Path, position: int, bit: int, torn: int) -> None:
    """Whatever is read of a damaged journal is a beginning of what was written."""
    data = bytearray(b"".join(_LINES))
    data[position] ^= 1 << bit
    found = _fold(journal, bytes(data[: len(data) - torn]))
    truth = History().measured().kept().candidate(broken()).records
    assert found == truth[: len(found)]


@given(
    st.sampled_from(KeepPolicy),
    st.sampled_from(Direction),
    st.builds(Standing, passed=st.none() | st.booleans(), score=st.none() | st.floats(allow_nan=False)),
    st.builds(
        Evaluation,
        passed=st.none() | st.booleans(),
        score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
        fault=st.none() | st.sampled_from(EvaluatorFault),
        error=st.just("a fault"),
    ),
)
def test_keep_means_better(policy: KeepPolicy, direction: Direction, kept: Standing, evaluation: Evaluation) -> None:
    """A keep passed; under score_improvement it is strictly better, or what was kept before did not pass."""
    verdict = judge(policy, direction, kept, evaluation)
    assert verdict.reason
    assert verdict.decision in (Decision.KEEP, Decision.DISCARD, Decision.AMBIGUOUS)
    if verdict.decision is not Decision.KEEP:
        return
    assert evaluation.fault is None
    assert evaluation.passed
    if policy is KeepPolicy.SCORE_IMPROVEMENT and kept.passed:
        assert evaluation.score is not None
        assert kept.score is not None
        assert direction.better(evaluation.score, kept.score)
        assert not direction.better(kept.score, evaluation.score)
