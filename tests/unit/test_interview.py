"""The interview as a state: which question comes, what an answer makes of it, what is missing before a launch."""

import pytest
from msgspec.structs import replace

from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.evaluation import Evaluation, EvaluatorFault
from omagy_autoresearch.evaluator_scripts import EvaluatorScript, script
from omagy_autoresearch.intake.answers import Problem
from omagy_autoresearch.intake.background import Background, Seeds
from omagy_autoresearch.intake.document import decode, encode, markdown, restored, saved
from omagy_autoresearch.intake.inference import read_inferred
from omagy_autoresearch.intake.interview import (
    Answered,
    Interview,
    Ready,
    Try,
    answer,
    back,
    change,
    missing,
    next_step,
    reopened,
    trial_problems,
    tried_anew,
    with_inferred,
    with_trial,
)
from omagy_autoresearch.intake.questions import OWN, Question, QuestionId
from omagy_autoresearch.intake.review import review
from omagy_autoresearch.intake.trials import Trial, TrialKind, evaluator_trial, shown_trial, subject, with_uncommitted
from omagy_autoresearch.mission_draft import mission_files
from omagy_autoresearch.proposal import Measure, Proposal

TESTS = Proposal(
    key="python.tests",
    measure=Measure.TESTS,
    title="number of tests that pass",
    why="test files in tests",
    direction=Direction.MAXIMIZE,
    command="python3 -I {mission}/evaluate.py",
    script=script("count_tests", COMMAND="pytest -q --junitxml={out}/r.xml"),
    protected=("tests/**",),
)
SPEED = Proposal(
    key="python.speed",
    measure=Measure.SPEED,
    title="run time of the benchmark",
    why="bench.py is there",
    direction=Direction.MINIMIZE,
    command="python3 -I {mission}/evaluate.py",
    script=script("time_command", COMMAND="python3 bench.py"),
    guard="pytest -q",
    editable=("calc/**",),
    timeout="5m",
)
KNOWN = Background(
    repository="calc",
    proposals=(TESTS, SPEED),
    folders=("calc",),
    taken=(("old", "missions/old exists already"),),
)


def told(state: Interview, *texts: str) -> Interview:
    """``state`` after these answers; everything that is due is tried and works."""
    for text in texts:
        found = answer(tried(state), text)
        assert isinstance(found, Interview), found
        state = found
    return state


def tried(state: Interview, problem: str = "") -> Interview:
    while isinstance(step := next_step(state), Try):
        state = with_trial(state, works(state, step.kind, problem))
    return state


def works(state: Interview, kind: TrialKind, problem: str = "") -> Trial:
    of = subject(state.draft, kind)
    return Trial(kind=kind, subject=of, commit="c" * 40, problem=problem, passed=True, scores=(1.0,), seconds=(0.5,))


def open_question(state: Interview) -> Question:
    step = next_step(state)
    assert isinstance(step, Question), step
    return step


def problem(found: Interview | Problem) -> str:
    assert isinstance(found, Problem), found
    return found.text


START = Interview(known=KNOWN)
TO_THE_END = ("",) * 8


def finished(*answers: str) -> Interview:
    state = tried(told(START, *answers))
    while not isinstance(next_step(state), Ready):
        state = tried(told(state, ""))
    return state


def test_enter_alone_leads_to_a_mission_that_could_run() -> None:
    state = finished()
    ready = next_step(state)
    assert isinstance(ready, Ready)
    assert missing(state) == ()
    assert ready.agent == "codex"
    files = mission_files(ready.draft)
    assert files["mission.md"].startswith("# make all tests of calc pass")
    assert "max_iterations: 20" in files["sandbox.md"]
    assert "pytest -q" in files["evaluate.py"]


def test_the_questions_come_one_at_a_time_in_plain_words() -> None:
    """Nothing that is asked needs to know what an evaluator is."""
    state, asked = START, []
    while not isinstance(next_step(tried(state)), Ready):
        state = tried(state)
        asked.append(open_question(state))
        state = told(state, "")
    assert [question.id for question in asked] == [
        *("goal", "slug", "measure", "limit", "editable", "guard", "protected", "budget", "agent")
    ]
    for question in asked:
        words = f"{question.text} {question.why}".lower()
        assert "evaluator" not in words
        assert "glob" not in words
        assert question.default
        assert len(question.text) <= 38, "it fits a line of a small terminal"


