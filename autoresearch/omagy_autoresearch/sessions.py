"""What is known of one agent session after it ended (contract section 4).

Judging a session by its exit status is wrong (a Codex session that did nothing exits 0), so a session's
ending is one of a few kinds that an agent adapter tells apart; the candidate itself is judged elsewhere.
"""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct


class EndingKind(StrEnum):
    """How a session ended, as far as the agent's records show."""

    COMPLETED = "completed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    STOPPED = "stopped"  # by us: the run was asked to stop
    LOST = "lost"  # it left no trace: the machine or its terminal died
    NOT_LOGGED_IN = "not_logged_in"
    USAGE_LIMIT = "usage_limit"
    UNREACHABLE = "unreachable"  # network or server trouble
    MISCONFIGURED = "misconfigured"  # the agent refused its own arguments or configuration


class Ending(Struct, frozen=True, omit_defaults=True):
    """``detail`` is one line for a person; ``resets_at`` is the moment a usage limit said it ends, if it did."""

    kind: EndingKind
    detail: str = ""
    resets_at: datetime | None = None


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens of one session, as the agent itself counted them."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0


class Diagnosis(Struct, frozen=True, omit_defaults=True):
    """What an agent adapter makes of an ended session."""

    ending: Ending
    usage: Usage | None = None
    thread_id: str | None = None
