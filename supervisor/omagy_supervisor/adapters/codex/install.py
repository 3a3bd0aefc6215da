"""Which Codex is installed, and whether it looks usable. Nothing here changes anything or asks a server."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from omagy_supervisor.adapters.codex.jsonl import Json, child, string
from omagy_supervisor.adapters.codex.process import ask
from omagy_supervisor.adapters.codex.settings import effective_settings, options

_ANSWER_LIMIT_S = 30.0  # measured 0.1 s; a cold disk or a loaded machine takes far longer to start node
_VERSION = re.compile(r"\b\d+\.\d+\.\d+\S*")


def find_codex(environment: Mapping[str, str]) -> Path | None:
    """The Codex executable: what ``OMAGY_CODEX`` names, else ``codex`` on that environment's PATH (section 4)."""
    wanted = environment.get("OMAGY_CODEX") or "codex"
    found = shutil.which(wanted, path=environment.get("PATH", ""))
    return Path(found).absolute() if found else None


def codex_version(executable: Path, environment: Mapping[str, str]) -> str | None:
    """The version that ``executable`` reports, None when it does not start or says something else."""
    answer = ask([str(executable), "--version"], environment, Path("/"), _ANSWER_LIMIT_S)
    found = _VERSION.search(answer.output) if answer.status == 0 else None
    return found.group() if found else None


def looks_logged_in(executable: Path, environment: Mapping[str, str], args: tuple[str, ...] = ()) -> bool:
    """Whether a session can be expected to reach its model: a guess, only a real request would prove it.

    True for an API key in the environment, a model provider that needs no login or whose key is there, and a
    login that Codex itself confirms.
    """
    if any(name == "--oss" for name, _ in options(args)) or environment.get("CODEX_API_KEY"):
        return True
    provider = _provider(effective_settings(args, environment))
    if provider is not None:
        key = string(provider, "env_key")
        if key and environment.get(key):
            return True
        if provider.get("requires_openai_auth") is not True:
            return not key
    answer = ask([str(executable), "login", "status"], environment, Path("/"), _ANSWER_LIMIT_S)
    return answer.status == 0


def _provider(settings: Json) -> Json | None:
    """The definition of the provider that ``settings`` select, None for the built-in OpenAI one."""
    name = string(settings, "model_provider") or "openai"
    return None if name == "openai" else child(child(settings, "model_providers"), name)
