"""A scratch repository with a mission, a scripted agent and the real ``omagy``: what end-to-end tests stand on."""

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

AGENT = Path(__file__).with_name("scripted_agent.py")
EVALUATOR = """\
import json
print("measuring")
print(json.dumps({"pass": True, "score": float(open("value.txt").read())}))
"""
PATIENCE_S = 120.0
"""How long a test waits for what has to come: enough on the busiest machine, and nothing is proved by it."""
WHOLE_RUN_S = 4 * PATIENCE_S
_GONE_S = 60.0

Acts = list[dict[str, Any]]


def candidate(value: float | str, **artifact: Any) -> Acts:
    """A session that sets the score to ``value``, commits, and says so."""
    return [{"write": {"value.txt": str(value)}}, {"commit": f"value {value}"}, {"artifact": artifact}]


def noop() -> Acts:
    return [{"artifact": {"status": "noop"}}]


def wait_until(condition: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for a condition instead of a time."""
    tick = threading.Event()
    for _ in range(int(patience_s / 0.02)):
        if condition():
            return
        tick.wait(0.02)
    raise AssertionError(f"{what} did not happen within {patience_s:g} s")


def told(path: Path, patience_s: float = PATIENCE_S) -> str:
    """The line that another process writes to ``path``, once all of it is there: a file exists before its content."""

    def line() -> str:
        with suppress(FileNotFoundError):
            return path.read_text()
        return ""

    wait_until(lambda: line().endswith("\n"), f"a line in {path}", patience_s)
    return line().rstrip("\n")


def lives(pid: int) -> bool:
    """True while the process ``pid`` runs; one that only waits to be reaped does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def contents(folder: Path) -> dict[str, str]:
    """Every path below ``folder`` with its mode and what it holds: equal exactly when nothing changed."""
    return {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*"))}


def _content(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return f"link to {path.readlink()}"
    held = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(mode) else ""
    return f"{stat.filemode(mode)} {held}"


@dataclass
class Workspace:
    """``root`` is a git repository below the test's folder; ``environment`` is hermetic."""

    root: Path
    environment: dict[str, str]
    plan_file: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    # -- preparing

    def git(self, *args: str, cwd: Path | None = None) -> str:
        # A newer git tidies up in the background after a commit: its lock would come and go while files are compared.
        argv = ["git", "-c", "maintenance.auto=false", *args]
        done = subprocess.run(
            argv, cwd=cwd or self.root, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"git {args}: {done.stderr}"
        return done.stdout.strip()

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def mission(
        self, frontmatter: str = "", evaluator: str = EVALUATOR, name: str = "missions/m", evaluator_keys: str = ""
    ) -> str:
        """Write a mission whose evaluator is the Python program ``evaluator``; extra YAML as given."""
        self.write(f"{name}/mission.md", "Make the number in value.txt better.\n")
        self.write(f"{name}/eval.py", evaluator)
        keys = f"  command: {sys.executable} {name}/eval.py\n  format: json\n{evaluator_keys}"
        self.write(f"{name}/sandbox.md", f"---\nevaluator:\n{keys}{frontmatter}---\nMeasures value.txt.\n")
        return name

    def commit(self, message: str = "start") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def plan(self, **iterations: Acts) -> None:
        """What the agent does: ``plan(i1=candidate(2), i2=noop(), default=…)``."""
        named = {key.removeprefix("i") if key != "default" else key: acts for key, acts in iterations.items()}
        self.plan_file.write_text(json.dumps(named))

    @property
    def agent(self) -> str:
        return f"command:{sys.executable} {AGENT} {self.plan_file}"

    # -- running omagy

    def omagy(
        self, *args: str, cwd: Path | None = None, timeout: float = WHOLE_RUN_S, prefix: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run omagy to its end, without a terminal; ``prefix`` is the command that starts it."""
        return subprocess.run(
            [*prefix, sys.executable, "-m", "omagy_supervisor", *args],
            cwd=cwd or self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        )

    def unprivileged(self, *args: str) -> subprocess.CompletedProcess[str]:
        """As ``omagy``, by somebody whom permissions hold, root too."""
        return self.omagy(*args, prefix=without_override(), timeout=PATIENCE_S)

    def launch(self, *options: str, mission: str = "missions/m") -> subprocess.CompletedProcess[str]:
        """A run in the foreground, to its end, with the scripted agent."""
        return self.omagy("autoresearch", "--foreground", "--agent", self.agent, *options, mission)

    def resume(self, run_id: str, *options: str) -> subprocess.CompletedProcess[str]:
        return self.omagy("autoresearch", "--foreground", *options, "--resume", run_id)

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start omagy and go on; ended with the workspace."""
        process = subprocess.Popen(
            [sys.executable, "-m", "omagy_supervisor", *args],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def start_launch(self, *options: str, mission: str = "missions/m") -> subprocess.Popen[str]:
        return self.start("autoresearch", "--foreground", "--agent", self.agent, *options, mission)

    # -- reading what it left

    @property
    def runs(self) -> Path:
        return self.root / ".omagy" / "logs" / "autoresearch"

    def run_ids(self) -> list[str]:
        return sorted(path.name for path in self.runs.iterdir()) if self.runs.is_dir() else []

    def run_id(self) -> str:
        (run_id,) = self.run_ids()
        return run_id

    def folder(self, run_id: str | None = None) -> Path:
        return self.runs / (run_id or self.run_id())

    def manifest(self, run_id: str | None = None) -> dict[str, Any]:
        return dict(json.loads((self.folder(run_id) / "manifest.json").read_text()))

    def ledger(self, run_id: str | None = None) -> dict[str, Any]:
        return dict(json.loads((self.folder(run_id) / "iteration-ledger.json").read_text()))

    def decisions(self, run_id: str | None = None) -> list[str]:
        return [entry["decision"] for entry in self.ledger(run_id)["entries"]]

    def lane(self, run_id: str | None = None) -> Path:
        return Path(self.manifest(run_id)["worktree_path"])

    def wait_for_run(self) -> str:
        wait_until(lambda: bool(self.run_ids()) and (self.folder() / "manifest.json").exists(), "the run's manifest")
        return self.run_id()

    def wait_for_session(self, iteration: int = 1, text: str = "hanging", run_id: str | None = None) -> None:
        """Wait until the session of ``iteration`` has shown ``text``."""
        log = self.folder(run_id) / f"iterations/{iteration:04d}/session.log"
        wait_until(
            lambda: log.exists() and text in log.read_text(errors="replace"),  # it may end within a letter
            f"{text!r} in the session of iteration {iteration}",
        )

    def users_side(self) -> dict[str, str]:
        """All of the repository that a run may not touch: checkout, index, HEAD, config, hooks, stash, refs."""
        ours = (
            *(".omagy", ".git/omagy", ".git/objects", ".git/worktrees", ".git/info/exclude", ".git/refs/omagy"),
            *(".git/refs/heads/autoresearch", ".git/logs/refs/heads/autoresearch"),
        )
        found = contents(self.root)
        return {
            path: held for path, held in found.items() if not any(f"{path}/".startswith(f"{own}/") for own in ours)
        }

    # -- leaving nothing behind

    def own_processes(self) -> list[psutil.Process]:
        """Living processes that were started in this workspace's environment."""
        found = []
        for process in psutil.process_iter():
            try:
                ours = process.environ().get("WORKSPACE_OF_TEST") == self.environment["WORKSPACE_OF_TEST"]
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def running(self) -> list[str]:
        """The command lines of living processes of this workspace, tmux itself left out."""
        found = []
        for process in self.own_processes():
            with suppress(psutil.Error):
                if "tmux" not in process.name():
                    found.append(" ".join(process.cmdline()))
        return found

    def wait_for_quiet(self) -> list[str]:
        """The command lines of what still runs after everything that was ended has had the time to be gone.

        A process that was killed is there until the system comes to it.
        """
        left: list[str] = []

        def quiet() -> bool:
            left[:] = self.running()
            return not left

        with suppress(AssertionError):
            wait_until(quiet, "the end of all processes", _GONE_S)
        return left

    def kill_all(self) -> None:
        """Kill every process of the workspace at once, without letting one of them react."""
        own = self.own_processes()
        for act in (psutil.Process.suspend, psutil.Process.kill):
            for process in own:
                with suppress(psutil.Error):  # one may end while we are at it
                    act(process)
        wait_until(lambda: not any(lives(process.pid) for process in own), "the end of everything")

    def tmux(self, *args: str) -> subprocess.CompletedProcess[str]:
        socket = self.environment["OMAGY_TMUX_SOCKET"]
        return subprocess.run(
            [shutil.which("tmux") or "tmux", "-L", socket, *args],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def close(self) -> list[str]:
        """End everything; returns the command lines of what should not have been there any more."""
        started = [process for process in self.processes if process.poll() is None]
        for process in started:
            process.kill()
        for process in self.processes:
            process.communicate()
        if any(Path(self.environment["TMUX_TMPDIR"]).iterdir()):
            self.tmux("kill-server")
        if not self.own_processes():
            return []
        left = [] if started else self.wait_for_quiet()
        with suppress(AssertionError):
            wait_until(self._strays_are_gone, "the end of what was killed", _GONE_S)
        return left

    def _strays_are_gone(self) -> bool:
        """Kill what there is; whoever is told of it may start something else in its last moment."""
        strays = self.own_processes()
        for stray in strays:
            with suppress(psutil.Error):
                stray.kill()
        return not strays


def without_override() -> tuple[str, ...]:
    """A command prefix under which permission bits hold for root too; a test that needs one is skipped without."""
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root without setpriv: permission bits do not hold")
    return (setpriv, "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")


@contextmanager
def workspace(folder: Path, name: str = "repo") -> Iterator[Workspace]:
    """A workspace below ``folder``; at its end nothing of it runs any more, or the test fails."""
    root = folder / name
    root.mkdir()
    home = folder / "home"
    home.mkdir()
    config = home / ".gitconfig"
    config.write_text(
        "[user]\n\tname = Test Person\n\temail = person@example.invalid\n[init]\n\tdefaultBranch = main\n"
    )
    # A socket's path is limited to about a hundred bytes, so tmux gets a short folder of its own, wherever TMPDIR is.
    sockets = tempfile.mkdtemp(prefix="omagy-t", dir="/tmp")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "TMPDIR": str(folder),
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "TMUX_TMPDIR": sockets,
        "OMAGY_TMUX_SOCKET": "test",
        "WORKSPACE_OF_TEST": sockets,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    made = Workspace(root, environment, folder / "plan.json")
    made.git("init", "-q", "-b", "main")
    made.write("value.txt", "1\n")
    try:
        yield made
    finally:
        left = made.close()
        shutil.rmtree(sockets, ignore_errors=True)
    assert not left, f"still running after the test: {left}"
