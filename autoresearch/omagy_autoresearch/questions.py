"""Questions to the person (contract section 8): what is asked, what came of it, and within which bounds."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from omagy_autoresearch.lines import one_line

PROMPTS_LIMIT = 10
OPTIONS_LIMIT = 40
QUESTION_LIMIT = 4000
LABEL_LIMIT = 200
VALUE_LIMIT = 1000
ANSWER_LIMIT = 8000
OTHER = "Other"
_ID_LIMIT = 80


class Status(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"  # the person withdrew it
    EXPIRED = "expired"  # nobody answered within the time its asker gave


class AnswerKind(StrEnum):
    OPTION = "option"
    MULTI = "multi"
    OTHER = "other"


class Option(Struct, frozen=True):
    label: str
    value: str
    description: str = ""

    @property
    def names(self) -> frozenset[str]:
        """What it can be called by, without regard to case."""
        return frozenset({self.label.casefold(), self.value.casefold()})


class Prompt(Struct, frozen=True):
    """One thing that is asked. ``default`` are option values, or one text of the asker's own."""

    question: str
    id: str = ""  # the asker's own name for it
    header: str = ""
    options: tuple[Option, ...] = ()
    multi_select: bool = False
    allow_other: bool = True
    other_label: str = OTHER
    default: tuple[str, ...] = ()

    @property
    def numbered(self) -> bool:
        """True when options can be chosen by number: not where a number is an option's own name."""
        return not any(name.isdigit() for option in self.options for name in option.names)


class Answer(Struct, frozen=True):
    """What the person said. ``value`` is a list for a prompt that takes several options."""

    kind: AnswerKind
    value: str | tuple[str, ...]
    selected_labels: tuple[str, ...] = ()
    selected_values: tuple[str, ...] = ()
    other_text: str | None = None

    @property
    def text(self) -> str:
        """The answer as one reads it: the labels, then the person's own words."""
        chosen = () if self.kind is AnswerKind.OTHER else self.selected_labels
        return ", ".join((*chosen, *((self.other_text,) if self.other_text else ())))


class Question(Struct, frozen=True):
    """One record: a question, or several asked together."""

    id: str
    prompts: tuple[Prompt, ...]
    status: Status = Status.OPEN
    answers: tuple[Answer, ...] = ()
    header: str = ""
    source: str = ""
    run_id: str | None = None
    session_id: str | None = None
    iteration: int | None = None
    attempt: int | None = None
    created_at: str = ""
    expires_at: str | None = None
    answered_at: str | None = None

    @property
    def words(self) -> str:
        """Everything that is asked, on one line."""
        return " / ".join(one_line(prompt.question) for prompt in self.prompts)

    def as_of(self, now: datetime) -> "Question":
        """The question as it stands now: one whose time is over is expired, whether or not anybody recorded it."""
        return replace(self, status=Status.EXPIRED) if self.overdue(now) else self

    def overdue(self, now: datetime) -> bool:
        """True when the time its asker gave is over."""
        until = _time(self.expires_at)
        return self.status is Status.OPEN and until is not None and now >= until


def fit_id(name: str) -> bool:
    """Whether a question can be called so: a file's name, and a word on a command line."""
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    return 0 < len(name) <= _ID_LIMIT and name[0] not in "-." and plain.isascii() and plain.isalnum()


def _time(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
