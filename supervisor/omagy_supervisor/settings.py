"""What the environment says, read once at start (contract section 4)."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from omagy_autoresearch.errors import ContractError

_GIT_KEEP = (
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)
_OWN_DROP = ("TMUX", "TMUX_PANE")


class Settings(NamedTuple):
    """``environment`` is the user's own, complete and as it was at the start."""

    environment: Mapping[str, str]
    tmux_socket: str
    pause_scale: float

    @property
    def tmux(self) -> str | None:
        import shutil

        return shutil.which("tmux", path=self.environment.get("PATH"))

    @property
    def inside_session(self) -> str | None:
        """The run inside whose session this process runs."""
        return self.environment.get("OMAGY_RUN_ID")


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Settings from ``environment``. Raises ContractError for a value that makes no sense."""
    socket = environment.get("OMAGY_TMUX_SOCKET") or "omagy"
    if "/" in socket:
        raise ContractError(f"OMAGY_TMUX_SOCKET is {socket!r}: it is a name, as in tmux -L, not a path")
    return Settings(dict(environment), socket, _scale(environment.get("OMAGY_PAUSE_SCALE")))


def _scale(text: str | None) -> float:
    try:
        scale = float(text or "1")
    except ValueError:
        scale = -1.0
    if not 0 <= scale <= 100:
        raise ContractError(f"OMAGY_PAUSE_SCALE is {text!r}: it must be a number from 0 to 100")
    return scale


def scrub_process_environment() -> None:
    """Take git's variables out of this process: one set by a hook would point our git at another repository."""
    for key in [key for key in os.environ if key.startswith("GIT_")]:
        del os.environ[key]


def environment_for_programs(environment: Mapping[str, str]) -> dict[str, str]:
    """The user's environment for agents and evaluators: without git's locations and the user's own tmux."""
    return {
        key: value
        for key, value in environment.items()
        if (not key.startswith("GIT_") or key in _GIT_KEEP) and key not in _OWN_DROP and not key.startswith("OMAGY_")
    }
