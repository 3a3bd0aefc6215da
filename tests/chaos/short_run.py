"""A short run that goes through every kind of decision, cheap enough to be killed dozens of times.

Agent and evaluator are shell scripts and sessions plain children. All dates are fixed, so that commit ids are the
same in every run and two runs can be compared by them.
"""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes.workspace import Workspace

_PROGRAM = Path(__file__).with_name("killing_supervisor.py")
_DATE = "2026-01-31T12:00:00Z"
_MISSION = "missions/m"
_SANDBOX = """\
---
evaluator:
  command: sh missions/m/eval.sh
  format: json
  timeout: 60s
  baseline_repeats: 1
  final_check: {check}
budget:
  max_iterations: {iterations}
---
Measures value.txt.
"""
_EVALUATOR = 'read value < value.txt; echo measuring; echo "{\\"pass\\": true, \\"score\\": $value}"\n'
_AGENT = f"""\
export GIT_AUTHOR_DATE={_DATE} GIT_COMMITTER_DATE={_DATE}
commit() {{ echo "$1" > value.txt; git add -A; git commit -q -m "value $1"; }}
artifact() {{
  printf '{{"status": "%s", "candidate_commit": %s, "base_commit": "%s", "description": "iteration %s",
    "notes": ["a note"], "created_at": "{_DATE}"}}' "$1" "$2" "$OMAGY_BASE_COMMIT" "$OMAGY_ITERATION" \\
    > "$OMAGY_CANDIDATE_FILE"
}}
candidate() {{ artifact candidate "\\"$(git rev-parse HEAD)\\""; }}
mkdir -p cache; echo "$OMAGY_ITERATION" >> cache/ignored
"""
_USUAL = """\
case $OMAGY_ITERATION in
  1) commit 2; commit 3; commit 4; candidate; echo unsaved >> value.txt; mkdir -p new; echo left > new/left.txt ;;
  2) commit 9; echo left > left.txt ;;
  3) echo left > left.txt; artifact noop null ;;
  4) commit 3; candidate; echo left > left.txt ;;
esac
"""
_ABORTING = """\
case $OMAGY_ITERATION in
  1) commit 2; candidate ;;
  *) echo half-done > value.txt; echo half > half.txt; artifact abort null ;;
esac
"""
_GIT = """\
#!/bin/sh
# omagy's own git calls (an agent's have no such variable) are counted, and one of them takes omagy with it
[ -n "$GIT_OPTIONAL_LOCKS" ] || exec REAL "$@"
read -r calls 2>/dev/null < COUNT || calls=0
calls=$((calls + 1))
echo $calls > COUNT
[ "$KILL_GIT" = before-$calls ] && kill -9 $PPID && exit 1
if [ "$KILL_GIT" = locked-$calls ]; then
  [ -z "$GIT_INDEX_FILE" ] || : > "$GIT_INDEX_FILE.lock"
  if [ -d "$GIT_DIR" ]; then : > "$GIT_DIR/index.lock"; : > "$GIT_DIR/HEAD.lock"; : > "$GIT_DIR/ORIG_HEAD.lock"; fi
  case "$*" in *" update-ref --no-deref "*)
    eval "ref=\\${$(($# - 1))}"
    mkdir -p "$GIT_COMMON_DIR/${ref%/*}"
    : > "$GIT_COMMON_DIR/$ref.lock" ;;
  esac
  kill -9 $PPID
  exit 1
fi
REAL "$@"
status=$?
[ "$KILL_GIT" = after-$calls ] && kill -9 $PPID
exit $status
"""
_ASKING = """\
case $OMAGY_ITERATION in
  1) commit 2; candidate; asked=${OMAGY_CANDIDATE_FILE%/*}/questions; mkdir -p "$asked"
     echo '{"question": "Which of the two?"}' > "$asked/q.json" ;;
esac
"""
_IMPROVING = "commit $OMAGY_ITERATION$OMAGY_ITERATION; candidate\n"
SCRIPTS = {
    "usual": (_AGENT + _USUAL, _SANDBOX.format(check="off", iterations=4)),
    "aborting": (_AGENT + _ABORTING, _SANDBOX.format(check="off", iterations=5)),
    "asking": (_AGENT + _ASKING, _SANDBOX.format(check="off", iterations=5)),
    "checked": (_AGENT + _IMPROVING, _SANDBOX.format(check="kept", iterations=1)),
}


@dataclass(frozen=True)
class Kill:
    """The supervisor dies at append ``number`` to its journal; ``moment`` as killing_supervisor.py knows it.

    ``at`` names another effect to die at: a function of omagy's, or ``git`` for its call ``number`` of git, before
    it, after it, or in it, which leaves locks.
    """

    moment: str
    number: int
    at: str = ""

    def __str__(self) -> str:
        return f"{self.at and self.at + '-'}{self.moment}-{self.number}"


UNDISTURBED = Kill("never", 0)


@dataclass(frozen=True)
class Done:
    """How one life of omagy ended; a negative ``returncode`` is the signal that killed it."""

    returncode: int
    stdout: str
    stderr: str


