"""A mission's files, as people and editors write them."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.workspace import PATIENCE_S
from omagy_autoresearch.decision import KeepPolicy
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.mission import Mission
from omagy_supervisor.adapters.missions import read_mission

FRONT = "---\nevaluator:\n  command: ./measure\n  format: json\n---\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "m"
    made.mkdir()
    (made / "mission.md").write_text("Make it faster.\n")
    (made / "sandbox.md").write_text(FRONT + "It measures.\n")
    return made


def _read(folder: Path) -> Mission:
    return read_mission(folder, "missions/m")


def _refused(folder: Path, sandbox: str | bytes | None = None) -> ContractError:
    if sandbox is not None:
        data = sandbox.encode("utf-8", "surrogatepass") if isinstance(sandbox, str) else sandbox
        (folder / "sandbox.md").write_bytes(data)
    with pytest.raises(ContractError) as caught:
        _read(folder)
    return caught.value


def test_a_mission_is_read(folder: Path) -> None:
    """Both files are kept as text, and the frontmatter becomes the contract."""
    mission = _read(folder)
    assert mission.text == "Make it faster.\n"
    assert mission.sandbox_text == FRONT + "It measures.\n"
    assert mission.contract.evaluator.command == "./measure"
    assert mission.notices == ()


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_order_mark_and_crlf_change_nothing(folder: Path, mark: str, end: str) -> None:
    """Files of other editors and systems mean the same as plain ones."""
    plain = _read(folder)
    for name in ("mission.md", "sandbox.md"):
        text = (folder / name).read_text()
        (folder / name).write_bytes((mark + text.replace("\n", end)).encode())
    assert _read(folder) == plain


@pytest.mark.parametrize("closing", ["---", "---  ", "---\t"])
def test_blanks_after_the_markers_are_tolerated(folder: Path, closing: str) -> None:
    """Blanks that nobody sees after a marker do not hide the frontmatter."""
    (folder / "sandbox.md").write_text(FRONT.replace("---", closing))
    assert _read(folder).contract.evaluator.command == "./measure"


def test_the_body_may_hold_anything(folder: Path) -> None:
    """What stands after the frontmatter is prose, whatever it looks like."""
    (folder / "sandbox.md").write_text(FRONT + "---\nevaluator: [\n---\n\t@\n")
    assert _read(folder).contract.evaluator.command == "./measure"


def test_frontmatter_is_yaml_1_2(folder: Path) -> None:
    """off is a word, not false, and a colon in a time is no sexagesimal number."""
    (folder / "sandbox.md").write_text(FRONT.replace("format", "keep_policy: pass_only\n  format") + "x")
    assert _read(folder).contract.evaluator.keep_policy is KeepPolicy.PASS_ONLY
    text = FRONT[:-4] + "budget:\n  max_consecutive_errors: off\n---\n"
    (folder / "sandbox.md").write_text(text)
    assert _read(folder).contract.budget.max_consecutive_errors is None


@pytest.mark.parametrize(
    ("sandbox", "message"),
    [
        ("", "missions/m/sandbox.md:1: it does not begin with YAML frontmatter"),
        ("evaluator:\n", "missions/m/sandbox.md:1: it does not begin with YAML frontmatter"),
        ("\n---\n---\n", "missions/m/sandbox.md:1: it does not begin with YAML frontmatter"),
        ("---\nevaluator: {}\n", "missions/m/sandbox.md:1: the frontmatter is not closed"),
        ("---\nevaluator: {}\n ---\n", "missions/m/sandbox.md:1: the frontmatter is not closed"),
        ("---", "missions/m/sandbox.md:1: the frontmatter is not closed"),
        ("---\n---\n", "missions/m/sandbox.md:2: the frontmatter is not a block of keys"),
        ("---\n- a\n---\n", "missions/m/sandbox.md:2: the frontmatter is not a block of keys"),
        ("---\njust text\n---\n", "missions/m/sandbox.md:2: the frontmatter is not a block of keys"),
        ("---\na: 1\n\tb: 2\n---\n", "missions/m/sandbox.md:3: the frontmatter is not valid YAML: "),
        ("---\na: 1\nb: [\n---\n", "missions/m/sandbox.md:4: the frontmatter is not valid YAML: "),
        ("---\na: 1\nb: 2\na: 3\n---\n", "missions/m/sandbox.md:4: the frontmatter is not valid YAML: "),
        ("---\na: *nothing\n---\n", "missions/m/sandbox.md:2: the frontmatter is not valid YAML: "),
        ("---\na: \x07\n---\n", "missions/m/sandbox.md:1: the frontmatter is not valid YAML: "),
        ("---\na: !!bool maybe\n---\n", "missions/m/sandbox.md:1: the frontmatter is not valid YAML"),
        ("---\na: 2026-13-45\n---\n", "missions/m/sandbox.md:1: the frontmatter is not valid YAML: "),
    ],
)
def test_broken_frontmatter_is_refused_with_its_line(folder: Path, sandbox: str, message: str) -> None:
    """Everything that keeps the frontmatter from being read says what and where, counted in the file."""
    assert _refused(folder, sandbox).message.startswith(message)


def test_a_key_that_stands_twice_is_named(folder: Path) -> None:
    """Of two values for one key none is silently chosen."""
    message = _refused(folder, FRONT.replace("  format", "  command: ./other\n  format")).message
    assert message.startswith("missions/m/sandbox.md:4: ")
    assert 'duplicate key "command"' in message


@pytest.mark.parametrize(
    ("body", "line", "key"),
    [
        ("evaluator:\n  command: a\n  format: json\n  timeout: 90\n", 5, "evaluator.timeout"),
        ("evaluator:\n  command: a\n\n  # why\n  format: xml\n", 6, "evaluator.format"),
        ("evaluator: {command: a, format: json}\nbudget:\n\n  target_score: high\n", 5, "budget.target_score"),
        ("evaluator: {command: a,\n  format: json,\n  keep_polcy: x}\n", 4, "evaluator.keep_polcy"),
        ("evaluator: {command: a, format: json}\n# note\nsession: 5\n", 4, "session"),
        ("mine: 1\n\nguard: {}\nevaluator: {command: a, format: json}\n", 4, "guard"),
        ("mine: |\n  a\n  b\nevaluator:\n  command: a\n", 5, "evaluator"),
        ("evaluator:\n  1: x\n", 2, "evaluator.1"),
        ("mine: &m\n  comand: a\nevaluator:\n  <<: *m\n", 4, "evaluator.comand"),
    ],
)
def test_the_line_of_a_wrong_key_is_its_line_in_the_file(folder: Path, body: str, line: int, key: str) -> None:
    """Comments, empty lines, blocks, flow style and merged keys do not shift the line in a message."""
    message = _refused(folder, f"---\n{body}---\n").message
    assert message.startswith(f"missions/m/sandbox.md:{line}: {key}: ")


def test_line_numbers_count_in_files_with_crlf_too(folder: Path) -> None:
    """CRLF neither doubles nor loses lines in a message."""
    text = "\ufeff" + FRONT.replace("format: json", "format: xml").replace("\n", "\r\n")
    assert _refused(folder, text).message.startswith("missions/m/sandbox.md:4: evaluator.format: ")


def _bomb(place: str) -> str:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return "---\n" + "\n".join(levels) + "\n" + place + "\n---\n"


@pytest.mark.parametrize(
    "place",
    [
        "evaluator: {command: *a11, format: json}",
        "evaluator: {command: a, format: *a11}",
        "evaluator: *a11",
        "evaluator: {command: a, format: json, keep_policy: *a11}",
        "evaluator: {command: a, format: json, timeout: *a11}",
        "evaluator: {command: a, format: json}\nbudget: {max_iterations: *a11, target_score: 1}",
        "evaluator: {command: a, format: json}\nagent: {rehearsal: *a11}",
        "evaluator: &self {command: *self, format: json}",
    ],
)
def test_anchors_that_multiply_are_refused_without_being_spelt_out(folder: Path, place: str) -> None:
    """A few lines of anchors that stand for a billion values are answered with a short message at once."""
    assert len(_refused(folder, _bomb(place)).message) < 300


def test_anchors_in_keys_of_the_users_own_cost_nothing(folder: Path) -> None:
    """What omagy does not read is not expanded either."""
    (folder / "sandbox.md").write_text(_bomb("evaluator: {command: a, format: json}"))
    assert _read(folder).notices


def test_deep_nesting_is_refused(folder: Path) -> None:
    """A document that is nested beyond reason is not valid, whatever the parser's stack says."""
    assert "not valid YAML" in _refused(folder, "---\na: " + "[" * 800 + "\n---\n").message


