"""JSON of strangers, read strictly."""

from typing import Any

import pytest

from omagy_autoresearch.strict_json import JsonProblem, loads, loads_object


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"a": [1, 2.5, null, true, "x"]}', {"a": [1, 2.5, None, True, "x"]}),
        (b'\xef\xbb\xbf{"a": 1}\r\n', {"a": 1}),
        ('{"a": "\\u00e9\\ud83d\\ude00"}', {"a": "é😀"}),
        (b" 5 ", 5),
        (b"1e308", 1e308),
        (b"1e-999", 0.0),
        (b"9" * 299, int("9" * 299)),
        (b"[" * 49 + b"]" * 49, None),
    ],
)
def test_sound_json_is_read(raw: bytes | str, value: Any) -> None:
    """What JSON allows is read as it is, with a byte order mark and other line ends tolerated."""
    found = loads(raw)
    assert value is None or found == value


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "it is not JSON (line 1: "),
        (b"{\n'a': 1}", "it is not JSON (line 2: "),
        (b'{"a": 1} x', "it is not JSON (line 1: Extra data)"),
        (b'{"a": 1}{"a": 1}', "it is not JSON"),
        (b'{"a": \xff}', "it is not UTF-8 (byte 6)"),
        ('{"a": 1}'.encode("utf-16"), "it is not UTF-8"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": Infinity}', "Infinity is not a number"),
        (b'{"a": [-Infinity]}', "-Infinity is not a number"),
        (b'{"a": 1e999}', "1e999 is too large for a number"),
        (b"-1e400", "-1e400 is too large for a number"),
        (b"9" * 400, "is too large for a number"),
        (b"9" * 5000, "is too large for a number"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' stands in it twice"),
        (b'{"a": 1, "a": 1}', "the key 'a' stands in it twice"),
        (b"[" * 51 + b"]" * 51, "it is nested too deeply"),
        (b"[" * 200_000, "it is nested too deeply"),
        (b'{"a":' * 60 + b"1" + b"}" * 60, "it is nested too deeply"),
        (b'{"a": "\\ud800"}', "it holds half a character"),
        (b'{"\\udfff": 1}', "it holds half a character"),
        (b'["\\ud83d", "\\ude00"]', "it holds half a character"),
    ],
)
def test_what_could_be_wrong_silently_is_refused(raw: bytes, problem: str) -> None:
    """Numbers that are none, repeated keys, half characters and bottomless nesting each get their own reason."""
    with pytest.raises(JsonProblem) as caught:
        loads(raw)
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"[]", "a list"),
        (b'"x"', "a string"),
        (b"true", "a boolean"),
        (b"1", "a number"),
        (b"1.5", "a number"),
        (b"null", "null"),
    ],
)
def test_an_object_is_asked_for(raw: bytes, kind: str) -> None:
    """Another kind of value is named."""
    with pytest.raises(JsonProblem, match=f"^it is {kind}, not a JSON object$"):
        loads_object(raw)
