"""How a Codex session ended, told from what it left behind."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omagy_autoresearch.sessions import Diagnosis, EndingKind, Usage
from omagy_supervisor.adapters.codex.agent import CodexAgent
from omagy_supervisor.adapters.codex.records import Window
from omagy_supervisor.adapters.codex.resets import reset_moment
from omagy_supervisor.agents import SessionExit, SessionSpec

NOW = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
THREAD = "01a22bfb-c8c7-74e2-84c8-21392f186c14"
STARTED = f'{{"type":"thread.started","thread_id":"{THREAD}"}}\n{{"type":"turn.started"}}\n'
ERROR_ON_THE_WAY = '{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized)"}\n'


class Session:
    """The records of one session, to be filled by a test."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "codex-home"
        self.spec = SessionSpec(
            run_id="m-1",
            iteration=1,
            attempt=1,
            worktree=folder / "lane",
            git_dir=folder / "repo/.git/worktrees/lane",
            common_dir=folder / "repo/.git",
            branch="autoresearch/m/1",
            base_commit="0" * 40,
            folder=folder / "attempt",
            outbox=folder / "outbox",
            candidate_file=folder / "outbox/candidate.json",
            instructions_file=folder / "instructions.md",
            environment={"CODEX_HOME": str(self.home)},
        )
        self.spec.folder.mkdir()

    def events(self, text: str | bytes) -> None:
        self.spec.events_file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def stderr(self, text: str | bytes) -> None:
        self.spec.stderr_file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def rollout(self, *payloads: Mapping[str, object], raw: bytes = b"") -> None:
        day = self.home / "sessions/2026/03/14"
        day.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"type": "event_msg", "payload": each}) + "\n" for each in payloads]
        (day / f"rollout-2026-03-14T12-00-00-{THREAD}.jsonl").write_bytes("".join(lines).encode() + raw)

    def diagnose(self, status: int | None, signal: int | None = None) -> Diagnosis:
        agent = CodexAgent(Path("/nowhere/codex"), now=lambda: NOW)
        return agent.diagnose(self.spec, SessionExit(status, signal, duration_s=1.0))


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def _failed(message: str) -> str:
    return STARTED + json.dumps({"type": "turn.failed", "error": {"message": message}}) + "\n"


def _task_complete(message: str, info: object) -> dict[str, object]:
    return {"type": "task_complete", "error": {"message": message, "codex_error_info": info}}


# What codex 0.171.0 recorded when the scripted server answered in each of these ways.
RECORDED = [
    ("usage limit", "You’ve hit your usage limit.", "usage_limit_exceeded", EndingKind.USAGE_LIMIT),
    ("quota", "Quota exceeded. Check your plan and billing details.", "usage_limit_exceeded", EndingKind.USAGE_LIMIT),
    (
        "401",
        "unexpected status 401 Unauthorized: no",
        {"http_connection_failed": {"http_status_code": 401}},
        EndingKind.NOT_LOGGED_IN,
    ),
    (
        "403",
        "unexpected status 403 Forbidden: no",
        {"http_connection_failed": {"http_status_code": 403}},
        EndingKind.NOT_LOGGED_IN,
    ),
    (
        "500",
        "We’re currently experiencing high demand, which may cause temporary errors.",
        "internal_server_error",
        EndingKind.UNREACHABLE,
    ),
    (
        "429",
        "exceeded retry limit, last status: 429 Too Many Requests",
        {"response_too_many_failed_attempts": {"http_status_code": 429}},
        EndingKind.UNREACHABLE,
    ),
    (
        "refused",
        "Connection failed: error sending request",
        {"http_connection_failed": {"http_status_code": None}},
        EndingKind.UNREACHABLE,
    ),
    (
        "disconnect",
        "stream disconnected before completion: stream closed before response.completed",
        "other",
        EndingKind.UNREACHABLE,
    ),
    (
        "capacity",
        "Selected model is at capacity. Please try a different model.",
        "server_overloaded",
        EndingKind.UNREACHABLE,
    ),
    (
        "context",
        "Codex ran out of room in the model's context window.",
        "context_window_exceeded",
        EndingKind.CRASHED,
    ),
    ("400", '{"error": {"message": "bad req"}}', "other", EndingKind.CRASHED),
    ("no key", "Missing environment variable: `SOME_KEY`.", "other", EndingKind.MISCONFIGURED),
]
_IDS = [name for name, _, _, _ in RECORDED]