@pytest.mark.parametrize(("name", "line"), [("mission.md", 2), ("sandbox.md", 3)])
def test_a_file_that_is_not_utf_8_says_where(folder: Path, name: str, line: int) -> None:
    """The line of the first wrong byte is named."""
    (folder / name).write_bytes(b"---\n" * (line - 1) + b"caf\xe9\n---\n")
    error = _refused(folder)
    assert error.message == f"missions/m/{name}:{line}: it is not UTF-8"
    assert error.hint == "save the file as UTF-8"


@pytest.mark.parametrize("name", ["mission.md", "sandbox.md"])
def test_a_missing_file_is_named_with_its_purpose(folder: Path, name: str) -> None:
    """The error says which file is missing and what belongs in it."""
    (folder / name).unlink()
    error = _refused(folder)
    assert error.message == f"missions/m/{name} is missing"
    assert error.hint


@pytest.mark.parametrize("text", ["", " \n\t\n", "\ufeff"])
def test_an_empty_mission_is_refused(folder: Path, text: str) -> None:
    """A mission that asks for nothing is a mistake."""
    (folder / "mission.md").write_text(text)
    assert _refused(folder).message == "missions/m/mission.md is empty"


def test_a_huge_file_is_refused(folder: Path) -> None:
    """A file over a mebibyte is no mission, and is not read to its end."""
    with (folder / "mission.md").open("wb") as file:
        file.truncate(1 << 40)
    assert _refused(folder).message == "missions/m/mission.md is larger than 1 MiB"


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize("name", ["mission.md", "sandbox.md"])
def test_what_is_no_regular_file_is_refused_at_once(folder: Path, name: str) -> None:
    """A folder, a pipe, a device or a loop of links in place of a file is an error and never a wait."""
    path = folder / name
    path.unlink()
    path.mkdir()
    assert "it is not a regular file" in _refused(folder).message
    path.rmdir()
    os.mkfifo(path)
    assert "it is not a regular file" in _refused(folder).message
    path.unlink()
    path.symlink_to("/dev/zero")
    assert "it is not a regular file" in _refused(folder).message
    path.unlink()
    path.symlink_to(path)
    assert f"missions/m/{name}: it cannot be read: its links lead in a circle" in _refused(folder).message


