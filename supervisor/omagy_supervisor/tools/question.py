"""``omagy_question_ask``, ``_answer`` and ``_list``: what ``omagy question`` does (contract section 8)."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from omagy_autoresearch.asking import parse_request
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.question_record import record_of
from omagy_autoresearch.questions import OPTIONS_LIMIT, PROMPTS_LIMIT, Question, Status
from omagy_autoresearch.spelling import nearest
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.questions import QuestionFiles
from omagy_supervisor.tools.call import Call
from omagy_supervisor.tools.catalog import Effect, Tool
from omagy_supervisor.tools.schemas import Input, given_values, input_schema

_WAIT_S = 45.0  # Codex gives a tool 60 s, unless it is told otherwise
_LONGEST_WAIT_S = 3600.0


class OptionInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    label: Annotated[str, Meta(description="What the person reads, and what the answer says.")]
    value: Annotated[str | None, Meta(description="What you read in its place. Default: the label.")] = None
    description: Annotated[str | None, Meta(description="What choosing it means.")] = None


_OPTIONS = {"items": {"anyOf": [{"type": "string"}, input_schema(OptionInput)]}, "maxItems": OPTIONS_LIMIT}
_Options = Annotated[
    list[Any] | None,
    Meta(description="What there is to choose from. Without options any words answer.", extra_json_schema=_OPTIONS),
]
_MultiSelect = Annotated[bool | None, Meta(description="True: several options may be chosen.")]
_AllowOther = Annotated[
    bool | None, Meta(description="True: words of the person's own are an answer too. Default: only without options.")
]
_OtherLabel = Annotated[str | None, Meta(description="How that choice is called. Default: Other.")]
_Header = Annotated[str | None, Meta(description="A short title above the question.")]
_Default = Annotated[
    Any,
    Meta(
        description="What an empty answer means: an option, a list of them, or words.",
        extra_json_schema={"type": ["string", "array"], "items": {"type": "string"}},
    ),
]


class PromptInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    question: Annotated[str, Meta(description="What is asked.")]
    id: Annotated[str | None, Meta(description="A name of your own, which the answer repeats.")] = None
    header: _Header = None
    options: _Options = None
    multi_select: _MultiSelect = None
    allow_other: _AllowOther = None
    other_label: _OtherLabel = None
    default: _Default = None


class AskInput(Input, frozen=True, kw_only=True):
    question: Annotated[str | None, Meta(description="What is asked; or several things at once: questions.")] = None
    questions: Annotated[
        list[Any] | None,
        Meta(
            description="Several questions that belong together, in place of question.",
            extra_json_schema={"items": input_schema(PromptInput), "minItems": 1, "maxItems": PROMPTS_LIMIT},
        ),
    ] = None
    header: _Header = None
    options: _Options = None
    multi_select: _MultiSelect = None
    allow_other: _AllowOther = None
    other_label: _OtherLabel = None
    default: _Default = None
    source: Annotated[str | None, Meta(description="Who asks, for the person to read.")] = None
    session_id: Annotated[str | None, Meta(description="Keep the question in this session's state.")] = None
    timeout: Annotated[
        str | float | None,
        Meta(description="After this the question expires: a duration such as 10m, or seconds. Default: never."),
    ] = None
    wait_s: Annotated[
        float | None,
        Meta(
            description="How many seconds to wait for the answer before the question is handed back open. "
            f"Default: {_WAIT_S:g} where the person sees it at once, else 0. It can be answered later all the same.",
            extra_json_schema={"minimum": 0, "maximum": _LONGEST_WAIT_S},
        ),
    ] = None


class AnswerInput(Input, frozen=True, kw_only=True):
    question_id: Annotated[str, Meta(description="The question's id.")]
    answer: Annotated[
        str | list[str] | None,
        Meta(description="The person's answer: the number or name of an option, several as a list, or words."),
    ] = None
    answers: Annotated[
        list[str | list[str]] | None, Meta(description="For several questions: one answer for each, in order.")
    ] = None


class ListInput(Input, frozen=True, kw_only=True):
    question_id: Annotated[str | None, Meta(description="Tell of this question alone.")] = None
    status: Annotated[
        str | None,
        Meta(description="Tell of those in this state alone.", extra_json_schema={"enum": list(Status)}),
    ] = None
    newest: Annotated[int, Meta(description="How many to tell of at most, counted from the newest.", ge=1)] = 20


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """``answers`` is what counts, one for each question. While there are none ``next`` says what to do."""

    ok: bool
    question_id: str
    status: Status
    questions: list[dict[str, Any]]
    answers: list[dict[str, Any]]
    next: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    iteration: int | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    answered_at: str | UnsetType = UNSET
    prompt: dict[str, Any] | UnsetType = UNSET
    answer: dict[str, Any] | UnsetType = UNSET


class ListOutput(msgspec.Struct, frozen=True):
    """Oldest first; ``left_out`` counts older ones that were not asked for."""

    questions: list[dict[str, Any]]
    left_out: int


def _ask(call: Call, given: AskInput) -> object:
    from omagy_supervisor.commands.ask import current, put

    values = given_values(given)
    wait_s = values.pop("wait_s", None)
    if wait_s is not None and not 0 <= wait_s <= _LONGEST_WAIT_S:
        raise ContractError(f"wait_s is out of range: {wait_s:g}", f"0 to {_LONGEST_WAIT_S:g} seconds")
    root, settings = call.root(given), call.caller.settings
    asked, shown = put(parse_request({"source": "agent", **values}), settings, root)
    if settings.inside_session is not None:
        return _told(call, asked)
    files, clock = QuestionFiles(root.state), SystemClock()
    limit_s = wait_s if wait_s is not None else _WAIT_S if shown else 0.0
    call.wait_until(lambda: current(files, asked.id, clock).status is not Status.OPEN, limit_s)
    return _told(call, current(files, asked.id, clock))


def _told(call: Call, asked: Question) -> dict[str, Any]:
    """What the command tells an asker. That nobody has answered yet is no error here: the question was put."""
    from omagy_supervisor.commands.questions import told

    result = told(asked, call.caller.settings)
    why_not = result.pop("error", None)
    if why_not is not None:
        again = (
            f"; look again: omagy_question_list with question_id {asked.id}" if asked.status is Status.OPEN else ""
        )
        result.setdefault("next", f"{why_not['message']}{again}")
    return result


def _answer(call: Call, given: AnswerInput) -> object:
    from omagy_supervisor.commands.questions import answer_question

    call.refuse_in_session("answer questions", "they are the person's to answer; end the session, and the run waits")
    values = given_values(given)
    return answer_question(call.caller.settings, call.root(given), values.pop("question_id"), values)


def _list(call: Call, given: ListInput) -> ListOutput:
    files = QuestionFiles(call.root(given).state)
    if given.status is not None and given.status not in list(Status):
        near = nearest(given.status, Status)
        raise ContractError(f"there is no status {given.status}{near}", f"one of: {', '.join(Status)}")
    now = SystemClock().now()
    found = files.all() if given.question_id is None else [files.find(given.question_id)]
    found = [one.as_of(now) for one in found]
    found = [one for one in found if given.status in (None, one.status)]
    shown = found[-given.newest :]
    return ListOutput([record_of(one) for one in shown], len(found) - len(shown))


TOOLS = (
    Tool(
        name="omagy_question_ask",
        title="Ask the person a question",
        description="Ask the person something that only a person can decide, with options or in free words. It is "
        "recorded, shown in the person's tmux where there is one, and answered there, by omagy question answer or by "
        "omagy_question_answer. Inside a run's session: end the session then; the run waits for the answer, and a "
        "later session gets it.",
        effect=Effect.ADDING,
        input=AskInput,
        output=Asked,
        run=_ask,
        repeatable=False,
        waits=True,
    ),
    Tool(
        name="omagy_question_answer",
        title="Answer a question for the person",
        description="Record the person's answer to an open question. Give the person's words, never a guess of your "
        "own. Refused inside a run's session.",
        effect=Effect.ADDING,
        input=AnswerInput,
        output=Asked,
        run=_answer,
        repeatable=False,
    ),
    Tool(
        name="omagy_question_list",
        title="List questions to the person",
        description="The questions of a repository, open and closed, with their answers; or one of them.",
        effect=Effect.READ,
        input=ListInput,
        output=ListOutput,
        run=_list,
    ),
)