@pytest.mark.parametrize(("message", "info", "kind"), [each[1:] for each in RECORDED], ids=_IDS)
def test_the_rollout_names_the_cause(session: Session, message: str, info: object, kind: EndingKind) -> None:
    """The cause that Codex wrote into its rollout decides, even when its event stream is missing the end."""
    session.events(STARTED + ERROR_ON_THE_WAY)
    session.rollout(_task_complete(message, info))
    assert session.diagnose(1).ending.kind is kind


@pytest.mark.parametrize(
    ("message", "kind"), [(each[1], each[3]) for each in RECORDED if each[0] != "context"], ids=lambda each: None
)
def test_the_words_do_without_a_rollout(session: Session, message: str, kind: EndingKind) -> None:
    """Without a rollout (``--ephemeral``) the words of the failed turn tell the same."""
    session.events(_failed(message))
    assert session.diagnose(1).ending.kind is kind


def test_exit_zero_is_completed_whatever_happened_on_the_way(session: Session) -> None:
    """A session that recovered from errors has completed, with the tokens it reported."""
    usage = {"input_tokens": 7000, "cached_input_tokens": 2800, "output_tokens": 350, "reasoning_output_tokens": 70}
    session.events(STARTED + ERROR_ON_THE_WAY + json.dumps({"type": "turn.completed", "usage": usage}) + "\n")
    found = session.diagnose(0)
    assert found.ending.kind is EndingKind.COMPLETED
    assert found.usage == Usage(7000, 2800, 350, 70)
    assert found.thread_id == THREAD


def test_tokens_of_a_failed_session_come_from_the_rollout(session: Session) -> None:
    """A session that failed has cost tokens too, and only its rollout says how many."""
    session.events(_failed("boom"))
    session.rollout({"type": "token_count", "info": {"total_token_usage": {"input_tokens": 9, "output_tokens": 2}}})
    assert session.diagnose(1).usage == Usage(input_tokens=9, output_tokens=2)


def test_a_refused_argument_is_misconfigured_in_the_words_of_codex(session: Session) -> None:
    """A bad option is reported as what Codex said of it, without its usage text."""
    session.events("")
    session.stderr(
        "error: unexpected argument '--bogus' found\n\n  tip: to pass '--bogus' as a value, use '-- --bogus'\n\n"
        "Usage: codex exec [OPTIONS] [PROMPT]\n\nFor more information, try '--help'.\n"
    )
    ending = session.diagnose(2).ending
    assert ending.kind is EndingKind.MISCONFIGURED
    assert ending.detail.startswith("error: unexpected argument '--bogus' found")
    assert "Usage" not in ending.detail


def test_a_bad_configuration_file_is_misconfigured(session: Session) -> None:
    """A configuration that Codex cannot read is reported with file and place; warnings before it are not."""
    session.stderr(
        "warning: Untrusted project-local configuration is disabled.\n"
        "Error loading config.toml:\n/home/u/.codex/config.toml:1:9: string values must be quoted\n"
    )
    ending = session.diagnose(1).ending
    assert ending.kind is EndingKind.MISCONFIGURED
    assert ending.detail == "Error loading config.toml: /home/u/.codex/config.toml:1:9: string values must be quoted"


def test_a_missing_interpreter_is_misconfigured(session: Session) -> None:
    """A Codex that cannot start at all is not tried again and again like one that crashed."""
    session.stderr("env: 'node': No such file or directory\n")
    assert session.diagnose(127).ending.kind is EndingKind.MISCONFIGURED


def test_nothing_at_all_is_a_crash(session: Session) -> None:
    """A session that left no word and no status is a crash that says so."""
    ending = session.diagnose(1).ending
    assert (ending.kind, ending.detail) == (EndingKind.CRASHED, "codex exited with status 1")