def test_a_link_to_a_file_is_followed(folder: Path, tmp_path: Path) -> None:
    """A mission may share its text with another one."""
    (folder / "mission.md").rename(tmp_path / "shared.md")
    (folder / "mission.md").symlink_to(tmp_path / "shared.md")
    assert _read(folder).text == "Make it faster.\n"


def test_a_mission_that_is_no_folder_says_what_one_is(tmp_path: Path) -> None:
    """A path to nothing and a path to a file are told apart, and both learn what is expected."""
    (tmp_path / "file").write_text("")
    for name, what in (("file", "is a file, not a mission folder"), ("nothing", "does not exist")):
        with pytest.raises(ContractError) as caught:
            read_mission(tmp_path / name, name)
        assert caught.value.message == f"{name} {what}"
        assert "mission.md" in caught.value.hint


def test_a_rehearsal_folder_must_be_there(folder: Path) -> None:
    """A rehearsal without proposals is refused before launch, with the line that names it."""
    text = FRONT[:-4] + "agent:\n  rehearsal: proposals\n---\n"
    assert _refused(folder, text).message == (
        "missions/m/sandbox.md:6: agent.rehearsal: there is no folder proposals"
    )
    (folder / "proposals").mkdir()
    assert _read(folder).contract.agent.rehearsal == "proposals"


_yaml = st.lists(
    st.sampled_from(
        ["evaluator", "command", "budget", "a", "1", ".inf", "off", "2026-01-01", ": ", ":\n  ", "\n", "\n  ", "- ",
         "? ", "[", "]", "{", "}", ", ", "&a ", "*a", "<<", "!!int ", "!!set ", "!!omap ", "!x ", "|\n", ">-\n", "'",
         '"', "\\", "%YAML 1.1", "#", "\t", "@", "...", "é", "\ud800"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@given(_yaml)
def test_any_frontmatter_is_a_mission_or_a_contract_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """No arrangement of YAML's marks leads to anything but a mission or an error that names the file."""
    folder = tmp_path_factory.getbasetemp() / "fuzzed"
    folder.mkdir(exist_ok=True)
    (folder / "mission.md").write_text("x")
    (folder / "sandbox.md").write_bytes(f"---\n{text}\n---\n".encode("utf-8", "surrogatepass"))
    try:
        _read(folder)
    except ContractError as error:
        assert error.message.startswith("missions/m/sandbox.md")  # noqa: PT017 - either outcome is right
