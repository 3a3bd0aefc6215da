"""The conversation with a person: what is asked, told, tried and kept, for every way that it can go."""

from collections.abc import Sequence

import pytest

from fakes.prompts import Said, ScriptedPrompts
from omagy_autoresearch.decision import Direction
from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.intake.background import Background, Inferred, Seeds
from omagy_autoresearch.intake.interview import Interview
from omagy_autoresearch.intake.questions import QuestionId
from omagy_autoresearch.intake.trials import Trial, TrialKind, subject
from omagy_autoresearch.mission_draft import MissionDraft
from omagy_autoresearch.proposal import Measure, Proposal
from omagy_supervisor.commands.interviewing import Acts, Conversation, End
from omagy_supervisor.ui.prompts import Gesture

SCORE = Proposal(
    key="a.score",
    measure=Measure.METRIC,
    title="the score",
    why="score.sh is there",
    direction=Direction.MAXIMIZE,
    command="sh score.sh",
    guard="make test",
)
OTHER = Proposal(
    key="b.other",
    measure=Measure.SIZE,
    title="the size",
    why="size.sh is there",
    direction=Direction.MINIMIZE,
    command="sh size.sh",
)
KNOWN = Background(repository="calc", proposals=(SCORE, OTHER))
BACK, EXPLAIN = Gesture.BACK, Gesture.EXPLAIN
TO_TRIAL = ("", "", "", "")
REST = ("", "", "", "", "")


class World:
    """What an interview acts on: commands in ``broken`` fail when they are tried."""

    def __init__(
        self, *broken: str, inferred: Inferred | Exception | None = None, obstacles: Sequence[str] = ()
    ) -> None:
        self.broken = broken
        self.elsewhere: set[str] = set()  # names that another interview has
        self.stopped: list[str] = []  # commands whose trial a person stops
        self.kept: list[Interview] = []
        self.tried: list[str] = []
        self.inferred = inferred
        self.obstacles = obstacles

    def acts(self) -> Acts:
        return Acts(
            keep=self._keep,
            try_out=self._try_out,
            infer=self._infer if self.inferred is not None else None,
            obstacles=lambda _: self.obstacles,
        )

    def _keep(self, state: Interview) -> str:
        if state.slug in self.elsewhere:
            return f"the interview {state.slug} is open already, in process 7"
        self.kept.append(state)
        return ""

    def _try_out(self, draft: MissionDraft, kind: TrialKind) -> Trial:
        command = draft.command if kind is TrialKind.EVALUATOR else str(draft.guard)
        self.tried.append(command)
        if command in self.stopped:
            self.stopped.remove(command)
            raise KeyboardInterrupt
        problem = "it exited with status 2" if command in self.broken else ""
        tried = subject(draft, kind)
        return Trial(kind=kind, subject=tried, commit="c" * 40, problem=problem, expected="0", output="because\n")

    def _infer(self, goal: str) -> Inferred:
        assert goal
        if isinstance(self.inferred, Inferred):
            return self.inferred
        assert isinstance(self.inferred, Exception)
        raise self.inferred


def talk(world: World, *says: Said, known: Background = KNOWN, infer_first: bool = False) -> tuple[Conversation, str]:
    """The finished conversation, and all that was shown; the person has nothing left to say."""
    prompts = ScriptedPrompts(*says)
    conversation = Conversation(prompts, world.acts(), Interview(known=known), infer_first=infer_first)
    end, _ = conversation.run()
    assert prompts.left == []
    return conversation, f"{end}\n{prompts.text_shown}"


def test_enter_leads_to_the_end_where_it_launches_nothing_by_itself() -> None:
    """What Enter takes at the end is to refine further."""
    world = World()
    conversation, shown = talk(world, *TO_TRIAL, *REST, "", "limit", "5m", "launch")
    assert world.tried == ["sh score.sh", "make test", "sh score.sh", "make test"]
    assert conversation.state.draft.timeout == "5m"
    assert shown.startswith(End.LAUNCH)