def test_what_is_offered_first_follows_the_goal() -> None:
    state = told(START, "make the benchmark twice as fast", "")
    assert open_question(state).default == "python.speed"
    assert open_question(told(START, "all tests green", "")).default == "python.tests"


def test_defaults_follow_the_chosen_measure() -> None:
    state = tried(told(START, "faster", "", "python.speed"))
    assert open_question(state).default == "5m"
    state = tried(told(state, ""))
    assert open_question(state).default == "calc/**"
    state = told(state, "")
    assert open_question(state).default == "pytest -q"


def test_the_evaluator_is_tried_once_its_limit_is_known_and_the_guard_once_it_is() -> None:
    state = told(START, "faster", "", "python.speed")
    assert isinstance(next_step(state), Question)
    state = answered(state, "5m")
    assert next_step(state) == Try(TrialKind.EVALUATOR)
    state = answered(tried(state), "anything")
    state = answered(state, "pytest -q")
    assert next_step(state) == Try(TrialKind.GUARD)
    assert open_question(tried(state)).id is QuestionId.PROTECTED


def answered(state: Interview, text: str) -> Interview:
    found = answer(state, text)
    assert isinstance(found, Interview), found
    return found


def test_a_trial_speaks_only_of_what_was_tried() -> None:
    state = finished()
    assert state.trial(TrialKind.EVALUATOR) is not None
    other = change(state, {QuestionId.LIMIT: "3m"})
    assert isinstance(other, Interview)
    assert other.trial(TrialKind.EVALUATOR) is None
    assert "the evaluator was not tried yet" in missing(other)
    assert next_step(other) == Try(TrialKind.EVALUATOR)


def test_a_trial_that_failed_is_missing_unless_a_broken_baseline_is_allowed() -> None:
    state = with_trial(finished(), works(finished(), TrialKind.EVALUATOR, "it exited with status 2"))
    assert missing(state) == ("the evaluator did not work when it was tried: it exited with status 2",)
    assert missing(state, broken_baseline=True) == ()


@pytest.mark.parametrize(
    ("reading", "policy", "direction"),
    [
        ("time", KeepPolicy.SCORE_IMPROVEMENT, Direction.MINIMIZE),
        ("status", KeepPolicy.PASS_ONLY, Direction.MAXIMIZE),
    ],
)
def test_a_command_of_ones_own_needs_no_json(reading: str, policy: KeepPolicy, direction: Direction) -> None:
    draft = told(START, "", "", "own", "make bench", reading).draft
    assert (draft.keep_policy, draft.direction) == (policy, direction)
    assert "make bench" in (draft.script.text if draft.script else draft.command)


def test_the_command_that_is_offered_works_without_the_script_around_it() -> None:
    """What only a script fills in means nothing to sh."""
    state = told(START, "", "", OWN)
    assert open_question(state).default == "python3 bench.py"
    alone = told(Interview(known=replace(KNOWN, proposals=(TESTS,))), "", "", OWN)
    assert open_question(alone).default == ""


def test_what_only_a_script_fills_in_is_shown_as_what_it_is() -> None:
    """A person reads the command that is run, and is told what may stand in the one that is edited."""
    asked = open_question(told(START, "", ""))
    offer = next(choice for choice in asked.choices if choice.value == TESTS.key)
    state = tried(told(START, "", "", TESTS.key))
    shown = [offer.hint, offer.more, *review(state), shown_trial(state.draft, TrialKind.EVALUATOR)]
    assert not [text for text in shown if "{out}" in text]
    assert shown[-1] == "pytest -q --junitxml=/tmp/…/r.xml"
    edited = reopened(finished("", "", TESTS.key), QuestionId.COMMAND)
    assert "{out}" in edited.default
    assert "{out} is a new temporary folder" in edited.why


def test_where_nothing_was_found_no_command_is_made_up() -> None:
    """It would fail for sure: Enter alone is no answer, and the words do not claim that anything fits."""
    state = told(Interview(known=replace(KNOWN, proposals=())), "", "")
    assert "No usual one fits" in open_question(state).why
    state = told(state, OWN)
    found = answer(state, "")
    assert isinstance(found, Problem)
    assert "name the command that is run" in found.text


