"""A draft becomes files that mean what the draft said."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.mission import Constraint
from omagy_autoresearch.mission_draft import MissionDraft, mission_files
from omagy_autoresearch.placeholder import placeholder
from omagy_supervisor.adapters.missions import read_mission
from omagy_supervisor.scaffold import scaffold

_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30).filter(str.strip)
_COMMANDS = _WORDS.map(lambda text: f"./measure {text}").filter(lambda text: not placeholder(text))
_GLOBS = st.lists(_WORDS.filter(lambda text: text.strip()[0] not in "/!~" and ".." not in text), max_size=4)


@given(
    command=_COMMANDS,
    guard=st.none() | _COMMANDS,
    setup=st.none() | _COMMANDS,
    protected=_GLOBS,
    editable=_GLOBS,
    topic=_WORDS,
    metric=_WORDS,
    direction=st.sampled_from(Direction),
    policy=st.sampled_from(KeepPolicy),
    repeats=st.integers(1, 9),
)
def test_what_is_written_is_what_is_read(
    command: str,
    guard: str | None,
    setup: str | None,
    protected: list[str],
    editable: list[str],
    topic: str,
    metric: str,
    direction: Direction,
    policy: KeepPolicy,
    repeats: int,
) -> None:
    """Any text survives the way through YAML: quotes, colons, hashes, line breaks, emoji, control characters."""
    draft = MissionDraft(
        slug="m",
        topic=topic,
        command=command,
        guard=guard,
        setup=setup,
        protected=tuple(protected),
        editable=tuple(editable),
        direction=direction,
        keep_policy=policy,
        repeats=repeats,
        min_improvement="2%",
        constraints=(Constraint(metric, min="baseline", max=3),),
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, text in mission_files(draft).items():
            Path(folder, name).write_text(text, encoding="utf-8", newline="")
        contract = read_mission(Path(folder), "m").contract
    assert contract.evaluator.command == command.strip()
    assert contract.guard is None if guard is None else contract.guard and contract.guard.command == guard.strip()
    assert contract.worktree.setup == (setup and setup.strip())
    assert contract.protected == tuple(glob.strip() for glob in protected)
    assert contract.editable == tuple(glob.strip() for glob in editable)
    assert (contract.evaluator.direction, contract.evaluator.keep_policy) == (direction, policy)
    assert contract.evaluator.repeats == repeats
    assert contract.evaluator.constraints == (Constraint(metric.strip(), min="baseline", max=3.0),)


_NUMBERS = ("1", "1e3", "0x10", "1_000", ".5", ".inf", "12:30", "2024-01-01", "~", "null", "yes", "No")
_MARKS = ("- a", "a: b", "a #b", "*a", "&a", "!a", "%a", "@a", "`a", "{a", "[a", "'a", '"a', "? a", "a:", "=", "<<")
_OTHERS = ("a\\b", "---", "...", "a\u2028b", "a\x85b", "a\ufeffb", "a\n---\nb", "a\tb", "\U0001f600", "a\x1bb")


@pytest.mark.parametrize("word", [*_NUMBERS, *_MARKS, *_OTHERS])
def test_a_word_that_yaml_reads_differently_stays_a_word(word: str) -> None:
    """A guard called ``yes`` is a command, not a truth value."""
    text = mission_files(MissionDraft(slug="m", topic="t", command="./m", guard=word))["sandbox.md"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sandbox.md").write_text(text, encoding="utf-8", newline="")
        Path(folder, "mission.md").write_text("m")
        guard = read_mission(Path(folder), "m").contract.guard
    assert guard is not None
    assert guard.command == word.strip()


def _draft(**fields: object) -> MissionDraft:
    return MissionDraft(**{"slug": "fast", "topic": "Faster", "command": "./measure", **fields})  # type: ignore[arg-type]


def test_a_mission_folder_is_written_whole(tmp_path: Path) -> None:
    """The folder holds its files and nothing else, and nothing is left beside it."""
    folder = scaffold(tmp_path, _draft(script=script("time_command"), command="python3 -I {mission}/evaluate.py"))
    assert folder == tmp_path / "missions/fast"
    assert {path.name for path in folder.iterdir()} == {"mission.md", "sandbox.md", "evaluate.py"}
    assert {path.name for path in folder.parent.iterdir()} == {"fast"}
    contract = read_mission(folder, "m").contract
    assert contract.evaluator.command == "python3 -I missions/fast/evaluate.py"
    assert contract.protected == ("missions/fast/**",)


def test_a_folder_with_a_space_is_one_word_of_the_command(tmp_path: Path) -> None:
    """The place of the script is quoted in the command that names it."""
    folder = scaffold(tmp_path, _draft(folder="my missions/fast", command="python3 {mission}/evaluate.py"))
    assert read_mission(folder, "m").contract.evaluator.command == "python3 'my missions/fast'/evaluate.py"


@pytest.mark.parametrize("standing", ["folder", "empty folder", "file", "link to nowhere"])
def test_nothing_that_stands_there_is_overwritten(tmp_path: Path, standing: str) -> None:
    """Whatever is called so already stays as it is, and the message says what to choose."""
    place = tmp_path / "missions/fast"
    place.parent.mkdir()
    if standing == "file":
        place.write_text("mine")
    elif standing == "link to nowhere":
        place.symlink_to("nowhere")
    else:
        place.mkdir()
        if standing == "folder":
            (place / "mission.md").write_text("mine")
    with pytest.raises(ContractError, match="exists already, and a mission is never overwritten"):
        scaffold(tmp_path, _draft())
    assert [path.name for path in place.parent.iterdir()] == ["fast"]
    assert standing != "folder" or (place / "mission.md").read_text() == "mine"


def test_a_link_that_leads_out_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    """``missions`` as a link elsewhere: nothing is written there."""
    (tmp_path / "repository").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "repository/missions").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ContractError, match="leads out of the repository"):
        scaffold(tmp_path / "repository", _draft())
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_draft_that_is_no_mission_leaves_nothing(tmp_path: Path) -> None:
    """A placeholder, or a timeout without a unit, is refused before anything is in its place."""
    for wrong in ({"command": "TODO"}, {"timeout": "30"}):
        with pytest.raises(ContractError):
            scaffold(tmp_path, _draft(**wrong))
    assert list((tmp_path / "missions").iterdir()) == []
