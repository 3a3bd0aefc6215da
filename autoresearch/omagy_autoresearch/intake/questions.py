"""The questions of the interview as data: plain words, an explanation, and a default from the repository.

Which of them are asked, and in which order, follows from the answers so far.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from omagy_autoresearch.decision import KeepPolicy
from omagy_autoresearch.intake.background import Background, Inferred, by_goal, goal_for
from omagy_autoresearch.intake.scripts import OUT, inner_command, shown_inner_command
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.names import plain_letters, slugify
from omagy_autoresearch.proposal import Proposal

OWN = "own"
NONE = "none"
ANYTHING = "anything"
EDITED = "+edited"
"""Behind a proposal's key: its command is asked for as well."""


class QuestionId(StrEnum):
    GOAL = "goal"
    SLUG = "slug"
    MEASURE = "measure"
    COMMAND = "command"
    READING = "reading"
    BETTER = "better"
    LIMIT = "limit"
    EDITABLE = "editable"
    GUARD = "guard"
    PROTECTED = "protected"
    BUDGET = "budget"
    AGENT = "agent"


Answers = Mapping[QuestionId, str]


class Situation(Struct, frozen=True):
    """All that a question depends on."""

    known: Background
    inferred: tuple[Inferred, ...]
    answers: Answers


class Reading(StrEnum):
    """How a command of a person's own tells how good it was."""

    TIME = "time"
    NUMBER = "number"
    STATUS = "status"
    JSON = "json"


class Choice(Struct, frozen=True):
    """One answer that is offered: ``value`` is what it means, ``label`` and ``hint`` are shown, ``more`` explains."""

    value: str
    label: str
    hint: str = ""
    more: str = ""


class Question(Struct, frozen=True, kw_only=True):
    """``own`` is the label of an answer in own words beside the choices; empty when there is none.

    ``seed`` is what the command line said already.
    """

    id: QuestionId
    text: str
    why: str
    default: str
    choices: tuple[Choice, ...] = ()
    own: str = ""
    seed: str = ""


def order(now: Situation) -> tuple[QuestionId, ...]:
    """The questions that are asked, as far as the answers say."""
    measure = now.answers.get(QuestionId.MEASURE, "")
    own = measure == OWN
    steps = [QuestionId.GOAL, QuestionId.SLUG, QuestionId.MEASURE]
    if own or measure.endswith(EDITED):
        steps.append(QuestionId.COMMAND)
    if own:
        steps.append(QuestionId.READING)
        scored = now.known.seeds.keep_policy is not KeepPolicy.PASS_ONLY
        if scored and now.answers.get(QuestionId.READING) in (Reading.NUMBER, Reading.JSON):
            steps.append(QuestionId.BETTER)
    return (*steps, *_REST)


_REST = (
    *(QuestionId.LIMIT, QuestionId.EDITABLE, QuestionId.GUARD, QuestionId.PROTECTED),
    *(QuestionId.BUDGET, QuestionId.AGENT),
)


def chosen(now: Situation) -> Proposal | None:
    """The proposal that was chosen; None for a command of one's own, and before the choice."""
    key = now.answers.get(QuestionId.MEASURE, "").removesuffix(EDITED)
    return next((one for one in offered(now) if one.key == key), None)


def edited(now: Situation) -> bool:
    """Whether the person changed the command of the proposal that was chosen."""
    return now.answers.get(QuestionId.MEASURE, "").endswith(EDITED)


def confidence(now: Situation) -> float | None:
    """How sure the model was that inferred the measurement; None for one that a person chose or edited."""
    proposal = None if edited(now) else chosen(now)
    return next((one.confidence for one in now.inferred if one.proposal == proposal), None)


def offered(now: Situation) -> tuple[Proposal, ...]:
    """All measurements to choose from: what a model inferred, then what fits the goal, then the rest."""
    goal = now.answers.get(QuestionId.GOAL, "")
    return (*(one.proposal for one in now.inferred), *by_goal(now.known.proposals, goal))


def question(asked: QuestionId, now: Situation) -> Question:
    """The question ``asked``, with the default that follows from what is known and answered."""
    return _ASK[asked](now)


def _goal(now: Situation) -> Question:
    return Question(
        id=QuestionId.GOAL,
        text="What should get better?",
        why="One sentence, in your own words. Every session of the agent reads it.",
        default=now.known.seeds.topic or goal_for(now.known.proposals, now.known.repository),
        seed=now.known.seeds.topic,
    )


