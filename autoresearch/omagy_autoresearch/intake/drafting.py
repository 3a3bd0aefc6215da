"""From the answers to the draft of a mission."""

from msgspec.structs import replace

from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.intake.answers import read_limits, split_globs
from omagy_autoresearch.intake.questions import (
    ANYTHING,
    NONE,
    Answers,
    QuestionId,
    Reading,
    Situation,
    chosen,
    confidence,
    edited,
)
from omagy_autoresearch.intake.scripts import with_inner_command
from omagy_autoresearch.mission_draft import MissionDraft, draft_from


def draft_of(now: Situation) -> MissionDraft:
    """The mission as far as the answers say what it is; what was not asked yet is as usual."""
    answers, policy = now.answers, now.known.seeds.keep_policy
    draft = _measured(now)
    if QuestionId.LIMIT in answers:
        draft = replace(draft, timeout=answers[QuestionId.LIMIT])
    if QuestionId.EDITABLE in answers:
        draft = replace(draft, editable=_globs(answers[QuestionId.EDITABLE]))
    if QuestionId.GUARD in answers:
        draft = replace(draft, guard=None if answers[QuestionId.GUARD] == NONE else answers[QuestionId.GUARD])
    if QuestionId.PROTECTED in answers:
        draft = replace(draft, protected=_globs(answers[QuestionId.PROTECTED]))
    if QuestionId.BUDGET in answers:
        limits = read_limits(answers[QuestionId.BUDGET])
        draft = replace(draft, max_iterations=limits.max_iterations, max_wall_time=limits.max_wall_time)
    return draft if policy is None else replace(draft, keep_policy=policy)


def _globs(answer: str) -> tuple[str, ...]:
    return () if answer in (NONE, ANYTHING) else split_globs(answer)


def _measured(now: Situation) -> MissionDraft:
    answers = now.answers
    slug, topic = answers.get(QuestionId.SLUG, ""), answers.get(QuestionId.GOAL, "")
    proposal = chosen(now)
    if proposal is None:
        return _own(MissionDraft(slug=slug, topic=topic, command=answers.get(QuestionId.COMMAND, "")), answers)
    draft = draft_from(proposal, slug=slug, topic=topic)
    command = answers.get(QuestionId.COMMAND)
    if command and edited(now):
        if draft.script is not None:
            draft = replace(draft, script=with_inner_command(draft.script, command))
        else:
            draft = replace(draft, command=command)
    sure = confidence(now)
    return draft if sure is None else replace(draft, sandbox_text=_inferred_text(draft, sure))


def _inferred_text(draft: MissionDraft, confidence: float) -> str:
    return (
        "# How a candidate is evaluated\n\n"
        f"Codex inferred the evaluator's command from the repository (confidence {confidence:.2f}); a person "
        "accepted it.\nThe command prints one JSON object with `pass` and `score`."
        + (f"\n\nWhy: {draft.caution}" if draft.caution else "")
    )


def _own(draft: MissionDraft, answers: Answers) -> MissionDraft:
    """A command of a person's own, in what makes an evaluator of it."""
    reading = answers.get(QuestionId.READING, Reading.JSON)
    direction = Direction(answers.get(QuestionId.BETTER, Direction.MAXIMIZE))
    match reading:
        case Reading.JSON:
            return replace(draft, direction=direction)
        case Reading.STATUS:
            command = (
                f"if ( {draft.command} ) >&2; then echo '{{\"pass\": true}}'; else echo '{{\"pass\": false}}'; fi"
            )
            return replace(draft, command=command, keep_policy=KeepPolicy.PASS_ONLY)
        case Reading.TIME:
            measured = script("time_command", COMMAND=draft.command, SAME_OUTPUT=False)
            return replace(draft, command=_RUN, script=measured, direction=Direction.MINIMIZE)
        case _:
            measured = script("read_metric", COMMAND=draft.command, METRIC=_NUMBER)
            return replace(draft, command=_RUN, script=measured, direction=direction)


_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_RUN = "python3 -I {mission}/evaluate.py"
