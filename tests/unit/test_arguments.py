"""The command line, split into what is omagy's and what is Codex's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omagy_autoresearch.errors import ContractError, ExitStatus
from omagy_supervisor.arguments import FLAGS, VALUES, Arguments, refuse_idle_options, split_arguments


def _split(line: str) -> Arguments:
    return split_arguments(line.split())


def _refused(line: str) -> ContractError:
    with pytest.raises(ContractError) as caught:
        _split(line)
    assert caught.value.exit_status is ExitStatus.USAGE
    return caught.value


@pytest.mark.parametrize("flag", sorted(set(FLAGS)))
def test_every_flag_stands_before_the_mission(flag: str) -> None:
    """A flag before the mission is omagy's."""
    found = _split(f"{flag} m")
    assert (found.flags, found.mission, found.codex_args) == (frozenset({flag}), "m", ())
    assert found.has(flag)


@pytest.mark.parametrize("name", [name for name in VALUES if name != "--resume"])
@pytest.mark.parametrize("form", ["{} 5 m", "{}=5 m"])
def test_every_value_is_read_in_both_forms(name: str, form: str) -> None:
    """--x v and --x=v mean the same."""
    found = _split(form.format(name))
    assert (found.values, found.mission) == ({name: "5"}, "m")


@pytest.mark.parametrize(
    ("line", "value"), [("--agent=a=b m", "a=b"), ("--agent= m", ""), ("--target-score -5 m", "-5")]
)
def test_a_value_is_taken_as_it_stands(line: str, value: str) -> None:
    """Another equals sign, nothing, and a negative number are values."""
    assert list(_split(line).values.values()) == [value]


def test_everything_after_the_mission_is_codexs() -> None:
    """Arguments of Codex arrive untouched and in order."""
    args = "-m gpt --search -c model_reasoning_effort=high -i a.png --sandbox read-only x --profile=p"
    found = _split(f"--detach m {args}")
    assert (found.mission, found.codex_args) == ("m", tuple(args.split()))
    assert found.flags == frozenset({"--detach"})


@pytest.mark.parametrize(
    ("line", "codex"),
    [
        ("m -- --detach", ("--detach",)),
        ("m -- -m x", ("-m", "x")),
        ("m --", ()),
        ("m -- --", ("--",)),
        ("m -m x -- --detach", ("-m", "x", "--", "--detach")),
        ("--resume r -- --detach", ("--detach",)),
    ],
)
def test_two_dashes_hand_over_everything(line: str, codex: tuple[str, ...]) -> None:
    """Behind -- even a word that omagy knows is Codex's; the -- that separates them is not handed over."""
    found = _split(line)
    assert found.codex_args == codex
    assert found.flags == frozenset()


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("--detatch", "--detach"),
        ("--foregroud", "--foreground"),
        ("--max-iteration 3", "--max-iterations"),
        ("--max-iteration=3", "--max-iterations"),
        ("--resumee r", "--resume"),
        ("--no-wiat", "--no-wait"),
    ],
)
def test_a_misspelt_option_is_refused_wherever_it_stands(typo: str, meant: str) -> None:
    """A typo is an error with a suggestion, and is never handed to Codex in silence."""
    assert f"did you mean {meant}?" in _refused(f"{typo} m").message
    error = _refused(f"m {typo}")
    assert f"did you mean {meant}?" in error.message
    assert f"if Codex is meant: -- {typo.split(maxsplit=1)[0]}" in error.hint


@pytest.mark.parametrize("word", ["--unheard-of", "-x", "-", "--detach=1"])
def test_an_unknown_option_before_the_mission_is_refused(word: str) -> None:
    """What nobody knows is no mission and no option."""
    error = _refused(f"{word} m")
    assert error.message.startswith(f"unknown option {word}")
    assert "options for Codex stand after the mission folder" in error.hint


_BOTH = ("--json", "--help")


@pytest.mark.parametrize("name", [name for name in (*FLAGS, *VALUES) if name not in _BOTH])
@pytest.mark.parametrize("form", ["m {}", "m -m x {}", "m {}=3", "--resume r -m x {}"])
def test_an_own_option_after_the_mission_is_refused(name: str, form: str) -> None:
    """An option of ours that Codex would get is an error that says where it belongs."""
    error = _refused(form.format(name))
    assert error.message == f"{name} is an option of omagy's, but stands where everything goes to Codex"
    assert "put it before the mission folder" in error.hint