def _slug(now: Situation) -> Question:
    return Question(
        id=QuestionId.SLUG,
        text="A short name for it?",
        why="It names the mission's folder, missions/<name>, and the branches of its runs.",
        default=_free(now.known, now.known.seeds.slug or _short(now.answers.get(QuestionId.GOAL, ""))),
        seed=now.known.seeds.slug,
    )


_FILLERS = frozenset(
    ("a", "all", "an", "and", "as", "be", "for", "get", "in", "is", "it", "make", "more", "my", "of")
)
_FILLERS |= frozenset(("on", "our", "so", "that", "the", "this", "to", "with", "without"))


def _short(goal: str) -> str:
    words = [word for word in slugify(plain_letters(goal)).split("-") if word]
    telling = [word for word in words if word not in _FILLERS] or words
    return "-".join(telling[:3]) or "mission"


def _free(known: Background, name: str) -> str:
    taken = dict(known.taken)
    numbered = (name if number == 1 else f"{name}-{number}" for number in range(1, 1000))
    return next((candidate for candidate in numbered if candidate not in taken), name)


def _measure(now: Situation) -> Question:
    sure = {one.proposal.key: one.confidence for one in now.inferred}
    found = offered(now)
    choices = [Choice(one.key, _label(one, sure.get(one.key)), shown_command(one), _more(one)) for one in found]
    choices.append(Choice(OWN, "with a command of my own"))
    default = OWN if now.known.seeds.evaluator else choices[0].value
    return Question(
        id=QuestionId.MEASURE,
        text="How would you notice?",
        why="After every change a command is run and says how good it is now. "
        f"{'These fit' if found else 'No usual one fits'} what is in your repository. The one you choose is tried "
        "right away, on a copy.",
        default=default,
        choices=tuple(choices),
        seed=OWN if now.known.seeds.evaluator else "",
    )


def _label(proposal: Proposal, confidence: float | None) -> str:
    marks = [f"inferred by Codex, confidence {confidence:.2f}"] if confidence is not None else []
    marks += [f"needs {', '.join(proposal.needs)}, not installed here"] if proposal.needs else []
    return proposal.title + (f" [{'; '.join(marks)}]" if marks else "")


def _more(proposal: Proposal) -> str:
    blind = f" It does not see: {proposal.caution}." if proposal.caution else ""
    return f"{proposal.why}.{blind} Runs: {shown_command(proposal)}"


def shown_command(proposal: Proposal) -> str:
    """What a proposal runs in the end, as one line."""
    if proposal.script is None:
        return one_line(proposal.command, 100)
    return one_line(shown_inner_command(proposal.script) or "a small script that omagy writes", 100)


def _command(now: Situation) -> Question:
    proposal = chosen(now)
    inner = inner_command(proposal.script) if proposal is not None and proposal.script is not None else None
    default = inner or (proposal.command if proposal is not None else now.known.seeds.evaluator)
    filled = f" {OUT} is a new temporary folder, one for each measurement." if OUT in default else ""
    return Question(
        id=QuestionId.COMMAND,
        text="Which command?",
        why=f"It is run by sh in the root of a fresh checkout: nothing that git ignores is there.{filled}",
        default=default or _plain_command(now),
        seed=now.known.seeds.evaluator if proposal is None else "",
    )


def _plain_command(now: Situation) -> str:
    """The first command of the repository's that means something without the script around it; empty for none."""
    scripts = ((one.script, one.command) for one in now.known.proposals)
    commands = ((inner_command(script) if script is not None else None) or command for script, command in scripts)
    return next((one for one in commands if "{" not in one and "\n" not in one), "")


def _reading(now: Situation) -> Question:
    choices = (
        Choice(Reading.TIME, "by the time it takes", "less is better"),
        Choice(Reading.NUMBER, "by the last number that it prints"),
        Choice(Reading.STATUS, "by its exit status", "0 is good; every change that passes is kept"),
        Choice(Reading.JSON, "it prints JSON for omagy", '{"pass": true, "score": 12.5}'),
    )
    return Question(
        id=QuestionId.READING,
        text="How does it tell how good it was?",
        why="For the first two a small script is written into the mission's folder that runs your command.",
        default=Reading.JSON if now.known.seeds.evaluator else Reading.TIME,
        choices=choices,
        seed=Reading.JSON if now.known.seeds.evaluator else "",
    )


