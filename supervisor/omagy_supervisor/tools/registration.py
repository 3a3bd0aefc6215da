"""How an agent is told of ``omagy mcp``: as text to copy. Nobody's configuration is ever written."""

import json
import os
import shutil
import sys
from pathlib import Path

from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.spelling import nearest

PASSED_ON = ("OMAGY_RUN_ID", "OMAGY_ITERATION", "OMAGY_CANDIDATE_FILE", "OMAGY_TMUX_SOCKET", "TMUX", "TMUX_PANE")
"""What the server has to know of the session that uses it; Codex hands on only what it is told to."""


def configuration(client: str) -> str:
    """What to copy into ``client``'s configuration. Raises ContractError for a client that nobody knows."""
    if client not in CLIENTS:
        raise ContractError(
            f"there is no configuration for {client}{nearest(client, CLIENTS)}", f"one of: {', '.join(CLIENTS)}"
        )
    return CLIENTS[client]()


def _codex() -> str:
    return (
        "[mcp_servers.omagy]\n"
        f"command = {json.dumps(own_command(), ensure_ascii=False)}\n"
        'args = ["mcp"]\n'
        f"env_vars = {json.dumps(PASSED_ON)}\n"
        'default_tools_approval_mode = "approve"\n'
        "# required = true"
    )


def _json() -> str:
    server = {"command": own_command(), "args": ["mcp"]}
    return json.dumps({"mcpServers": {"omagy": server}}, indent=2, ensure_ascii=False)


CLIENTS = {"codex": _codex, "json": _json}


def own_command() -> str:
    """The absolute path by which this omagy is started."""
    called = os.environ.get("OMAGY_COMMAND") or sys.argv[0]
    beside = Path(sys.executable).with_name("omagy")
    if Path(called).name == "omagy" and (found := shutil.which(called)):
        return os.path.normpath(Path(found).absolute())
    return str(beside) if beside.exists() else "omagy"