CODEX = [
    "--model",
    "--sandbox",
    "--search",
    "--config",
    "--profile",
    "--image",
    "--cd",
    "--add-dir",
    "--oss",
    "--full-auto",
    "--ask-for-approval",
    "--skip-git-repo-check",
    "--output-schema",
    "--output-last-message",
    "--color",
    "--enable",
    "--disable",
    "--local-provider",
    "--dangerously-bypass-approvals-and-sandbox",
    "--ephemeral",
]


@pytest.mark.parametrize("option", CODEX)
def test_no_option_of_codexs_is_taken_for_a_typo(option: str) -> None:
    """The options that Codex has today go through."""
    assert _split(f"m {option} x").codex_args == (option, "x")


@pytest.mark.parametrize("option", _BOTH)
def test_an_option_that_both_have_goes_to_codex_after_the_mission(option: str) -> None:
    """Where a word stands decides whose it is, for the words that both programs know."""
    assert _split(f"m {option}").codex_args == (option,)
    assert _split(f"--resume r -m x {option}").codex_args == ("-m", "x", option)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_is_missing_is_asked_for(name: str) -> None:
    """An option at the end of the line says what it needs, with an example."""
    error = _refused(name)
    assert error.message == f"{name} needs a value"
    assert error.hint.startswith(f"for example {name} ")


def test_a_resume_takes_options_after_its_id() -> None:
    """Options of ours may stand on either side of the run's id, Codex's come last."""
    found = _split("--no-wait --resume r --detach --max-iterations 9 -m x --search")
    assert found.values == {"--resume": "r", "--max-iterations": "9"}
    assert found.flags == frozenset({"--no-wait", "--detach"})
    assert (found.mission, found.codex_args) == (None, ("-m", "x", "--search"))
    assert _split("--resume=r").values == {"--resume": "r"}


def test_a_resume_hands_words_to_codex() -> None:
    """After a resume's id there is no mission: what follows is Codex's."""
    assert _split("--resume r m").codex_args == ("m",)


def test_a_resume_can_leave_out_the_arguments_that_the_run_had() -> None:
    """Two dashes with nothing behind them say that Codex gets none; without them nothing is said."""
    assert (_split("--resume r --").codex_args, _split("--resume r --").tells_codex_args) == ((), True)
    assert not _split("--resume r").tells_codex_args


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--json m", "--json means nothing"),
        ("--json --resume r", "--json means nothing"),
        ("--save-leftovers m", "--save-leftovers means nothing"),
        ("--detach --foreground m", "--detach and --foreground"),
        ("--foreground --resume r --detach", "--detach and --foreground"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(line: str, words: str) -> None:
    """What is silently passed over costs a night as much as a typo does."""
    with pytest.raises(ContractError) as caught:
        refuse_idle_options(_split(line))
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("line", ["--detach m", "--foreground --resume r --save-leftovers", "m --json"])
def test_options_that_do_something_are_taken(line: str) -> None:
    """Codex's own --json is Codex's."""
    refuse_idle_options(_split(line))


def test_help_has_a_short_form() -> None:
    """-h is --help."""
    assert _split("-h").flags == frozenset({"--help"})


def test_two_dashes_without_a_mission_are_refused() -> None:
    """There is nothing that the arguments could belong to."""
    assert _refused("-- -m x").message == "a mission folder is expected before --"


def test_no_arguments_are_no_error() -> None:
    """The caller decides what an empty line means."""
    assert split_arguments([]) == Arguments()


@pytest.mark.parametrize("line", ["--agent command:\udcff m", "m -m \udcff", "m -- \udcff", "--resume r -m \udcff"])
def test_what_is_no_text_is_refused_before_anything_is_made(line: str) -> None:
    """It stands in the run's records, which are UTF-8; the name of a folder is looked at where it is known."""
    assert "'?' is no UTF-8" in _refused(line).message.replace("command:", "")
    assert _split("m\udcff").mission == "m\udcff"


_words = st.sampled_from([*FLAGS, *VALUES, "--", "m", "-m", "x", "--detatch", "--resume=r", "--json=1", "-h", ""])


@given(st.lists(_words | st.text(max_size=6), max_size=7))
def test_every_word_arrives_somewhere_or_the_line_is_refused(argv: list[str]) -> None:
    """No line loses a word: it is split completely, or refused with a hint."""
    try:
        found = split_arguments(list(argv))
    except ContractError as error:
        assert error.hint  # noqa: PT017 - either outcome is right
        return
    own = list(found.codex_args)
    assert argv[len(argv) - len(own) :] == own
    rest = argv[: len(argv) - len(own)]
    known = set(rest) - {"--", "-h"} - set(found.values.values())
    assert known - found.flags - {found.mission} <= {w for w in rest if w.partition("=")[0] in VALUES}
