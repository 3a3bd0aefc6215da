"""What a candidate may change, judged on paths and modes alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch.surface import Change, Surface, matches, named_files

FILE, EXECUTABLE, LINK, SUBMODULE, NONE = "100644", "100755", "120000", "160000", "000000"
SURFACE = Surface(
    fixed=("m/mission.md", "m/sandbox.md"), named=("m/eval.py", "conf/a.json"), protected=("golden", "**/*.lock")
)


def _violation(path: str, old: str = FILE, new: str = FILE, surface: Surface = SURFACE) -> str:
    return surface.violation([Change("fine.txt", FILE, FILE), Change(path, old, new)])


@pytest.mark.parametrize(
    ("path", "old", "new", "verb"),
    [
        ("m/mission.md", FILE, FILE, "changes it"),
        ("m/sandbox.md", FILE, EXECUTABLE, "changes its mode"),
        ("m/eval.py", FILE, NONE, "removes or renames it"),
        ("m/eval.py", FILE, LINK, "makes it a link"),
        ("m/eval.py", FILE, SUBMODULE, "makes it a submodule"),
        ("golden/new", NONE, FILE, "adds it"),
        ("golden", NONE, LINK, "makes it a link"),
        ("golden", NONE, SUBMODULE, "makes it a submodule"),
        ("a/b/yarn.lock", FILE, FILE, "changes it"),
        ("yarn.lock", FILE, FILE, "changes it"),
        ("M/Eval.PY", NONE, FILE, "adds it"),
    ],
)
def test_a_protected_path_is_refused_with_what_was_done_to_it(path: str, old: str, new: str, verb: str) -> None:
    """The reason names the path and what the candidate does to it."""
    said = _violation(path, old, new)
    assert said.startswith(f"{path}: it is protected")
    assert said.endswith(f", and the candidate {verb}")


@pytest.mark.parametrize("path", ["m", "M", "conf"])
@pytest.mark.parametrize("new", [FILE, LINK, SUBMODULE])
def test_nothing_may_stand_where_a_protected_file_has_its_folder(path: str, new: str) -> None:
    """A file, link or submodule in the place of a folder replaces all below it."""
    assert _violation(path, NONE, new) == f"{path}: it would stand where a protected file has its folder"


@pytest.mark.parametrize(
    "path", ["m/other.py", "src/eval.py", "eval.py", "conf/a.jsonx", "goldens/x", "m/eval.py.txt"]
)
def test_other_paths_are_free(path: str) -> None:
    """Without ``editable`` everything that is not protected may change."""
    assert _violation(path) == ""


@pytest.mark.parametrize("path", [".gitattributes", "deep/.gitattributes", ".GITATTRIBUTES"])
def test_attributes_are_refused_unless_they_are_editable(path: str) -> None:
    """Attributes can change what other files contain; a mission may allow them by name."""
    assert "git attributes can change" in _violation(path)
    assert _violation(path, surface=Surface(editable=("fine.txt", path))) == ""


def test_editable_is_the_only_surface() -> None:
    """With ``editable`` other paths are refused, ``protected`` wins inside, and a named file may be opened."""
    surface = Surface(("m/mission.md",), ("src/run.py", "m/eval.py"), ("src/fixed",), ("src", "m/mission.md"))
    assert _violation("src/run.py", surface=surface).startswith("fine.txt: it lies outside")
    assert surface.violation([Change("src/run.py", FILE, FILE)]) == ""
    assert "it is protected" in surface.violation([Change("src/fixed/a", FILE, FILE)])
    assert "it is protected" in surface.violation([Change("m/mission.md", FILE, FILE)])
    assert "(editable lifts that)" in surface.violation([Change("m/eval.py", FILE, FILE)])
    assert surface.closed == ("m/mission.md", "m/eval.py")


def test_the_first_of_several_violations_is_told() -> None:
    """One reason is enough."""
    changes = [Change("golden/a", FILE, FILE), Change("m/eval.py", FILE, FILE)]
    assert SURFACE.violation(changes).startswith("golden/a: ")
    assert SURFACE.violation([]) == ""


def test_a_path_cannot_write_into_the_reason() -> None:
    """Control characters and bytes in no encoding are not repeated, and a path is cut."""
    said = _violation("golden/\n# Ignore this\x1b[31m\udcff" + "x" * 500)
    assert said.isprintable()
    assert len(said) < 300


@pytest.mark.parametrize(
    ("glob", "path", "matched"),
    [
        ("src", "src", True),
        ("src", "src/a/b", True),
        ("src/", "src/a", True),
        ("./src", "src/a", True),
        ("src", "srcs/a", False),
        ("src", "a/src", False),
        ("*.py", "a.py", True),
        ("*.py", "d/a.py", False),
        ("*.py", "a.py/x", True),
        ("**/*.py", "a.py", True),
        ("**/*.py", "d/e/a.py", True),
        ("src/**", "src/a/b", True),
        ("src/**/b", "src/b", True),
        ("src/**/b", "src/x/y/b", True),
        ("src/*/b", "src/x/y/b", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("[a]", "a", False),
        ("[a]", "[a]", True),
        ("*", "a/b", True),
        ("a\nb", "a\nb", True),
        ("a", "a\nb", False),
    ],
)
def test_patterns(glob: str, path: str, matched: bool) -> None:
    """``*`` and ``?`` stay within a folder, ``**`` does not, and a folder stands for all below it."""
    assert matches(glob, path) is matched


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_pattern_and_path_have_an_answer(glob: str, path: str) -> None:
    """No text makes the matching fail."""
    assert matches(glob, path) in (True, False)


TRACKED = frozenset({"eval.py", "conf/a.json", "with blank.py", "b.sh", "lib/x.py", "größe.txt"})


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("python eval.py", {"eval.py"}),
        ("python ./eval.py --config=conf/a.json", {"eval.py", "conf/a.json"}),
        ("sh b.sh && python 'with blank.py'", {"b.sh", "with blank.py"}),
        ("A=conf/a.json;sh b.sh|cat", {"conf/a.json", "b.sh"}),
        ("(sh b.sh)", {"b.sh"}),
        ("sh -c 'python eval.py < conf/a.json'", {"eval.py", "conf/a.json"}),
        ('python "eval.py', set()),
        ("python größe.txt:eval.py", {"größe.txt", "eval.py"}),
        ("./b.sh # eval.py", {"b.sh", "eval.py"}),
        ("python other.py", set()),
    ],
)
def test_the_tracked_files_that_a_command_names_are_found(command: str, found: set[str]) -> None:
    """Words, and the parts of words that shells and options put together."""
    assert set(named_files([command], TRACKED)) == found


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("cd m && python3 ev.py", "m/ev.py"),
        ("make -C m bench", "m/Makefile"),
        ("make bench", "Makefile"),
        ("npm test", "package.json"),
        ("python -m bench.speed", "bench/speed.py"),
        ("python -m bench", "bench/__main__.py"),
        ("python $OMAGY_WORKTREE/m/ev.py", "m/ev.py"),
        ('sh "${PWD}/m/ev.py"', "m/ev.py"),
        ("pytest -q", "conftest.py"),
    ],
)
def test_a_file_is_named_in_every_way_that_commands_name_files(command: str, named: str) -> None:
    """A command that changes its folder, runs a module or a runner's targets names the files it rests on."""
    tracked = frozenset(
        ["m/ev.py", "m/Makefile", "Makefile", "package.json", "bench/speed.py", "bench/__main__.py", "conftest.py"]
    )
    assert named in named_files((command,), tracked)
