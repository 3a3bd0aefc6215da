"""What Codex will be configured with: the user's files, the profile he chose and his command line together.

Read only. Codex itself stays the judge of its configuration; omagy looks at it to know whether the user chose
permissions of his own, what he hides from tools, and whether a login can be needed at all.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from omagy_supervisor.adapters.codex.jsonl import Json

_LONG_NAMES = {"-c": "--config", "-o": "--output-last-message", "-p": "--profile", "-s": "--sandbox"}
_WITH_VALUE = frozenset(_LONG_NAMES.values())


def codex_home(environment: Mapping[str, str]) -> Path:
    """The folder where Codex keeps configuration, login and session records."""
    named = environment.get("CODEX_HOME")
    return Path(named) if named else Path(environment.get("HOME", "/")) / ".codex"


def options(args: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The options in ``args`` by their long names, each with its value ("" for a flag), however they are spelt."""
    words = iter(args)
    for word in words:
        if word.startswith("--"):
            name, joined, value = word.partition("=")
        else:
            name, joined, value = _LONG_NAMES.get(word[:2], ""), word[2:], word[2:].removeprefix("=")
        if name in _WITH_VALUE and not joined:
            value = next(words, "")
        if name:
            yield name, value


def overrides(args: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    """The configuration keys (dotted) that ``args`` set with ``-c``, with their values as Codex reads them."""
    for name, value in options(args):
        if name == "--config":
            key, _, raw = value.partition("=")
            yield key.strip(), _toml_value(raw)


def chosen_profile(args: tuple[str, ...]) -> str | None:
    """The configuration profile that ``args`` name, None when they name none."""
    return next((value for name, value in options(args) if name == "--profile"), None)


def profile_settings(args: tuple[str, ...], environment: Mapping[str, str]) -> Json:
    """What the profile that ``args`` name says; empty when there is none or it cannot be read."""
    profile = chosen_profile(args)
    return _read_toml(codex_home(environment) / f"{profile}.config.toml") if profile else {}


def effective_settings(args: tuple[str, ...], environment: Mapping[str, str]) -> Json:
    """The user's configuration file, under the profile and the ``-c`` options in ``args``."""
    settings = _merged(_read_toml(codex_home(environment) / "config.toml"), profile_settings(args, environment))
    for key, value in overrides(args):
        settings = _merged(settings, _nested(key, value))
    return settings


def _read_toml(path: Path) -> Json:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}  # Codex will refuse it with better words than ours


def _toml_value(raw: str) -> object:
    try:
        return tomllib.loads(f"value = {raw}")["value"]
    except (ValueError, RecursionError):
        return raw


def _nested(key: str, value: object) -> Json:
    head, dot, rest = key.partition(".")
    return {head: _nested(rest, value) if dot else value}


def _merged(below: Json, above: Json) -> Json:
    result = dict(below)
    for key, value in above.items():
        under = result.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            result[key] = _merged(under, value)
        else:
            result[key] = value
    return result
