"""Options of the commands that hand nothing on."""

import pytest

from omagy_autoresearch.errors import ContractError
from omagy_supervisor.options import Options, read_options


def _read(*argv: str) -> Options:
    return read_options(list(argv), "state list", flags=("--json", "--all"), values=("--input", "--mode"))


def test_options_may_stand_on_either_side_of_words() -> None:
    found = _read("--json", "one", "--mode", "team", "two", "--input={}")
    assert found.flags == {"--json"}
    assert found.values == {"--mode": "team", "--input": "{}"}
    assert found.words == ("one", "two")


def test_what_follows_a_double_dash_is_words() -> None:
    assert _read("--", "--json", "--mode").words == ("--json", "--mode")


def test_a_negative_number_and_a_dash_are_words() -> None:
    assert _read("-3", "-").words == ("-3", "-")


def test_a_value_may_look_like_an_option() -> None:
    assert _read("--mode", "--odd").values == {"--mode": "--odd"}


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("--jsno",), "state list has no option --jsno, did you mean --json?"),
        (("-j",), "state list has no option -j"),
        (("--mode",), "--mode needs a value"),
        (("--mode", "a", "--mode=b"), "--mode is given twice"),
    ],
)
def test_a_mistake_is_told_with_its_remedy(argv: tuple[str, ...], told: str) -> None:
    with pytest.raises(ContractError, match=f"^{told.replace('?', '[?]')}$") as caught:
        _read(*argv)
    assert caught.value.hint


def test_help_has_a_short_form() -> None:
    assert _read("-h").has("--help")


def test_input_is_an_object_read_strictly() -> None:
    assert _read("--input", '{"mode": "team"}').input_object("{}") == {"mode": "team"}
    assert _read().input_object("{}") == {}
    for text in ("[]", "{", '{"a": 1, "a": 2}', '{"a": NaN}'):
        with pytest.raises(ContractError, match=r"^--input: "):
            _read("--input", text).input_object("{}")
