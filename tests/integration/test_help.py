"""The help of every command, as it is shown."""

import pytest

from fakes.workspace import Workspace

_COMMANDS = ("autoresearch", "autoresearch check", "autoresearch init", "autoresearch watch", "state", "hud")
_TO_BE_COPIED = ("env_vars = ", "command = ", '"command": ')  # lines of a configuration file


@pytest.mark.parametrize("command", ["", *_COMMANDS, "question", "stop-conditions", "mcp"])
def test_help_fits_a_terminal_of_80_columns(ws: Workspace, command: str) -> None:
    """It is on stdout, and no terminal has to break its lines wherever they end."""
    done = ws.omagy(*command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"omagy {command.partition(' ')[0]}" in done.stdout
    lines = [line for line in done.stdout.splitlines() if not line.strip().startswith(_TO_BE_COPIED)]
    assert not [line for line in lines if len(line) > 79]