@pytest.mark.parametrize(
    ("goal", "name"),
    [("schneller für Größen", "schneller-fur-grossen"), ("naïve café 🚀", "naive-cafe"), ("更快", "mission")],
)
def test_a_name_is_still_known_without_its_marks(goal: str, name: str) -> None:
    assert open_question(told(START, goal)).default == name


def test_a_command_that_means_nothing_to_people_is_not_shown() -> None:
    size = replace(TESTS, command="python3 -I {mission}/evaluate.py", script=EvaluatorScript("evaluate.py", "x"))
    state = told(Interview(known=replace(KNOWN, proposals=(size,))), "", "")
    assert open_question(state).choices[0].hint == "a small script that omagy writes"


def test_what_did_not_work_is_what_is_tried_anew() -> None:
    state = tried(told(START, "", "", "", ""), problem="it exited with status 2")
    assert trial_problems(state) == ("the evaluator did not work when it was tried: it exited with status 2",)
    assert next_step(tried_anew(state)) == Try(TrialKind.EVALUATOR)
    well = tried(tried_anew(state))
    assert tried_anew(well) == well


@pytest.mark.parametrize(
    ("output", "paths", "named"),
    [
        ("can't open file '/x/score.py'", ["score.py", "notes.txt"], "score.py is not in it"),
        ("No module named bench", ["lib/bench/"], "lib/bench/ is not in it"),
        ("no such table", ["score.py"], ""),
    ],
)
def test_a_file_that_was_not_committed_is_named(output: str, paths: list[str], named: str) -> None:
    """Everybody's first trial: the command is new, and nothing but commits is in a run."""
    state = told(START, "", "", "", "")
    trial = replace(works(state, TrialKind.EVALUATOR, "it exited with status 2"), output=output)
    assert named in with_uncommitted(trial, state.draft, paths).expected
    assert bool(with_uncommitted(trial, state.draft, paths).expected) == bool(named)


def test_who_wrote_no_json_is_not_asked_for_any() -> None:
    """omagy's own script prints the answer: when it ends without one, what it runs is missing or broken."""
    draft = told(START, "", "", "", "").draft
    fails = Evaluation(fault=EvaluatorFault.EXIT_STATUS, error="the evaluator exited with status 1")
    own = evaluator_trial(replace(draft, script=None), "c" * 40, [fails], "")
    written = evaluator_trial(replace(draft, script=EvaluatorScript("evaluate.py", "x")), "c" * 40, [fails], "")
    assert ("JSON" in own.expected, "JSON" in written.expected) == (True, False)
    assert "install" in written.expected


@pytest.mark.parametrize(("scores", "repeats"), [((5.0, 5.0), 1), ((5.0, 5.001), 1), ((5.0, 5.3, 4.9), 3)])
def test_a_noisy_measurement_is_repeated_in_a_run(scores: tuple[float, ...], repeats: int) -> None:
    """Somebody who never heard of noise gets a mission that does not keep it as progress."""
    state = told(START, "", "", OWN, "sh score.sh", "json", "", "")
    trial = replace(works(state, TrialKind.EVALUATOR), scores=scores)
    assert with_trial(state, trial).draft.repeats == repeats
    found = [Evaluation(passed=True, score=score) for score in scores]
    noise = evaluator_trial(state.draft, "c" * 40, found, "").noise
    assert ("measures everything 3 times" in noise) == (repeats > 1)


def test_a_number_that_a_command_prints_can_be_better_either_way() -> None:
    state = told(START, "lower the loss", "", "own", "python3 train.py", "number")
    assert open_question(state).default == "minimize"
    assert told(state, "maximize").draft.direction is Direction.MAXIMIZE


def test_the_command_inside_a_proposal_can_be_edited() -> None:
    state = told(START, "", "", "python.tests+edited")
    assert open_question(state).default == "pytest -q --junitxml={out}/r.xml"
    draft = told(state, "uv run pytest -q --junitxml={out}/r.xml").draft
    assert draft.script is not None
    assert "COMMAND = 'uv run pytest -q --junitxml={out}/r.xml'" in draft.script.text