def _better(now: Situation) -> Question:
    goal = now.answers.get(QuestionId.GOAL, "").lower()
    lower = any(word in goal for word in ("fast", "small", "less", "fewer", "reduc", "loss", "latency", "slow"))
    return Question(
        id=QuestionId.BETTER,
        text="Which scores are better?",
        why="A change is kept when its score is better than that of what was kept before.",
        default="minimize" if lower else "maximize",
        choices=(Choice("maximize", "higher ones"), Choice("minimize", "lower ones")),
    )


def _limit(now: Situation) -> Question:
    proposal = chosen(now)
    return Question(
        id=QuestionId.LIMIT,
        text="Longest time for one measurement?",
        why="A measurement that takes longer is ended, and the change is thrown away. Such as 90s, 10m, 2h.",
        default=proposal.timeout if proposal is not None else "10m",
    )


def _editable(now: Situation) -> Question:
    proposal = chosen(now)
    proposed = ", ".join(proposal.editable) if proposal is not None else ""
    folders = [f"{folder}/**" for folder in now.known.folders]
    named = dict.fromkeys(value for value in (proposed, *folders) if value)
    choices = [Choice(value, f"only {value}") for value in named]
    return Question(
        id=QuestionId.EDITABLE,
        text="What may change?",
        why="A change that touches anything else is thrown away without being measured. Patterns are separated by "
        "commas: src/**, lib/*.py.",
        default=proposed or ANYTHING,
        choices=(*choices, Choice(ANYTHING, "anything that is not protected")),
        own="other paths, such as src/**, lib/*.py",
    )


def _guard(now: Situation) -> Question:
    proposal = chosen(now)
    proposed = proposal.guard if proposal is not None else None
    others = dict.fromkeys(one.guard for one in now.known.proposals if one.guard and one.guard != proposed)
    guards = [guard for guard in (proposed, *others) if guard]
    measured = proposal is not None and not proposed
    return Question(
        id=QuestionId.GUARD,
        text="What must keep working?",
        why="A second command that has to exit with 0 before a change is kept: tests, a build, a type check. It is "
        "tried right away, too.",
        default=NONE if measured or not guards else guards[0],
        choices=(*(Choice(guard, one_line(guard, 100)) for guard in guards), Choice(NONE, "nothing besides")),
        own="another command",
    )


def _protected(now: Situation) -> Question:
    proposal = chosen(now)
    tests = dict.fromkeys(glob for one in now.known.proposals for glob in one.protected)
    proposed = ", ".join(proposal.protected if proposal is not None else tests)
    choices = [Choice(proposed, proposed)] if proposed else []
    return Question(
        id=QuestionId.PROTECTED,
        text="What must nobody change?",
        why="What the measurement relies on, such as tests and data. The mission's own files and what its commands "
        "name are protected anyway.",
        default=proposed or NONE,
        choices=(*choices, Choice(NONE, "nothing besides the measurement itself")),
        own="other paths, such as src/**, lib/*.py",
    )


def _budget(now: Situation) -> Question:
    return Question(
        id=QuestionId.BUDGET,
        text="When should it stop?",
        why="Whatever comes first. Own words such as: 20 iterations, 8h. It can be stopped at any time, and go on.",
        default=now.known.seeds.budget or "20 iterations, 8h",
        seed=now.known.seeds.budget,
        choices=(
            Choice("3 iterations, 1h", "after a first try", "3 iterations or an hour"),
            Choice("20 iterations, 8h", "after a night", "20 iterations or 8 hours"),
            Choice("100 iterations, 2d", "after a weekend", "100 iterations or 2 days"),
            Choice(NONE, "when I stop it"),
        ),
        own="other limits, such as 5 iterations, 30m",
    )


def _agent(now: Situation) -> Question:
    hint = now.known.codex_missing or "sessions run on your account"
    return Question(
        id=QuestionId.AGENT,
        text="Who should work on it?",
        why="A coding agent makes one change in each session. Codex works in a sandbox; another program can be named "
        "as command:<shell command>.",
        default=now.known.seeds.agent or "codex",
        choices=(Choice("codex", "Codex", hint),),
        own="another program, as command:<what the shell shall run>",
        seed=now.known.seeds.agent,
    )


_ASK = {
    QuestionId.GOAL: _goal,
    QuestionId.SLUG: _slug,
    QuestionId.MEASURE: _measure,
    QuestionId.COMMAND: _command,
    QuestionId.READING: _reading,
    QuestionId.BETTER: _better,
    QuestionId.LIMIT: _limit,
    QuestionId.EDITABLE: _editable,
    QuestionId.GUARD: _guard,
    QuestionId.PROTECTED: _protected,
    QuestionId.BUDGET: _budget,
    QuestionId.AGENT: _agent,
}