def test_every_answer_is_kept_at_once() -> None:
    world = World()
    talk(world, *TO_TRIAL, *REST, "leave")
    assert [len(state.answered) for state in world.kept] == [1, 2, 3, 4, 4, 5, 6, 6, 7, 8, 9]


def test_back_asks_the_question_before_even_when_the_command_line_answered_it() -> None:
    known = Background(repository="calc", proposals=(SCORE,), seeds=Seeds(topic="better", slug="fine"))
    _, shown = talk(World(), BACK, "finer", "", "", *REST, "leave", known=known)
    assert "What should get better? better (from the command line)" in shown
    assert "A short name for it? [fine]" in shown
    assert "missions/finer" in shown


def test_a_seed_that_does_not_hold_is_asked_for() -> None:
    known = Background(
        repository="calc", proposals=(SCORE,), seeds=Seeds(agent="claude"), taken=(("x", "there is x"),)
    )
    _, shown = talk(World(), *TO_TRIAL, "", "", "", "", "codex", "leave", known=known)
    assert "claude: say codex, or command:" in shown


def test_before_the_first_question_there_is_nothing_to_go_back_to() -> None:
    _, shown = talk(World(), BACK, *TO_TRIAL, *REST, "leave")
    assert "This is the first question" in shown


def test_an_explanation_is_followed_by_the_question_again() -> None:
    _, shown = talk(World(), "", "", EXPLAIN, "", "", *REST, EXPLAIN, "leave")
    assert "score.sh is there. Runs: sh score.sh" in shown
    assert "the same as writing the files" in shown


def test_an_explanation_names_own_words_and_no_default_that_is_none() -> None:
    known = Background(repository="calc", proposals=())
    says = ("", "", "", EXPLAIN, "sh score.sh", "time", "", EXPLAIN, *REST, "leave")
    _, shown = talk(World(), *says, known=known)
    assert "nothing that git ignores is there.\nWhich command?" in shown
    assert "- other paths, such as src/**" in shown


@pytest.mark.parametrize(
    ("says", "command"),
    [
        (("edit", "sh better.sh", *REST), "sh better.sh"),
        (("edit", BACK, "other", "b.other", "", *REST), "sh size.sh"),
        (("output", EXPLAIN, "other", BACK, "edit", "sh better.sh", *REST), "sh better.sh"),
    ],
)
def test_a_measurement_that_does_not_work_is_mended(says: tuple[Said, ...], command: str) -> None:
    world = World("sh score.sh")
    conversation, shown = talk(world, *TO_TRIAL, *says, "launch")
    assert "it did not work: it exited with status 2" in shown
    assert "| because" in shown
    assert conversation.state.draft.command == command
    assert command in world.tried


def test_more_time_and_another_try_try_it_again() -> None:
    world = World("sh score.sh")
    talk(world, *TO_TRIAL, "again", "time", "20m", "on", *REST, "leave")
    assert world.tried.count("sh score.sh") == 3


def test_what_was_left_for_later_is_tried_again_at_the_end() -> None:
    """The repository may have been mended since: nothing has to be said twice for it."""
    world = World("sh score.sh")
    _, shown = talk(world, *TO_TRIAL, "on", *REST, "try", "on", "leave")
    assert world.tried.count("sh score.sh") == 2
    assert "Launch it, or refine further?" in shown


def test_answers_to_refine_are_shown_in_words() -> None:
    prompts = ScriptedPrompts(*TO_TRIAL, *REST, "", BACK, "leave")
    Conversation(prompts, World().acts(), Interview(known=KNOWN)).run()
    assert "the score" in prompts.text_shown
    assert "a.score" not in prompts.text_shown


def test_what_refining_does_is_explained() -> None:
    """And asked again: an explanation leads nowhere else."""
    _, shown = talk(World(), *TO_TRIAL, *REST, "refine", EXPLAIN, "limit", "5m", "leave")
    assert "The answer you choose is asked for again." in shown


