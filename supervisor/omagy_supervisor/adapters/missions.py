"""Reads a mission's files (contract section 2)."""

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import MarkedYAMLError

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.mission import Mission
from omagy_autoresearch.mission_contract import Lines, parse_contract
from omagy_supervisor.files import read_regular

_LIMIT = 1 << 20


def read_mission(folder: Path, shown: str) -> Mission:
    """The mission in ``folder``, which messages call ``shown``. Raises ContractError."""
    if not folder.is_dir():
        what = "is a file, not a mission folder" if folder.exists() else "does not exist"
        raise ContractError(
            f"{shown} {what}",
            "a mission is a folder with mission.md (what to improve) and sandbox.md (how to measure it)",
        )
    text = _read(folder / "mission.md", f"{shown}/mission.md", "describe in it what should get better")
    if not text.strip():
        raise ContractError(f"{shown}/mission.md is empty", "describe in it what should get better")
    sandbox = f"{shown}/sandbox.md"
    raw = _read(folder / "sandbox.md", sandbox, "it must say how a candidate is measured")
    data, lines = _frontmatter(raw, sandbox)
    contract, notices = parse_contract(data, lines, sandbox)
    if contract.agent.rehearsal is not None and not (folder / contract.agent.rehearsal).is_dir():
        line = lines(("agent", "rehearsal"))
        raise ContractError(f"{sandbox}:{line}: agent.rehearsal: there is no folder {contract.agent.rehearsal}")
    return Mission(text=text, sandbox_text=raw, contract=contract, notices=notices)


def _read(path: Path, shown: str, hint: str) -> str:
    """The text of a file: a byte order mark and CRLF are tolerated."""
    file = Path(os.path.realpath(path))
    if file.is_symlink():
        raise ContractError(f"{shown}: it cannot be read: its links lead in a circle")
    try:
        data = read_regular(file, _LIMIT)
    except ValueError as error:
        raise ContractError(f"{shown}: {error}") from None
    if data is None:
        raise ContractError(f"{shown} is missing", hint)
    if len(data) > _LIMIT:
        raise ContractError(f"{shown} is larger than 1 MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ContractError(f"{shown}:{line}: it is not UTF-8", "save the file as UTF-8") from None
    return text.replace("\r\n", "\n")


def _frontmatter(text: str, shown: str) -> tuple[Mapping[str, Any], Lines]:
    lines = text.split("\n")
    if lines[0].strip() != "---":
        raise ContractError(
            f"{shown}:1: it does not begin with YAML frontmatter",
            "begin it with:\n  ---\n  evaluator:\n    command: <shell command>\n    format: json\n  ---",
        )
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == "---"), None)
    if end is None:
        raise ContractError(f"{shown}:1: the frontmatter is not closed", "end it with a line that is just ---")
    data = _load("\n".join(lines[1:end]) + "\n", shown)
    return data, lambda path: _line_of(data, path)


def _load(text: str, shown: str) -> Mapping[str, Any]:
    yaml = YAML(typ="rt")
    yaml.allow_duplicate_keys = False
    try:
        data = yaml.load(io.StringIO(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 2 if mark else 1
        problem = " ".join(str(error.problem or error.context).split())
        raise ContractError(f"{shown}:{line}: the frontmatter is not valid YAML: {problem}") from None
    except Exception as error:  # odd tags lead the parser to exceptions of every kind
        reason = " ".join(str(error).split())[:200]
        raise ContractError(f"{shown}:1: the frontmatter is not valid YAML: {reason}") from None
    if not isinstance(data, CommentedMap):
        raise ContractError(f"{shown}:2: the frontmatter is not a block of keys")
    return data


def _line_of(data: Any, path: tuple[str, ...]) -> int | None:
    """The line of a key path, counted from 1 in the file: the frontmatter's first line is the second."""
    line: int | None = None
    for key in path:
        if not isinstance(data, CommentedMap) or key not in data:
            return line
        if key not in (data.lc.data or ()):  # merged in from elsewhere: the block's own line is the nearest
            return line
        line = data.lc.key(key)[0] + 2
        data = data[key]
    return line
