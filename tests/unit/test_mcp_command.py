"""``omagy mcp`` around the server: what it costs others, what it says without the SDK, how it is registered."""

import json
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

BLOCKER = """\
import sys


class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name}}", name=name)


sys.meta_path.insert(0, Blocker())
"""


def omagy(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "omagy_supervisor", *words],
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"} | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "line", ["--version", "--help", "autoresearch --help", "mcp --help", "mcp --print-config json"]
)
def test_nothing_but_the_server_imports_the_sdk(line: str) -> None:
    """Start-up time is a feature, and the SDK takes most of a second."""
    program = (
        "import sys, omagy_supervisor.cli as cli; cli.main(sys.argv[1:]); "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'mcp', 'mcp_types', 'pydantic', 'anyio'}))"
    )
    done = subprocess.run([sys.executable, "-c", program, *line.split()], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("mcp", "mcp_types"), "omagy mcp needs mcp"),
        (("mcp_types",), f"and finds version {metadata.version('mcp')}"),
    ],
)
def test_without_the_sdk_it_names_the_command_that_installs_it(
    tmp_path: Path, names: tuple[str, ...], message: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKER.format(names=names))
    done = omagy("mcp", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "pip install 'omagy[mcp]'" in done.stderr
    assert f"{sys.executable} -m pip install 'mcp" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_dev_group_holds_what_the_extras_need() -> None:
    """The tests run all of it, and a dependency group cannot name an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for name, needed in project["project"]["optional-dependencies"].items():
        assert set(needed) <= set(project["dependency-groups"]["dev"]), name


def test_the_configuration_for_codex_is_toml_that_starts_this_omagy(tmp_path: Path) -> None:
    done = omagy("mcp", "--print-config", "codex")
    server = tomllib.loads(done.stdout)["mcp_servers"]["omagy"]
    assert server["args"] == ["mcp"]
    assert {"OMAGY_RUN_ID", "OMAGY_CANDIDATE_FILE"} <= set(server["env_vars"])
    assert server["default_tools_approval_mode"] == "approve"
    assert Path(server["command"]).is_absolute()
    assert subprocess.run([server["command"], "--version"], capture_output=True).returncode == 0


def test_the_configuration_names_omagy_as_it_was_called(tmp_path: Path) -> None:
    """bin/omagy says so in OMAGY_COMMAND, perhaps relative to the current folder."""
    launcher = tmp_path / "omagy"
    launcher.write_text("#!/bin/sh\n")
    launcher.chmod(0o755)
    done = omagy("mcp", "--print-config", "json", OMAGY_COMMAND=os.path.relpath(launcher))
    assert json.loads(done.stdout) == {"mcpServers": {"omagy": {"command": str(launcher), "args": ["mcp"]}}}


def test_an_unknown_client_is_refused_with_the_nearest() -> None:
    done = omagy("mcp", "--print-config", "codx")
    assert done.returncode == 2
    assert "did you mean codex?" in done.stderr
