"""A scripted agent: ``--agent command:<python> scripted_agent.py <plan.json>``.

The plan maps an iteration (or ``default``) to a list of acts, each an object with one key:

``write``     {path: text}, relative to the worktree      ``sh``    a shell command in the worktree
``commit``    message: everything is added and committed   ``print`` a line
``artifact``  fields over a valid artifact; a null removes a field; HEAD and BASE are replaced by commit ids
``raw``       the artifact's file gets exactly this text   ``exit``  status
``hang``      true: say "hanging" and never end            ``kill``  true: SIGKILL to itself
``wait_for``  path: go on once it exists
"""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    acts = plan.get(os.environ["OMAGY_ITERATION"], plan.get("default", [{"artifact": {"status": "noop"}}]))
    for act in acts:
        ((verb, value),) = act.items()
        globals()[f"do_{verb}"](value)


def do_write(files: dict[str, str]) -> None:
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def do_sh(command: str) -> None:
    subprocess.run(["/bin/sh", "-c", command], check=True)


def do_commit(message: str) -> None:
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", message], check=True)


def do_print(line: str) -> None:
    print(line, flush=True)


def head() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def do_artifact(fields: dict[str, Any]) -> None:
    base = os.environ["OMAGY_BASE_COMMIT"]
    candidate = fields.get("status", "candidate") == "candidate"
    artifact: dict[str, Any] = {
        "status": "candidate",
        "candidate_commit": head() if candidate else None,
        "base_commit": base,
        "description": f"scripted iteration {os.environ['OMAGY_ITERATION']}",
        "notes": [],
        "created_at": "2026-01-31T12:00:00Z",
    }
    names = {"HEAD": head(), "BASE": base}
    artifact.update(
        {key: names.get(value, value) if isinstance(value, str) else value for key, value in fields.items()}
    )
    kept = {key: value for key, value in artifact.items() if value is not None or key == "candidate_commit"}
    do_raw(json.dumps(kept))


def do_raw(text: str) -> None:
    Path(os.environ["OMAGY_CANDIDATE_FILE"]).write_text(text)


def do_exit(status: int) -> None:
    sys.exit(status)


def do_hang(_: bool) -> None:
    do_print("hanging")
    threading.Event().wait()


def do_kill(_: bool) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def do_wait_for(path: str) -> None:
    while not Path(path).exists():
        threading.Event().wait(0.02)


if __name__ == "__main__":
    main()
