"""What a Codex session may write and see: the least that lets it commit in a linked worktree.

Codex's own ``workspace-write`` cannot commit in a linked worktree (its git data lie outside), and giving it the
whole ``.git`` would let a session move other branches and install hooks. So the profile here names exactly the
folders that a commit on the lane writes to. Everything else on the machine stays readable and nothing more.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Literal

from omagy_autoresearch.errors import StorageError
from omagy_supervisor.adapters.codex.jsonl import child
from omagy_supervisor.adapters.codex.settings import (
    chosen_profile,
    codex_home,
    effective_settings,
    options,
    overrides,
    profile_settings,
)
from omagy_supervisor.agents import SessionSpec

Network = Literal["off", "on"]

PROFILE = "omagy"
_HIDDEN = ("*KEY*", "*TOKEN*", "*SECRET*", "*PASSWORD*")
_OWN_FLAGS = frozenset({"--sandbox", "--dangerously-bypass-approvals-and-sandbox", "--approve-for-me", "--yolo"})
_OWN_KEYS = frozenset({"default_permissions", "permissions", "sandbox_mode"})
_OURS = re.compile(r"GIT_CONFIG_(?:COUNT|KEY_\d+|VALUE_\d+)|OMAGY_[A-Z_]+")
_LEFTOVERS = (".agents", ".aws", ".codex")


def chooses_permissions(args: tuple[str, ...], environment: Mapping[str, str]) -> bool:
    """Whether the user's own arguments settle what a session may do; omagy then adds nothing to it.

    A profile counts when it speaks of permissions or cannot be read.
    """
    named = {name for name, _ in options(args)} & _OWN_FLAGS
    keys = {key.partition(".")[0] for key, _ in overrides(args)} & _OWN_KEYS
    if named or keys:
        return True
    profile = profile_settings(args, environment)
    return chosen_profile(args) is not None and (not profile or bool(profile.keys() & _OWN_KEYS))


def writable_folders(spec: SessionSpec) -> tuple[Path, ...]:
    """The folders outside the worktree that a session writes to when it commits and hands in its candidate."""
    return (spec.git_dir, spec.common_dir / "objects", *_made_folders(spec))


def _made_folders(spec: SessionSpec) -> tuple[Path, ...]:
    namespace = PurePosixPath(spec.branch).parts[0]
    refs = Path("refs/heads") / namespace
    return (spec.common_dir / refs, spec.common_dir / "logs" / refs, spec.outbox)


def prepare_folders(spec: SessionSpec) -> None:
    """Make what the profile names, and remove what an interrupted sandbox left behind.

    ``git pack-refs`` removes empty ref folders, and a folder that is not there cannot be made writable. Of the
    leftovers only empty folders go: Codex takes a ``.codex`` folder for configuration of the project. Raises
    StorageError.
    """
    try:
        for folder in _made_folders(spec):
            folder.mkdir(parents=True, exist_ok=True)
        for name in _LEFTOVERS:
            _remove_if_empty(spec.worktree / name)
    except OSError as error:
        raise StorageError(
            f"cannot prepare a folder of the session: {error}", "mend the path or its permissions, then resume"
        ) from error


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()


def profile_options(spec: SessionSpec, network: Network) -> tuple[str, ...]:
    """The ``-c`` options that define our permission profile and select it, whatever the user's own mode is."""
    access = {str(path): "read" for path in _protected(spec)}
    hidden = [codex_home(spec.environment) / "auth.json", *spec.hidden]
    access |= {str(path): "deny" for path in hidden if path.exists()}
    access |= {str(path): "write" for path in writable_folders(spec)}
    table = (
        f'{{extends=":workspace",filesystem={_inline_table(access)},network={{enabled={_toml(network == "on")}}}}}'
    )
    return ("-c", f"default_permissions={_toml(PROFILE)}", "-c", f"permissions.{PROFILE}={table}")


def _protected(spec: SessionSpec) -> list[Path]:
    """What stays read-only even inside a folder that is writable.

    Temporary folders are writable, so a repository below one would be too. The files of the worktree's admin
    folder tell git where the repository is: a session that changed them could make *our* git run its hooks.
    """
    links = ("commondir", "gitdir", "config.worktree")
    checkout = spec.common_dir.parent if spec.common_dir.name == ".git" else spec.common_dir
    candidates = (checkout, spec.worktree.parent, *(spec.git_dir / name for name in links))
    return [path for path in candidates if path.exists()]


def environment_options(spec: SessionSpec, args: tuple[str, ...]) -> tuple[str, ...]:
    """The ``-c`` options that hide secrets from the session's commands, besides what the user hides himself.

    What omagy itself put into the environment is set again, one by one: the patterns would take half of git's
    configuration away (``GIT_CONFIG_KEY_0``) and break every git command, and a user who lets tools inherit
    only a core of variables would cut our sessions off from their candidate file.
    """
    policy = child(effective_settings(args, spec.environment), "shell_environment_policy")
    theirs = policy.get("exclude")
    hidden = [*_HIDDEN, *(each for each in theirs if isinstance(each, str))] if isinstance(theirs, list) else _HIDDEN
    result = ["-c", f"shell_environment_policy.exclude=[{','.join(map(_toml, dict.fromkeys(hidden)))}]"]
    for name, value in sorted(spec.environment.items()):
        if _OURS.fullmatch(name):
            result += ["-c", f"shell_environment_policy.set.{name}={_toml(value)}"]
    return tuple(result)


def _inline_table(values: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{_toml(key)}={_toml(value)}" for key, value in values.items()) + "}"


def _toml(value: str | bool) -> str:
    """``value`` in TOML: its strings and booleans are written like JSON's."""
    return json.dumps(value, ensure_ascii=False)
