"""Every refusal comes before anything is created, says what is wrong and where, and how to mend it."""

import os
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from fakes.workspace import EVALUATOR, PATIENCE_S, Workspace, candidate, contents, without_override

HEAD = "evaluator:\n  command: python eval.py\n  format: json\n"


def refused(
    ws: Workspace,
    *words: str,
    status: int = 2,
    args: tuple[str, ...] | None = None,
    mission: str = "missions/m",
    prefix: tuple[str, ...] = (),
) -> str:
    """Launch, and expect a refusal that says ``words`` and leaves every file on disk as it was."""
    before = contents(ws.root.parent)
    words_of_launch = ("autoresearch", "--foreground", "--agent", ws.agent, mission) if args is None else args
    done = ws.omagy(*words_of_launch, prefix=prefix, timeout=PATIENCE_S)
    assert done.returncode == status, done.stderr
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert contents(ws.root.parent) == before
    return done.stderr


def ready(ws: Workspace) -> None:
    """A workspace that would run."""
    ws.mission("budget:\n  max_iterations: 1\n")
    ws.commit()
    ws.plan(default=candidate(2))


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


# -- the place


def test_a_folder_outside_of_git_is_refused(ws: Workspace) -> None:
    """Without a repository around the mission nothing starts, and the message shows how to make one."""
    ready(ws)
    shutil.rmtree(ws.root / ".git")
    refused(ws, "missions/m is not inside a git repository", "git init && git add -A && git commit")


def test_a_repository_without_a_commit_is_refused(ws: Workspace) -> None:
    """A run starts from a commit, so a repository that has none is refused with the command that makes one."""
    ws.mission()
    ws.plan()
    refused(ws, "has no commit yet", "git add -A && git commit")


def test_bare_repositories_and_git_folders_are_refused(ws: Workspace) -> None:
    """A mission cannot lie in a bare repository, nor inside a .git folder."""
    ready(ws)
    shutil.copytree(ws.root / "missions", ws.root / ".git" / "missions")
    refused(ws, "inside a .git folder", "work tree", mission=".git/missions/m")
    bare = ws.root.parent / "bare.git"
    ws.git("clone", "-q", "--bare", str(ws.root), str(bare))
    shutil.copytree(ws.root / "missions", bare / "missions")
    refused(ws, "is in a bare repository", "clone or worktree", mission=str(bare / "missions" / "m"))


def test_a_mission_behind_a_link_that_leads_out_of_the_repository_is_refused(ws: Workspace) -> None:
    """A link inside the repository does not bring a mission of another place into it."""
    ready(ws)
    outside = ws.root.parent / "outside"
    shutil.copytree(ws.root / "missions", outside)
    (ws.root / "linked").symlink_to(outside / "m")
    (ws.root / "folder").symlink_to(outside)
    refused(
        ws, "linked points outside the repository", "put the mission folder into the repository", mission="linked"
    )
    refused(ws, "folder/m points outside the repository", "put the mission folder into", mission="folder/m")
    subprocess.run(["git", "init", "-q", str(outside)], env=ws.environment, check=True)
    refused(
        ws, "linked points outside the repository", "put the mission folder into the repository", mission="linked"
    )
    refused(ws, "is not inside a git repository", mission=str(ws.root.parent / "home"))


def test_a_mission_folder_that_git_ignores_is_refused(ws: Workspace) -> None:
    """The message names the ignore rule with file and line."""
    ws.mission()
    ws.write(".gitignore", "# mine\nmissions/\n")
    ws.commit()
    ws.plan()
    refused(
        ws, "git ignores the mission folder missions/m (.gitignore:2:missions/)", "take it out of the ignore rule"
    )


def test_a_mission_must_be_a_folder_of_its_own(ws: Workspace) -> None:
    """The repository's root, a file and a missing folder are no missions."""
    ready(ws)
    for name in ("mission.md", "sandbox.md"):
        shutil.copy(ws.root / "missions" / "m" / name, ws.root / name)
    refused(ws, ". is the root of the repository", "missions/<name>", mission=".")
    refused(ws, "missions/m/mission.md is a file, not a mission folder", mission="missions/m/mission.md")
    refused(ws, "nowhere does not exist", "mission.md and sandbox.md", mission="nowhere")


@pytest.mark.parametrize("blocker", ["autoresearch", "autoresearch/m"])
def test_a_branch_that_stands_in_the_way_of_the_lanes_is_refused(ws: Workspace, blocker: str) -> None:
    """git cannot hold a branch and a folder of branches of the same name; the message renames it."""
    ready(ws)
    ws.git("branch", blocker)
    refused(ws, f"a branch named {blocker} exists", f"git branch -m {blocker} {blocker}-old")