@pytest.mark.parametrize(("status", "signal"), [(None, 9), (137, None)])
def test_a_killed_session_is_a_crash_whatever_it_said_before(
    session: Session, status: int | None, signal: int | None
) -> None:
    """A session that was killed while it reconnected did not end because of the network."""
    session.events(STARTED + '{"type":"error","message":"Reconnecting... 1/5 (Connection failed)"}\n')
    ending = session.diagnose(status, signal).ending
    assert ending.kind is EndingKind.CRASHED
    assert "killed by SIGKILL" in ending.detail


def test_a_server_answer_in_json_is_unwrapped(session: Session) -> None:
    """The detail is a sentence, not the JSON that a server sent."""
    session.events(_failed('{"error": {"message": "bad req"}}'))
    assert session.diagnose(1).ending.detail == "codex exited with status 1: bad req"


def test_the_detail_is_one_clean_line(session: Session) -> None:
    """What a server says cannot bring line ends, escapes or pages of text into our records."""
    session.events(_failed("Quota exceeded\n\x1b[31mred " + "x" * 5000))
    detail = session.diagnose(1).ending.detail
    assert detail.startswith("Quota exceeded red xxx")
    assert len(detail) <= 300


def test_the_end_of_a_huge_event_file_is_found(session: Session) -> None:
    """Neither the name at the beginning nor the failure at the end gets lost between megabytes of output."""
    noise = json.dumps({"type": "item.completed", "item": {"type": "command_execution", "x": "y" * 3_000_000}}) + "\n"
    session.events(STARTED + noise + '{"type":"turn.failed","error":{"message":"Quota exceeded."}}\n')
    found = session.diagnose(1)
    assert (found.thread_id, found.ending.kind) == (THREAD, EndingKind.USAGE_LIMIT)


def test_another_sessions_rollout_is_not_read(session: Session) -> None:
    """Sessions that share a CODEX_HOME are told apart by their thread."""
    session.rollout(_task_complete("limit", "usage_limit_exceeded"))
    session.events(_failed("boom").replace(THREAD, "0" * len(THREAD)))
    assert session.diagnose(1).ending.kind is EndingKind.CRASHED


@pytest.mark.parametrize("name", ["*", "../../secret", "", "a/b", "x" * 1000])
def test_a_thread_name_cannot_reach_other_files(session: Session, name: str) -> None:
    """A thread's name comes from outside; one that could match other files is not taken for a name."""
    session.rollout(_task_complete("limit", "usage_limit_exceeded"))
    session.events(json.dumps({"type": "thread.started", "thread_id": name}) + "\n")
    found = session.diagnose(1)
    assert (found.thread_id, found.ending.kind) == (None, EndingKind.CRASHED)


def test_a_usage_limit_says_when_it_ends(session: Session) -> None:
    """The reset of the exhausted window is reported, not that of the one with room left."""
    resets = NOW + timedelta(hours=3)
    session.events(_failed("You’ve hit your usage limit."))
    session.rollout(
        {
            "type": "token_count",
            "info": None,
            "rate_limits": {
                "primary": {"used_percent": 100.0, "window_minutes": 300, "resets_at": int(resets.timestamp())},
                "secondary": {
                    "used_percent": 40.0,
                    "window_minutes": 10080,
                    "resets_at": int((NOW + timedelta(days=5)).timestamp()),
                },
            },
        },
        _task_complete("You’ve hit your usage limit.", "usage_limit_exceeded"),
    )
    assert session.diagnose(1).ending.resets_at == resets


def _window(resets_at: datetime, minutes: int = 300, used: float = 100.0) -> Window:
    return Window(used, minutes, int(resets_at.timestamp()))


def test_of_two_exhausted_windows_the_later_reset_counts() -> None:
    """A session can run again once every limit has ended, not once the first has."""
    first, second = NOW + timedelta(hours=1), NOW + timedelta(days=2)
    assert reset_moment([_window(first), _window(second, minutes=10080)], "", NOW) == second


@pytest.mark.parametrize(
    "window",
    [
        _window(NOW - timedelta(minutes=1)),
        _window(NOW + timedelta(days=3)),
        _window(NOW + timedelta(days=400), minutes=10_000_000),
        _window(NOW + timedelta(hours=1), used=99.0),
        Window(100.0, 300, 0),
        Window(100.0, 0, 2**53 - 1),
    ],
    ids=["past", "later than its length", "next year", "not exhausted", "none", "absurd"],
)
def test_a_reset_that_cannot_be_true_is_not_believed(window: Window) -> None:
    """Stale and absurd figures are no moment to wait for."""
    assert reset_moment([window], "", NOW) is None


