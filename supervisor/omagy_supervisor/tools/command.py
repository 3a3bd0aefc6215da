"""``omagy mcp``: serve omagy's tools to an agent, or say how an agent is told of them (contract section 11)."""

import logging
import sys
from importlib import metadata
from pathlib import Path

from omagy_autoresearch.errors import ContractError
from omagy_supervisor.adapters.processes import environment_of_ancestor
from omagy_supervisor.options import read_options
from omagy_supervisor.settings import Settings
from omagy_supervisor.tools.call import Caller
from omagy_supervisor.tools.registration import CLIENTS, configuration
from omagy_supervisor.ui.messages import say, show, show_data

HELP = """\
omagy mcp: serves omagy's tools to an agent over MCP, on stdin and stdout,
until stdin closes.

usage:
  omagy mcp [--debug]                   the server. Your agent starts it, you
                                        need not (--debug: log on stderr)
  omagy mcp --print-config codex|json   what to copy into your agent's
                                        configuration

tools:
{tools}

They work on the git repository of the folder in which the server is started,
or of their input working_directory. Inside a run's session they can look and
ask, but not answer, stop the run or change workflow modes.

Codex, in ~/.codex/config.toml:

{codex}

  env_vars: Codex hands on no environment by itself.
  default_tools_approval_mode: without it `codex exec` refuses every tool that
  is not read-only.
  required: Codex waits for servers for a second, and the first request of a
  quick session can miss the tools; with it Codex waits, and does not start at
  all if the server cannot.
  To wait for answers longer than a minute: tool_timeout_sec = 3600.

Antigravity, Claude and others that read JSON:

{json}

omagy never writes these files itself.
"""


def mcp(words: list[str], settings: Settings) -> int:
    """Run the server, or tell about it; returns the exit status. Raises ContractError without the SDK."""
    options = read_options(words, "mcp", values=("--print-config",))
    if options.has("--help"):
        show(_help())
        return 0
    if options.words:
        raise ContractError(f"mcp takes no words, and got {' '.join(options.words)}", "omagy mcp --help")
    if "--print-config" in options.values:
        show_data(configuration(options.values["--print-config"]))
        return 0
    require_sdk()
    return _serve(settings, debug=options.has("--debug"))


def _help() -> str:
    from omagy_supervisor.tools.every import TOOLS

    listed = "\n".join(f"  {tool.name:<28}{tool.title}" for tool in TOOLS)
    return HELP.format(tools=listed, **{name: _indented(configuration(name)) for name in CLIENTS}).rstrip()


def _serve(settings: Settings, *, debug: bool) -> int:
    from omagy_supervisor.tools.every import TOOLS
    from omagy_supervisor.tools.server import serve

    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if debug else logging.CRITICAL,
        format="%(asctime)s %(name)s: %(message)s",
    )
    logging.getLogger("git").setLevel(logging.WARNING)  # each of its lines holds a whole command
    if sys.stdin.isatty():
        say(
            "waiting for an MCP client on stdin; Ctrl-C ends it. How to register it with your agent: omagy mcp --help"
        )
    return serve(Caller(_with_session(settings), Path.cwd()), TOOLS)


def _with_session(settings: Settings) -> Settings:
    """Agents start servers with little more than PATH; what a session was told, its own process still has."""
    if settings.inside_session is not None:
        return settings
    session = environment_of_ancestor("OMAGY_RUN_ID")
    told = {name: value for name, value in session.items() if name.startswith("OMAGY_")}
    return settings._replace(environment=told | dict(settings.environment))


def require_sdk() -> None:
    """Raises ContractError with the command that installs the MCP SDK, when it is missing or an older generation."""
    try:
        import mcp.server.lowlevel  # noqa: F401
        import mcp_types  # noqa: F401 - it came with the SDK's second generation
    except ModuleNotFoundError:
        needed, found = _requirement(), _installed()
        what = f"{needed}, and finds version {found}" if found else "the MCP SDK, which is not installed"
        here = f"{sys.executable} -m pip install '{needed}'"
        raise ContractError(
            f"omagy mcp needs {what}", f"install it: pip install 'omagy[mcp]'\nor into just this omagy: {here}"
        ) from None


def _requirement() -> str:
    """The SDK as this omagy's own metadata names it."""
    found = (text.partition(";")[0].strip() for text in metadata.requires("omagy") or [])
    return next((text for text in found if text.startswith("mcp")), "mcp")


def _installed() -> str | None:
    try:
        return metadata.version("mcp")
    except metadata.PackageNotFoundError:
        return None


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