def test_a_lane_is_no_place_to_launch_from_and_sessions_start_no_runs(ws: Workspace) -> None:
    """Runs do not nest: neither from the worktree of one, nor from inside its session."""
    ready(ws)
    assert ws.launch().returncode == 0
    lane = ws.lane()
    refused(ws, "is the lane of a run", "your own checkout", mission=str(lane / "missions" / "m"))
    ws.environment["OMAGY_RUN_ID"] = ws.run_id()
    refused(ws, f"this is a session of run {ws.run_id()}", "a shell of your own")
    refused(ws, "runs do not start runs", args=("autoresearch", "--resume", ws.run_id()))
    del ws.environment["OMAGY_RUN_ID"]


def test_a_read_only_file_system_is_not_called_a_matter_of_permissions(ws: Workspace) -> None:
    """No chmod helps there."""
    ready(ws)
    mount = 'mount --bind "$PWD" "$PWD" && mount -o remount,bind,ro "$PWD" && cd "$PWD" && exec "$@"'
    prefix = ("unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh")
    refused(ws, "is on a file system that is mounted read-only", "clone the repository", prefix=prefix)


@pytest.mark.parametrize("place", [".", "..", ".git"])
def test_a_place_that_cannot_be_written_is_refused(ws: Workspace, place: str) -> None:
    """Repository, git folder and the folder for the worktree must be writable, for root in a container too."""
    ready(ws)
    folder = (ws.root / place).resolve()
    mode = stat.S_IMODE(folder.stat().st_mode)
    folder.chmod(0o555)
    try:
        refused(
            ws,
            f"{folder} (",
            "is not writable for you",
            f"chmod u+w {shlex.quote(str(folder))}",
            prefix=without_override(),
        )
    finally:
        folder.chmod(mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
def test_a_repository_of_another_user_is_refused_until_it_is_declared_safe(ws: Workspace) -> None:
    """git's guard against foreign repositories stands, and the command that the message names lifts it."""
    ready(ws)
    for path in (ws.root, ws.root / ".git"):
        os.chown(path, 12345, 12345)
    refused(ws, "belongs to another user", f"git config --global --add safe.directory {ws.root}\n")
    ws.git("config", "--global", "--add", "safe.directory", str(ws.root))
    assert ws.launch().returncode == 0
    for path in (ws.root, ws.root / ".git"):
        os.chown(path, 0, 0)


# -- the programs


def test_programs_that_are_missing_or_too_old_are_named_with_the_way_to_get_them(ws: Workspace) -> None:
    """git, tmux and Codex are looked for before anything is made; --foreground does without tmux."""
    ready(ws)
    ws.plan(default=candidate(2))
    tools, path = ws.root.parent / "tools", ws.environment["PATH"]
    in_tmux = ("autoresearch", "--detach", "--agent", ws.agent, "missions/m")
    with_codex = ("autoresearch", "--foreground", "missions/m")

    program(tools, "git", "echo git version 2.20.1")
    ws.environment["PATH"] = f"{tools}:{path}"
    refused(ws, "git 2.20.1 is too old: omagy needs git 2.31 or newer", "upgrade git")
    (tools / "git").unlink()

    program(tools, "tmux", "echo tmux 2.9a")
    refused(ws, "tmux 2.9a is too old: omagy needs tmux 3.0 or newer", "--foreground", args=in_tmux)
    (tools / "tmux").unlink()

    ws.environment["PATH"] = str(tools)
    refused(ws, "git is not installed", "apt install git", status=3)
    (tools / "git").symlink_to(shutil.which("git", path=path) or "")
    refused(ws, "tmux is not installed", "apt install tmux", "--foreground", args=in_tmux, status=3)
    refused(ws, "codex is not on PATH", "npm install -g @openai/codex", args=with_codex, status=3)
    ws.environment["OMAGY_CODEX"] = "/nowhere/codex"
    refused(ws, "OMAGY_CODEX names /nowhere/codex, which cannot be run", args=with_codex, status=3)

    for name in ("sh", "env"):
        (tools / name).symlink_to(shutil.which(name, path=path) or "")
    without_tmux = ws.launch()
    assert without_tmux.returncode == 0, without_tmux.stderr
    assert "tmux is not installed; sessions run as plain child processes" in without_tmux.stderr
    assert ws.decisions() == ["baseline", "keep"]
    ws.environment["PATH"] = path


# -- the mission's files


@pytest.mark.parametrize(
    ("sandbox", "words"),
    [
        pytest.param(
            "no frontmatter\n", ("sandbox.md:1: it does not begin with YAML frontmatter", "command:"), id="no"
        ),
        pytest.param(f"---\n{HEAD}", ("sandbox.md:1: the frontmatter is not closed", "just ---"), id="open"),
        pytest.param("---\nevaluator: [\n---\n", ("sandbox.md:3: the frontmatter is not valid YAML",), id="yaml"),
        pytest.param("---\na: 1\na: 2\n---\n", ("sandbox.md:3: the frontmatter is not valid YAML",), id="twice"),
        pytest.param("---\n- a\n---\n", ("sandbox.md:2: the frontmatter is not a block of keys",), id="list"),
        pytest.param("---\nbudget: {}\n---\n", ("the frontmatter has no evaluator block", "command:"), id="bare"),
        pytest.param("---\nevaluator: yes\n---\n", ("sandbox.md:2: evaluator: must be a block",), id="text"),
        pytest.param(
            "---\nevaluator:\n  format: json\n---\n", ("sandbox.md:2: evaluator: command is missing",), id="command"
        ),
        pytest.param(
            f"---\n{HEAD}  keep_polcy: pass_only\n---\n",
            ("sandbox.md:5: evaluator.keep_polcy: unknown key, did you mean keep_policy?", "known keys: command"),
            id="typo",
        ),
        pytest.param(
            f"---\n{HEAD}bugdet:\n  max_iterations: 3\n---\n",
            ("sandbox.md:5: bugdet: unknown key, did you mean budget?",),
            id="block typo",
        ),
        pytest.param(
            f"---\n{HEAD}  direction: minimise\n---\n",
            ("sandbox.md:5: evaluator.direction: must be maximize or minimize, did you mean minimize?",),
            id="value typo",
        ),
        pytest.param(
            f"---\n{HEAD}  timeout: 90\n---\n",
            ("sandbox.md:5: evaluator.timeout: must be a duration such as 90s, 10m or 2h", "it is 90"),
            id="no unit",
        ),
        pytest.param(
            f"---\n{HEAD}budget:\n  max_iterations: 0\n---\n",
            ("sandbox.md:6: budget.max_iterations: must be a whole number of at least 1 (it is 0)",),
            id="zero",
        ),
        pytest.param(
            f"---\n{HEAD}guard: {{}}\n---\n",
            ("sandbox.md:5: guard: command is missing", "add `command:` below guard"),
            id="part missing",
        ),
        pytest.param(
            f"---\n{HEAD}agent:\n  rehearsal: nowhere\n---\n",
            ("sandbox.md:6: agent.rehearsal: there is no folder nowhere",),
            id="rehearsal",
        ),
    ],
)
def test_a_mistake_in_sandbox_md_is_named_with_file_line_and_key(
    ws: Workspace, sandbox: str, words: tuple[str, ...]
) -> None:
    """What is wrong in the frontmatter is refused with its place and the nearest known word."""
    ready(ws)
    ws.write("missions/m/sandbox.md", sandbox)
    refused(ws, *words)


def test_a_mission_without_its_files_is_refused(ws: Workspace) -> None:
    """mission.md and sandbox.md must be there, say something, and be UTF-8 texts of a sane size."""
    ready(ws)
    mission, sandbox = ws.root / "missions/m/mission.md", ws.root / "missions/m/sandbox.md"
    good = sandbox.read_bytes()
    sandbox.write_bytes(b"---\nevaluator:\n  command: \xff\n---\n")
    refused(ws, "missions/m/sandbox.md:3: it is not UTF-8", "save the file as UTF-8")
    sandbox.unlink()
    refused(ws, "missions/m/sandbox.md is missing", "how a candidate is measured")
    sandbox.mkdir()
    refused(ws, "missions/m/sandbox.md: it is not a regular file")
    sandbox.rmdir()
    sandbox.write_bytes(good)
    mission.write_text(" \n")
    refused(ws, "missions/m/mission.md is empty", "what should get better")
    mission.write_bytes(b"x" * (1 << 20 | 1))
    refused(ws, "missions/m/mission.md is larger than 1 MiB")
    mission.unlink()
    os.mkfifo(mission)
    refused(ws, "missions/m/mission.md: it is not a regular file")
    mission.unlink()
    refused(ws, "missions/m/mission.md is missing", "what should get better")


def test_a_mission_file_with_byte_order_mark_windows_lines_and_keys_of_the_users_own_runs(ws: Workspace) -> None:
    """What editors leave in a file is tolerated, and a key that is not ours is mentioned once."""
    ready(ws)
    path = ws.root / "missions/m/sandbox.md"
    text = path.read_text().replace("format: json\n", "format: json\nowner: me\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    done = ws.launch()
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("keys that omagy does not read (kept as yours): owner") == 1


# -- the command line


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("autoresarch",), ("there is no command autoresarch, did you mean autoresearch?",)),
        (("autoresearch",), ("a mission folder is missing", "omagy autoresearch <mission-dir>")),
        (("autoresearch", "--max-iteration", "3", "missions/m"), ("did you mean --max-iterations?",)),
        (("autoresearch", "--frobnicate", "missions/m"), ("unknown option --frobnicate", "stand after")),
        (("autoresearch", "missions/m", "--foreground"), ("stands where everything goes to Codex", "put it before")),
        (("autoresearch", "--max-iterations"), ("--max-iterations needs a value", "for example")),
        (("autoresearch", "--max-iterations", "0", "missions/m"), ("--max-iterations: '0' is not a whole number",)),
        (("autoresearch", "--max-wall-time", "8", "missions/m"), ("--max-wall-time: ",)),
        (("autoresearch", "--target-score", "nan", "missions/m"), ("--target-score: 'nan' is not a number",)),
        (("autoresearch", "--agent", "gpt", "missions/m"), ("--agent gpt: there is no such agent", "rehearsal")),
        (("autoresearch", "--agent", "rehearsal", "missions/m"), ("nothing to rehearse", "missions/quickstart")),
        (("autoresearch", "--codex-sandbox", "on", "missions/m"), ("--codex-sandbox on: choose workspace, off",)),
        (("autoresearch", "statsu"), ("statsu does not exist, did you mean status?",)),
        (("autoresearch", "stop", "--after-iterations"), ("did you mean --after-iteration?",)),
        (("autoresearch", "stop", "--after"), ("did you mean --after-iteration?",)),
        (("autoresearch", "--max-iter", "3", "missions/m"), ("did you mean --max-iterations?",)),
        (("autoresearch", "--json", "missions/m"), ("--json means nothing", "status --json")),
        (("autoresearch", "list", "--jsno"), ("list has no option --jsno, did you mean --json?",)),
        (("autoresearch", "status", "a", "b"), ("status takes one run at most",)),
        (("autoresearch", "rebuild"), ("rebuild needs a run id", "omagy autoresearch list")),
        (("autoresearch", "rebuild", "x"), ("there is no run x", "omagy autoresearch list")),
        (("autoresearch", "status"), ("there are no runs in", "omagy autoresearch <mission-dir>")),
        (("autoresearch", "watch", "x"), ("there is no run x", "there are no runs in this repository")),
        (("autoresearch", "attach", "x"), ("there is no run x",)),
        (("autoresearch", "stop"), ("no run is active", "omagy autoresearch list")),
        (("autoresearch", "--resume", "x"), ("there is no run x", "there are no runs in this repository")),
        (("autoresearch", "--resume", "../x"), ("there is no run ../x",)),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_a_command_line_that_cannot_be_meant_is_refused_with_a_suggestion(
    ws: Workspace, args: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """A word that omagy does not know is never guessed, and looking for runs where there are none creates nothing."""
    ready(ws)
    refused(ws, *words, args=args)


def test_settings_in_the_environment_that_make_no_sense_are_refused(ws: Workspace) -> None:
    """The message names the variable."""
    ready(ws)
    ws.environment["OMAGY_PAUSE_SCALE"] = "fast"
    refused(ws, "OMAGY_PAUSE_SCALE is 'fast': it must be a number")
    del ws.environment["OMAGY_PAUSE_SCALE"]
    socket = ws.environment["OMAGY_TMUX_SOCKET"]
    ws.environment["OMAGY_TMUX_SOCKET"] = "/tmp/x"
    refused(ws, "OMAGY_TMUX_SOCKET is '/tmp/x': it is a name")
    ws.environment["OMAGY_TMUX_SOCKET"] = socket


def test_an_error_has_a_traceback_only_with_debug(ws: Workspace) -> None:
    """A person gets words; --debug adds where they came from."""
    ws.mission(evaluator=EVALUATOR)
    done = ws.omagy("autoresearch", "--debug", "--foreground", "--agent", "command:true", "missions/m")
    assert done.returncode == 2
    assert "Traceback" in done.stderr
    assert "has no commit yet" in done.stderr