@pytest.mark.parametrize(
    ("message", "wait"),
    [
        ("Try again in 3 hours 20 minutes.", timedelta(hours=3, minutes=20)),
        ("try again in 2 days 1 hour", timedelta(days=2, hours=1)),
        ("Please try again in 45 seconds", timedelta(seconds=45)),
    ],
)
def test_a_wait_in_words_is_understood(message: str, wait: timedelta) -> None:
    """A limit that only words describe is waited for as long as they say."""
    assert reset_moment([], message, NOW) == NOW + wait


def test_a_local_time_in_words_is_understood() -> None:
    """Codex names the hour on the user's clock, with the date when it is not today."""
    later = (NOW + timedelta(minutes=5)).astimezone()
    day_after = (NOW + timedelta(days=2)).astimezone()
    today = f"try again at {later.strftime('%I:%M %p').lstrip('0')}."
    dated = f"or try again at {day_after.strftime('%b')} {day_after.day}th, {day_after.strftime('%Y %I:%M %p')}."
    assert reset_moment([], today, NOW) == later + timedelta(minutes=1)
    assert reset_moment([], dated, NOW) == day_after + timedelta(minutes=1)


def test_a_stated_minute_counts_until_its_end() -> None:
    """Codex cuts the seconds off: whoever came at the minute's beginning would meet the limit again."""
    now = NOW.replace(second=20)
    words = f"try again at {now.astimezone().strftime('%I:%M %p').lstrip('0')}."
    assert reset_moment([], words, now) == NOW.replace(second=0, microsecond=0) + timedelta(minutes=1)


@pytest.mark.parametrize(
    "message",
    [
        "try again later",
        "try again at 99:99 PM",
        "try again at Foo 40th, 9999 1:00 PM",
        "try again at Mar 1st, 2020 1:00 PM",
        "try again at Mar 1st, 2031 1:00 PM",
        "try again in 999999 days",
        "in 0 minutes",
    ],
)
def test_words_that_cannot_be_true_are_not_believed(message: str) -> None:
    """A time that has passed, lies years ahead or does not exist is no moment to wait for."""
    assert reset_moment([], message, NOW) is None


_BYTES = st.binary(max_size=300)
_TAIL = st.sampled_from(
    [b"", b"\xff\xfe", b'{"type":"turn.failed","error":7}\n', b'{"type":"error","message":null}\n']
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=_BYTES, stderr=_BYTES, rollout=_BYTES, tail=_TAIL, status=st.none() | st.integers(-5, 300))
def test_no_bytes_make_the_diagnosis_fail(
    session: Session, events: bytes, stderr: bytes, rollout: bytes, tail: bytes, status: int | None
) -> None:
    """Whatever is in the three files, there is a diagnosis with a detail that can be written down."""
    session.events(STARTED.encode() + events + b"\n" + tail)
    session.stderr(stderr)
    session.rollout(raw=rollout + b"\n" + tail)
    ending = session.diagnose(status).ending
    assert (ending.kind is EndingKind.COMPLETED) == (status == 0)
    assert ending.detail.encode().count(b"\n") == 0


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(info=_VALUES, limits=_VALUES, window=_VALUES, usage=_VALUES)
def test_no_values_make_the_diagnosis_fail(
    session: Session, info: object, limits: object, window: object, usage: object
) -> None:
    """Fields of the right name may hold anything."""
    session.events(STARTED + json.dumps({"type": "turn.completed", "usage": usage}) + "\n")
    session.rollout(
        {"type": "token_count", "info": usage, "rate_limits": limits},
        {"type": "token_count", "info": {"total_token_usage": usage}, "rate_limits": {"primary": window}},
        {"type": "task_complete", "error": info},
        _task_complete("usage limit", info),
    )
    assert session.diagnose(1).ending.resets_at is None or session.diagnose(1).ending.kind is EndingKind.USAGE_LIMIT
