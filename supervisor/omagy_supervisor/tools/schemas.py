"""What a tool takes and answers: one type each, from which JSON schemas are made and by which input is checked."""

from typing import Annotated, Any, TypeVar

import msgspec

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.spelling import nearest

_REF = "#/$defs/"


class InputError(ContractError):
    """A tool was given what it does not take."""

    code = "invalid_input"


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every tool takes. An unknown key is refused: it would be a wish that nobody hears."""

    working_directory: Annotated[
        str | None,
        msgspec.Meta(
            description="Absolute path of a folder inside the git repository that is meant. "
            "Default: the folder in which this server was started, which is the session's own."
        ),
    ] = None


AnyInput = TypeVar("AnyInput", bound=Input)


def schema_of(type_: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of ``type_``, an object that stands alone: clients differ in how they follow references."""
    (top,), parts = msgspec.json.schema_components([type_], ref_template=f"{_REF}{{name}}")
    schema: dict[str, Any] = _inlined(top, parts)
    return {"type": "object", "properties": {}} | schema


def _inlined(part: Any, parts: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_inlined(one, parts) for one in part]
    if not isinstance(part, dict):
        return part
    own = {key: _inlined(value, parts) for key, value in part.items() if key not in ("$ref", "title")}
    if "$ref" not in part:
        return own
    named: dict[str, Any] = _inlined(parts[part["$ref"].removeprefix(_REF)], parts)
    return named | own


def input_schema(type_: type[msgspec.Struct]) -> dict[str, Any]:
    """``schema_of`` for what a tool takes: null, which means the same as leaving it out, is not advertised."""
    schema: dict[str, Any] = _without_null(schema_of(type_))
    return schema


def _without_null(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_null(one) for one in part]
    if not isinstance(part, dict):
        return part
    part = {key: _without_null(value) for key, value in part.items() if (key, value) != ("default", None)}
    kinds = [kind for kind in part.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == len(part.get("anyOf", ())):
        return part
    rest = {key: value for key, value in part.items() if key != "anyOf"}
    return {**rest, **kinds[0]} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def read_input(type_: type[AnyInput], arguments: dict[str, Any]) -> AnyInput:
    """``arguments`` as ``type_``. Raises InputError that names the key, and the nearest known one for a typo."""
    known = type_.__struct_fields__
    for key in arguments:
        if key not in known:
            unknown = f"there is no input {one_line(key, 40)}{nearest(key, known)}"
            raise InputError(unknown, f"inputs: {', '.join(known)}")
    try:
        return msgspec.convert(arguments, type_)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        place = where.rstrip("`").lstrip(".")
        message = what.replace("`", "").replace("Object missing required field", "missing input")
        raise InputError(f"{place}: {message}" if place else message, f"inputs: {', '.join(known)}") from None


def given_values(given: Input) -> dict[str, Any]:
    """What was asked for, as the command line's ``--input`` would hold it: null is as if it were not there."""
    found = {name: getattr(given, name) for name in given.__struct_fields__ if name != "working_directory"}
    return {name: value for name, value in found.items() if value is not None}
