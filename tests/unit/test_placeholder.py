"""A command that nobody has written yet is told from one that may be run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.mission_contract import parse_contract
from omagy_autoresearch.placeholder import placeholder, unfinished

PLACEHOLDERS = [
    ("TODO", "TODO"),
    ("todo", "todo"),
    ("TODO: write it", "TODO:"),
    ("TODO(me)", "TODO"),
    ("python3 eval.py TODO", "TODO"),
    ("python3 eval.py 'TODO: the data set'", "TODO"),
    ("python3 eval.py --data=TODO", "TODO"),
    ("TBD", "TBD"),
    ("tbd", "tbd"),
    ("./score && FIXME", "FIXME"),
    ("REPLACE_ME", "REPLACE_ME"),
    ("python3 REPLACE_ME.py", "REPLACE_ME"),
    ("replace-me", "replace-me"),
    ("CHANGEME", "CHANGEME"),
    ("changeme", "changeme"),
    ("python3 CHANGE_ME", "CHANGE_ME"),
    ("…", "…"),
    ("python3 …", "…"),
    ("<command>", "<command>"),
    ("<your evaluator command>", "<your evaluator command>"),
    ("<…>", "<…>"),
    ("<...>", "<...>"),
    ("python3 <script>", "<script>"),
    ("python3 eval.py <data set> --fast", "<data set>"),
    ("<dir>/evaluate.sh", "<dir>/"),
    ("python3 missions/<slug>.py", "<slug>"),
    ("your-command-here", "your-command-here"),
    ("your_command_here --json", "your_command_here"),
    ("'your command here'", "your command here"),
    ("YOUR-BENCHMARK-HERE", "YOUR-BENCHMARK-HERE"),
    ("sh your-command", "your-command"),
    ("command-here", "command-here"),
    ("python3 path/to/evaluate.py", "path/to/evaluate.py"),
    ("/path/to/evaluator", "/path/to/evaluator"),
    ("true", "true"),
    ("  true  ", "true"),
    ("/bin/true", "/bin/true"),
    ("false", "false"),
    (":", ":"),
    ("exit 0", "exit 0"),
    ("set -e; true", "set -e; true"),
    ("cd src && true", "cd src && true"),
    ("true # later", "true # later"),
    ("echo", "echo"),
    ("""echo '{"pass": true}'""", """echo '{"pass": true}'"""),
    ("""echo "{\\"pass\\": true, \\"score\\": 1}" """, "echo"),
    ("""echo '{"pass": true}'; exit 0""", "echo"),
    ("""echo '{"pass": true, "score": $(cat n)}'""", "echo"),  # single quotes: nothing is substituted
    ("""echo "$((1 + 1))" """, "echo"),
    ("printf '{\"pass\": %s}' true", "printf"),
    ("""X=1 echo '{"pass": true}' >&2""", "X=1 echo"),
    ("""echo '{"pass": true}' > "$OMAGY_RESULT_FILE" """, "echo"),
    ("""sh -c 'echo "{}"'""", 'echo "{}"'),
    ("bash -c true", "true"),
    ("sh -c", "sh -c"),
    ("X=1", "X=1"),
    ("timeout 5 true", "timeout 5 true"),
    ("/usr/bin/timeout -k 1s 5s true", "/usr/bin/timeout"),
    ("nice -n 5 true", "nice"),
    ("time -p true", "time"),
    ("env -i A=1 true", "env"),
    ("stdbuf -oL echo 1", "stdbuf"),
    ("timeout 5 sh -c 'nice true'", "nice true"),
    ("printf 1 | cat", "printf 1 | cat"),
    ("cat", "cat"),
    ('cat <<EOF\n{"pass": true}\nEOF', "cat <<EOF"),
    ("", "an empty command"),
    (" \n", "an empty command"),
    ("# python3 eval.py", "# python3 eval.py"),
]

REAL = [
    "./measure",
    "python3 -I missions/m/evaluate.py",
    "python3 -m pytest todo_app/tests",
    "pytest TODO/tests",
    "python3 todo.py",
    "sh TODO.md.sh",
    "python3 -m todo",
    "node src/fixme.js",
    "grep -c TODO src/app.py",
    "grep -rc 'FIXME' src | sh sum.sh",
    "git grep -c TODO | wc -l",
    "find . -name '*.py' | xargs grep -c TODO",
    "sh eval.sh # TODO make it faster",
    "python3 -c 'import m; m.run()  # TODO: faster'",
    "echo x | ./score",
    "echo building; make score",
    'echo "{\\"pass\\": true, \\"score\\": $(wc -c < data.txt)}"',
    "echo `cat score.json`",
    'printf \'{"pass": true, "score": %d}\' "$(wc -c < data.txt)"',
    'read value < value.txt; echo measuring; echo "{\\"pass\\": true, \\"score\\": $value}"',
    'size=$(wc -c < data.txt); echo "{\\"pass\\": true, \\"score\\": $size}"',
    "cat score.json",
    "true && ./measure",
    "./measure || true",
    "./measure; exit 0",
    "sort <in >out && ./score out",
    "./score <in",
    "./score <in>out",
    "./score 2>&1 <in",
    "./score <in 2>/dev/null",
    "./score <<EOF\n1\nEOF",
    "./score <<< text",
    "diff <(sort a) <(sort b) | ./score",
    "awk '$1<b && c>d' data | ./score",
    "grep -c '<div>' index.html",
    "python3 -c \"print('<x>')\" | ./score",
    "[ 1 -lt 2 ] && ./score",
    "go test ./... -json",
    "cargo test -- --exact",
    "npm test -- your_tests/",
    "python3 paths/to_score.py",
    "./change_me_not",
    "env LANG=C ./measure",
    "timeout 5 ./measure",
    "nice -n 5 python3 measure.py",
    "cat < score.json",
    "cat score.json | cat",
    "timeout 5 cat score.json",
    "time ./measure",
    "sh -c './measure'",
    "exec ./measure",
    "\\./measure",
    "for f in a b; do ./measure $f; done",
]


@pytest.mark.parametrize(("command", "said"), PLACEHOLDERS)
def test_a_placeholder_is_named(command: str, said: str) -> None:
    """What is found is the text that a person has to replace."""
    assert placeholder(command).startswith(said)
    assert placeholder(command)


@pytest.mark.parametrize("command", REAL)
def test_a_real_command_may_be_run(command: str) -> None:
    """A path, a pattern, a redirection or a quoted program is no placeholder, whatever words it contains."""
    assert placeholder(command) == ""


@given(st.text(alphabet="TODO<>echo'\"\\$()`;|&# \n{}…/path.", max_size=60) | st.text(max_size=60))
def test_any_text_is_looked_at(command: str) -> None:
    """Whatever is written there, looking at it raises nothing and gives a line that can be shown."""
    for found in (placeholder(command), unfinished(command)):
        assert len(found) <= 80
        assert "\n" not in found


def _contract_error(data: dict[str, object]) -> ContractError:
    with pytest.raises(ContractError) as caught:
        parse_contract(data, lambda path: 3 if path[0] == "evaluator" else 7, "missions/m/sandbox.md")
    return caught.value


def test_a_placeholder_evaluator_is_refused_with_file_line_and_key() -> None:
    """Every flow reads the contract, so every flow refuses it, says where it stands, and what proposes one."""
    error = _contract_error({"evaluator": {"command": "python3 <script>", "format": "json"}})
    place = "missions/m/sandbox.md:3: evaluator.command: <script> is a placeholder, not a measurement"
    assert error.message == place
    assert "omagy autoresearch init" in error.hint


@pytest.mark.parametrize(
    ("block", "key", "value"),
    [
        ("guard", "guard.command", {"command": "TODO"}),
        ("worktree", "worktree.setup", {"setup": "<install>"}),
        ("evaluator", "evaluator.build", {"command": "./m", "format": "json", "build": "CHANGEME"}),
        ("evaluator", "evaluator.holdout", {"command": "./m", "format": "json", "holdout": "path/to/check"}),
    ],
)
def test_other_commands_must_be_written_too(block: str, key: str, value: dict[str, str]) -> None:
    """A guard that is still to be written would discard every candidate of a night."""
    data: dict[str, object] = {"evaluator": {"command": "./measure", "format": "json"}, block: value}
    assert f"{key}: " in _contract_error(data).message


def test_a_guard_that_does_nothing_is_the_users_choice() -> None:
    """Only the evaluator has to measure something."""
    data = {"evaluator": {"command": "./m", "format": "json", "holdout": "true"}, "guard": {"command": "true"}}
    contract, _ = parse_contract(data, lambda _: None, "sandbox.md")
    assert contract.guard is not None


@pytest.mark.parametrize("command", ['bash -lc "echo 1"', "sh -ec true", "bash -euo pipefail -c 'echo 1'"])
def test_a_constant_behind_the_options_of_a_shell_is_one(command: str) -> None:
    """Options of the shell do not make a measurement of what it prints."""
    assert placeholder(command)


@pytest.mark.parametrize("command", ["bash -lc 'python3 bench.py'", "bash -euo pipefail -c ./bench", "sh -c"])
def test_options_of_a_shell_refuse_nothing_else(command: str) -> None:
    """What is run behind them is what counts."""
    assert bool(placeholder(command)) == (command == "sh -c")