class Supervisors:
    """A process that has omagy loaded and starts lives of it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def live(self, order: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def _found(program: str) -> str:
    found = shutil.which(program)
    assert found is not None
    return found


class ShortRun:
    """A run of the script called ``script`` in ``ws``."""

    def __init__(self, supervisors: Supervisors, ws: Workspace, script: str = "usual") -> None:
        agent, sandbox = SCRIPTS[script]
        self._supervisors = supervisors
        self.ws = ws
        dated = {"GIT_AUTHOR_DATE": _DATE, "GIT_COMMITTER_DATE": _DATE}
        ws.environment.update(dated)
        ws.write(f"{_MISSION}/mission.md", "Make the number in value.txt better.\n")
        ws.write(f"{_MISSION}/sandbox.md", sandbox)
        ws.write(f"{_MISSION}/eval.sh", _EVALUATOR)
        ws.write(".gitignore", "cache/\n")
        ws.commit()
        self._script = ws.plan_file.with_name("agent.sh")
        self._script.write_text(agent)
        self._programs = ws.plan_file.with_name("programs")
        self._programs.mkdir()
        for name in ("sh", "mkdir"):  # without tmux, sessions are plain children
            (self._programs / name).symlink_to(_found(name))
        wrapper = self._programs / "git"
        wrapper.write_text(_GIT.replace("REAL", _found("git")).replace("COUNT", str(self._programs / "git-calls")))
        wrapper.chmod(0o755)

    @property
    def agent(self) -> str:
        return f"command:sh {self._script}"

    def launch(self, kill: Kill = UNDISTURBED) -> Done:
        return self._omagy(kill, "--foreground", "--agent", self.agent, _MISSION)

    def resume(self, kill: Kill = UNDISTURBED, *options: str) -> Done:
        return self._omagy(kill, "--foreground", *options, "--resume", self.run_id)

    def rebuild(self) -> Done:
        return self._omagy(UNDISTURBED, "rebuild", self.run_id)

    def git_calls(self) -> int:
        """How often omagy has called git."""
        return int((self._programs / "git-calls").read_text())

    @property
    def run_id(self) -> str:
        """The newest run."""
        return max(self.ws.run_ids(), key=lambda name: self.ws.folder(name).stat().st_ctime_ns)

    def _omagy(self, kill: Kill, *args: str) -> Done:
        folder = self.ws.plan_file.parent
        git_kill = {"KILL_GIT": f"{kill.moment}-{kill.number}"} if kill.at == "git" else {}
        order = {
            "moment": "never" if git_kill else kill.moment,
            "number": kill.number,
            "at": "" if git_kill else kill.at,
            "args": ["autoresearch", *args],
            "cwd": str(self.ws.root),
            "environment": {**self.ws.environment, "PATH": str(self._programs), **git_kill},
            "out": str(folder / "out"),
            "err": str(folder / "err"),
        }
        return Done(self._supervisors.live(order), (folder / "out").read_text(), (folder / "err").read_text())

    def final_state(self) -> dict[str, Any]:
        """All that two runs of the same script must agree on: without times, and with the run's name taken out."""
        ws, run_id = self.ws, self.run_id
        manifest, ledger = ws.manifest(run_id), ws.ledger(run_id)
        lane = Path(manifest["worktree_path"])
        state = {
            "manifest": {key: value for key, value in manifest.items() if key not in _PASSING},
            "ledger": [_lasting(entry) for entry in ledger["entries"]],
            "end": (ledger["lifecycle_outcome"], ledger["stop_reason"]),
            "refs": _refs(ws, run_id),
            "lane": _files(lane),
            "lane status": ws.git("status", "--porcelain", "--branch", cwd=lane),
            "evaluation": _lasting(json.loads((ws.folder(run_id) / "latest-evaluator-result.json").read_text())),
            "handoff": (ws.folder(run_id) / "handoff.md").read_text().splitlines()[2:5],
            "checkout": (_files(ws.root), ws.git("status", "--porcelain", "--branch"), ws.git("stash", "list")),
            "exclude": (ws.root / ".git/info/exclude").read_text(),
        }
        text = json.dumps(state, default=str, sort_keys=True, indent=1)
        for name, word in ((run_id, "RUN"), (manifest["run_tag"], "TAG"), (str(ws.root), "ROOT")):
            text = text.replace(name, word)
        # A question is called by the path of the session that asked it.
        return dict(json.loads(re.sub(r"q-[0-9a-f]{8}", "QUESTION", text)))


_PASSING = ("created_at", "updated_at", "completed_at", "elapsed_s")


def _lasting(entry: Any) -> Any:
    """``entry`` without what no two runs share."""
    if isinstance(entry, list):
        return [_lasting(part) for part in entry]
    if not isinstance(entry, dict):
        return entry
    return {key: _lasting(value) for key, value in entry.items() if key not in ("created_at", "duration_s")}


def _refs(ws: Workspace, run_id: str) -> dict[str, str]:
    """Every ref with its commit; leftovers, which omagy commits itself, with their tree."""
    form = "--format=%(refname) %(objectname) %(tree)"
    rows = [line.split(" ") for line in ws.git("for-each-ref", form, "refs").splitlines()]
    return {
        name: tree if "/leftovers/" in name else commit
        for name, commit, tree in rows
        if "/leftovers/resume-" not in name  # what a resume finds in the lane it saves once more, just in case
    }


def _files(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith((".git/", ".omagy/")) and name != ".git":
            found[name] = path.read_text()
    return found
