"""Where the Codex binary of the tests is, and a configuration that sends it to the scripted server."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
KEY_VARIABLE = "SCRIPTED_SERVER_KEY"

# Codex gives a model its tools in the way that its built-in list says for the model's name.
ToolMode = Literal["plain", "code"]
_MODELS: Mapping[ToolMode, str] = {"plain": "gpt-5.5", "code": "gpt-6.2-sol"}

_CONFIGURATION = """\
model = {model}
model_provider = "scripted"
check_for_update_on_startup = false
allow_login_shell = false

[model_providers.scripted]
name = "scripted"
base_url = {base_url}
wire_api = "responses"
env_key = "{key_variable}"
request_max_retries = 1
stream_max_retries = 1
stream_idle_timeout_ms = 120000

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
exporter = "none"
metrics_exporter = "none"

[features]
plugins = false
remote_plugin = false
apps = false
shell_snapshot = false
"""


@dataclass(frozen=True)
class CodexHome:
    """A Codex configuration. ``environment`` is complete: a Codex that gets it sees nothing of the real user."""

    path: Path
    environment: Mapping[str, str]

    @property
    def config_file(self) -> Path:
        return self.path / "config.toml"


def codex_for_tests() -> Path:
    """The Codex executable that the tests drive; without one they fail: a skipped test proves nothing."""
    named = os.environ.get("OMAGY_TEST_CODEX")
    if named:
        return Path(named)
    installed = REPOSITORY / ".tools/node_modules/.bin/codex"
    found = str(installed) if installed.exists() else shutil.which("codex")
    if found is None:
        pytest.fail("no Codex to test with; install it with: bin/dev setup")
    return Path(found)


def make_codex_home(folder: Path, base_url: str, mode: ToolMode = "plain") -> CodexHome:
    """Write a configuration below ``folder`` that talks to ``base_url``.

    Codex refuses to keep its helper programs below the temporary folder, so TMPDIR is a neighbour of
    CODEX_HOME and not, as it would be with pytest's folders, an ancestor.
    """
    home, codex_home, temporary = folder / "home", folder / "codex-home", folder / "tmp"
    for each in (home, codex_home, temporary):
        each.mkdir(parents=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CODEX_HOME": str(codex_home),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        KEY_VARIABLE: "not-a-real-key",
    }
    result = CodexHome(codex_home, environment)
    result.config_file.write_text(
        _CONFIGURATION.format(
            model=json.dumps(_MODELS[mode]), base_url=json.dumps(base_url), key_variable=KEY_VARIABLE
        )
    )
    return result