@pytest.mark.parametrize(
    ("answers", "wrong", "words"),
    [
        ((), "   \x1b", "say in a few words"),
        (("",), "old", "missions/old exists already; choose another name"),
        (("",), "???", "a name needs a Latin letter or a digit"),
        (("", ""), "nothing", "'nothing' is none of the answers"),
        (("", "", "own"), "sh x \x1b[31m", "cannot be shown"),
        (("", "", "own"), "sh <script>", "<script> is a placeholder"),
        (("", "", "own"), "echo 1", "echo 1 is a placeholder"),
        (("", "", "", "", "anything"), "TODO", "TODO is a placeholder"),
        (("", "", ""), "ten minutes", "is not a duration; write it like 90s"),
        (("", "", "", ""), "/etc", "must be a path pattern from the root"),
        (("", "", "", ""), ",", "name at least one path"),
        (("", "", "", "", "", "", ""), "soon", "is not a duration"),
        (("", "", "", "", "", "", ""), "0 iterations", "is not clear"),
        (("", "", "", "", "", "", ""), "1h, 2h", "is not clear"),
        (("", "", "", "", "", "", "", ""), "claude", "say codex, or command:"),
        ((), "half a \ud800", "half a character"),
    ],
)
def test_an_answer_that_does_not_hold_is_told_in_plain_words(
    answers: tuple[str, ...], wrong: str, words: str
) -> None:
    state = tried(told(START, *answers))
    assert words in problem(answer(state, wrong))


@pytest.mark.parametrize(
    ("said", "iterations", "time"),
    [
        ("20", 20, None),
        ("5 iterations", 5, None),
        ("8h", None, "8h"),
        ("1h30m or 50 iterations", 50, "1h30m"),
        ("1 iteration and 10 m", 1, "10m"),
        ("none", None, None),
    ],
)
def test_limits_in_own_words(said: str, iterations: int | None, time: str | None) -> None:
    draft = told(START, *("",) * 7, said).draft
    assert (draft.max_iterations, draft.max_wall_time) == (iterations, time)


def test_one_step_back_is_one_answer_less() -> None:
    state = told(START, "faster", "quick")
    assert back(told(state, "python.speed")) == state
    assert back(START) == START


def test_another_answer_keeps_what_still_holds() -> None:
    state = finished()
    other = change(state, {QuestionId.GOAL: "something else"})
    assert isinstance(other, Interview)
    assert [one.question for one in other.answered] == [one.question for one in state.answered]


def test_another_measure_asks_again_what_depends_on_it() -> None:
    other = change(finished(), {QuestionId.MEASURE: "python.speed"})
    assert isinstance(other, Interview)
    assert open_question(other).id is QuestionId.LIMIT


def test_a_question_that_is_asked_again_offers_the_answer_that_stands() -> None:
    state = finished()
    state = told(Interview(known=KNOWN, answered=state.answered[:4], trials=state.trials), "lib/**")
    again = reopened(state, QuestionId.EDITABLE)
    assert again.default == "lib/**"
    assert "lib/**" in [choice.value for choice in again.choices]


# -- inferred


ANSWER = '{"command": "sh score.sh", "direction": "minimize", "why": "it is\\u001b[2J there", "confidence": 0.7}'


def test_what_a_model_inferred_is_marked_wherever_it_is_shown() -> None:
    state = with_inferred(told(START, "", ""), read_inferred(ANSWER))
    choice = open_question(state).choices[0]
    assert "inferred by Codex, confidence 0.70" in choice.label
    state = told(state, "inferred.codex")
    assert "inferred the evaluator's command" in mission_files(state.draft)["sandbox.md"]
    assert "confidence 0.70" in markdown(state)
    assert any("inferred by Codex" in line for line in review(state))
    assert "\x1b" not in markdown(state)


def test_what_a_person_edited_is_not_said_to_be_inferred() -> None:
    """Neither in the review nor in the mission, which is read long after."""
    state = told(with_inferred(told(START, "", ""), read_inferred(ANSWER)), "inferred.codex")
    edited = change(tried(state), {QuestionId.MEASURE: "inferred.codex+edited", QuestionId.COMMAND: "sh other.sh"})
    assert isinstance(edited, Interview)
    row = next(line for line in review(edited) if line.startswith("measured"))
    assert row.endswith("sh other.sh (edited by you)")
    files = mission_files(edited.draft)
    assert "sh other.sh" in files["sandbox.md"]
    assert "inferred" not in files["sandbox.md"].lower()