def test_a_refined_answer_that_does_not_hold_is_asked_for_again() -> None:
    conversation, shown = talk(World(), *TO_TRIAL, *REST, "refine", "agent", "my-agent", "command:my-agent", "leave")
    assert "say codex, or command:" in shown
    assert conversation.state.answers[QuestionId.AGENT] == "command:my-agent"


def test_a_launch_that_something_is_missing_for_says_the_ways_on() -> None:
    _, shown = talk(World(obstacles=("no Codex",)), *TO_TRIAL, *REST, "launch", "leave")
    assert "missing: no Codex\nnothing was launched: provide it and launch again, or change an answer" in shown


def test_a_guard_that_does_not_work_is_mended() -> None:
    world = World("make test")
    conversation, _ = talk(world, *TO_TRIAL, "", "", "edit", "make check", "", "", "", "leave")
    assert conversation.state.draft.guard == "make check"
    conversation, _ = talk(World("make test"), *TO_TRIAL, "", "", "other", "none", "", "", "", "leave")
    assert conversation.state.draft.guard is None


def test_ctrl_c_ends_the_trial_alone() -> None:
    world = World()
    world.stopped = ["sh score.sh"]
    _, shown = talk(world, *TO_TRIAL, "again", *REST, "launch")
    assert "it was stopped before it answered" in shown


def test_a_stop_of_the_whole_program_is_no_ctrl_c() -> None:
    def stopped(_draft: MissionDraft, _kind: TrialKind) -> Trial:
        raise KeyboardInterrupt("SIGTERM")

    acts = Acts(keep=lambda _: "", try_out=stopped, infer=None, obstacles=lambda _: ())
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        Conversation(ScriptedPrompts(*TO_TRIAL), acts, Interview(known=KNOWN)).run()


def test_a_name_that_another_interview_has_is_told_and_another_is_offered() -> None:
    """Nothing is written over what the other one says; Enter takes the next free name."""
    world = World()
    world.elsewhere = {"better"}
    known = Background(repository="calc", proposals=(SCORE,), seeds=Seeds(topic="better", slug="better"))
    conversation, shown = talk(world, "", "", "", *REST, "leave", known=known)
    assert "the interview better is open already, in process 7; choose another name" in shown
    assert conversation.state.slug == "better-2"
    assert {state.slug for state in world.kept} == {"", "better-2"}


def test_what_stands_in_the_way_keeps_it_from_being_launched() -> None:
    _, shown = talk(World(obstacles=["git ignores it"]), *TO_TRIAL, *REST, "launch", "leave")
    assert shown.startswith(End.LEAVE)
    assert shown.count("missing: git ignores it") == 2


INFERRED = Inferred(
    Proposal(
        key="inferred.codex",
        measure=Measure.METRIC,
        title="what Codex proposes",
        why="w",
        direction=Direction.MAXIMIZE,
        command="sh inferred.sh",
    ),
    0.5,
)


def test_a_model_is_asked_once_the_goal_is_known() -> None:
    for says, first in ((("", "", ""), True), (("", "", "infer", ""), False)):
        world = World(inferred=INFERRED)
        conversation, shown = talk(world, *says, "", *REST, "launch", infer_first=first)
        assert conversation.state.draft.command == "sh inferred.sh"
        assert "Inferred by Codex, with confidence 0.50" in shown
        assert "(inferred by Codex, confidence 0.50)" in shown


@pytest.mark.parametrize("fault", [BlockedError("not logged in", "codex login"), None])
def test_without_a_model_the_interview_goes_on(fault: Exception | None) -> None:
    conversation, shown = talk(World(inferred=fault), *TO_TRIAL, *REST, "launch", infer_first=True)
    assert "codex login" in shown
    assert conversation.state.answers[QuestionId.MEASURE] == "a.score"