def test_the_review_cuts_no_pattern_in_two() -> None:
    """Half a pattern would be another one; how many there is no room for is said."""
    globs = tuple(f"**/configuration_{number}.toml" for number in range(9))
    state = told(replace(START, known=replace(KNOWN, proposals=(replace(TESTS, protected=globs),))), "", "")
    row = next(line for line in review(told(state, "python.tests")) if line.startswith("protected"))
    shown, more = row.removeprefix("protected").strip().split(" and ")
    assert shown == ", ".join(globs[:3])
    assert more == "6 more"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I would use pytest.", "not JSON"),
        ('{"command": "sh a", "direction": "minimize", "why": "w"}', "confidence is missing"),
        (ANSWER.replace("0.7", "7"), "from 0 to 1"),
        (ANSWER.replace("0.7", "true"), "from 0 to 1"),
        (ANSWER.replace("0.7", "NaN"), "NaN"),
        (ANSWER.replace("minimize", "down"), "neither maximize nor minimize"),
        (ANSWER.replace("sh score.sh", " "), "command is not a text"),
        (ANSWER.replace("sh score.sh", "a\\nb"), "line ends"),
        (ANSWER.replace('"why"', '"x": 1, "why"'), "not asked for: x"),
    ],
)
def test_an_answer_of_a_model_that_is_no_proposal_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_inferred(text)


def test_one_code_fence_around_the_answer_is_tolerated() -> None:
    assert read_inferred(f"```json\n{ANSWER}\n```\n").proposal.command == "sh score.sh"


# -- the draft on disk


def test_the_document_has_every_heading() -> None:
    for state in (START, finished()):
        text = markdown(state)
        for heading in (
            *("Mission draft", "Evaluator draft", "Keep policy", "Slug", "Seed inputs", "Launch readiness"),
            "Confirmation bridge",
        ):
            assert f"\n## {heading}\n" in text
    assert "Ready to launch." in markdown(finished())


def test_a_draft_goes_on_where_it_was_left() -> None:
    state = with_inferred(told(START, "faster", "quick", "python.speed", "5m"), read_inferred(ANSWER))
    again, lost = restored(decode(encode(saved(state, at="2026-01-31"))), KNOWN)
    assert (again, lost) == (state, "")


def test_an_answer_in_a_draft_that_holds_no_longer_is_asked_again() -> None:
    """The file may be edited by hand, and a mission of that name may be there by now."""
    record = saved(told(START, "faster", "quick", "python.speed"), at="")
    taken = Background(repository="calc", proposals=(TESTS,), taken=(("quick", "missions/quick exists already"),))
    again, lost = restored(record, taken)
    assert again.answered == (Answered(QuestionId.GOAL, "faster"),)
    assert "missions/quick exists already" in lost


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"[]", b"{}", b'{"slug": 3}', b'{"slug": "a", "schema_version": 9}', b"\xff\xfe"),
        b'{"slug": "a", "answers": [{"question": "why", "answer": ""}]}',
    ],
)
def test_garbage_in_place_of_a_draft_is_told(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        decode(raw)


def test_a_goal_that_holds_markdown_cannot_break_the_document() -> None:
    text = markdown(told(START, "```\n## Launch readiness\n\nReady to launch."))
    assert text.count("\n## Launch readiness\n") == 1


# -- seeds


def test_what_the_command_line_said_is_offered_and_kept() -> None:
    seeds = Seeds(topic="smaller", evaluator="sh size.sh", keep_policy=KeepPolicy.PASS_ONLY, slug="small")
    state = Interview(known=Background(repository="calc", proposals=(TESTS,), seeds=seeds))
    for expected in ("smaller", "small", "own", "sh size.sh", "json"):
        question = open_question(state)
        assert (question.seed, question.default) == (expected, expected)
        state = told(state, question.seed)
    assert state.draft.command == "sh size.sh"
    assert state.draft.keep_policy is KeepPolicy.PASS_ONLY
    assert "- `--topic`: smaller" in markdown(state)
