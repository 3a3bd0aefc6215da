"""The real Codex, driven through its adapter against a scripted server, in a linked worktree of a real repository."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import psutil
import pytest

from fakes.codex_home import KEY_VARIABLE, CodexHome, ToolMode, codex_for_tests, make_codex_home
from fakes.responses_server import (
    TOKENS_CACHED,
    TOKENS_IN,
    TOKENS_OUT,
    TOKENS_REASONING,
    Disconnect,
    Failed,
    Hang,
    Held,
    HttpError,
    Message,
    Patch,
    ResponsesServer,
    Shell,
    Step,
    responses_server,
)
from omagy_autoresearch.errors import BlockedError
from omagy_autoresearch.sessions import Diagnosis, EndingKind, Usage
from omagy_supervisor.adapters.codex.agent import CodexAgent, Sandbox
from omagy_supervisor.adapters.codex.install import codex_version, looks_logged_in
from omagy_supervisor.agents import SessionExit, SessionSpec

NOW = datetime.now(UTC)
LIMIT_S = 120.0
BRANCH = "autoresearch/m/r1"

Meanwhile = Callable[["subprocess.Popen[bytes]"], object]


def _now() -> datetime:
    return NOW


@pytest.fixture(scope="session")
def codex() -> Path:
    return codex_for_tests()


@pytest.fixture
def server() -> Iterator[ResponsesServer]:
    with responses_server() as running:
        yield running


class Lane:
    """A repository with a linked worktree, and everything a session in it needs."""

    def __init__(self, folder: Path, codex: Path, server: ResponsesServer) -> None:
        self.folder, self.codex, self.server = folder, codex, server
        self.checkout = folder / "repo"
        self.worktree = folder / "repo.omagy-worktrees/lane"
        self._make_repository()

    def _make_repository(self) -> None:
        (self.folder / "user").mkdir(parents=True)
        self.git("init", "-q", "-b", "main", str(self.checkout), cwd=self.folder)
        (self.checkout / "tracked.txt").write_text("base\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "base")
        self.git("branch", "other")
        self.git("worktree", "add", "-q", "-b", BRANCH, str(self.worktree))

    def git(self, *args: str, cwd: Path | None = None) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "user"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "t",
            "GIT_AUTHOR_EMAIL": "t@example.org",
            "GIT_COMMITTER_NAME": "t",
            "GIT_COMMITTER_EMAIL": "t@example.org",
        }
        argv = ["git", "-C", str(cwd or self.checkout), *args]
        return subprocess.run(argv, env=environment, check=True, capture_output=True, text=True).stdout.strip()

    def spec(self, home: CodexHome) -> SessionSpec:
        attempt, outbox = self.folder / "attempt", self.checkout / ".omagy/outbox"
        attempt.mkdir()
        instructions = self.folder / "instructions.md"
        instructions.write_text("improve it")
        candidate = outbox / "candidate.json"
        return SessionSpec(
            run_id="m-r1",
            iteration=1,
            attempt=1,
            worktree=self.worktree,
            git_dir=self.checkout / ".git/worktrees/lane",
            common_dir=self.checkout / ".git",
            branch=BRANCH,
            base_commit=self.git("rev-parse", BRANCH),
            folder=attempt,
            outbox=outbox,
            candidate_file=candidate,
            instructions_file=instructions,
            environment={
                **home.environment,
                "OMAGY_CANDIDATE_FILE": str(candidate),
                "GIT_AUTHOR_NAME": "agent",
                "GIT_AUTHOR_EMAIL": "agent@example.org",
                "GIT_COMMITTER_NAME": "agent",
                "GIT_COMMITTER_EMAIL": "agent@example.org",
                "GIT_CONFIG_COUNT": "2",
                "GIT_CONFIG_KEY_0": "core.hooksPath",
                "GIT_CONFIG_VALUE_0": "/dev/null",
                "GIT_CONFIG_KEY_1": "commit.gpgSign",
                "GIT_CONFIG_VALUE_1": "false",
            },
        )

    def session(self, *steps: Step, mode: ToolMode = "plain") -> SessionSpec:
        """A session that is to go through ``steps``."""
        return self.spec(make_codex_home(self.folder / "codex", self.server.play(*steps), mode))

    def agent(self, *args: str, sandbox: Sandbox = "workspace") -> CodexAgent:
        return CodexAgent(self.codex, args, sandbox, now=_now)

    def run(
        self, spec: SessionSpec, *args: str, sandbox: Sandbox = "workspace", meanwhile: Meanwhile = lambda _: None
    ) -> Diagnosis:
        agent = self.agent(*args, sandbox=sandbox)
        return agent.diagnose(spec, _run(agent, spec, meanwhile))

    def tool_outputs(self) -> str:
        """What the session's commands printed, as the model saw it."""
        return "\n".join(self.server.requests[-1].tool_outputs())


def _run(agent: CodexAgent, spec: SessionSpec, meanwhile: Meanwhile) -> SessionExit:
    """Run a session as the supervisor would, in a process group that ends with it."""
    command = agent.command(spec)
    assert command.stdin_file is not None
    began = monotonic()
    with (
        command.stdin_file.open("rb") as instructions,
        spec.events_file.open("wb") as events,
        spec.stderr_file.open("wb") as errors,
        subprocess.Popen(
            command.argv,
            cwd=spec.worktree,
            env=dict(command.environment),
            stdin=instructions,
            stdout=events,
            stderr=errors,
            start_new_session=True,
        ) as process,
    ):
        try:
            meanwhile(process)
            status = process.wait(LIMIT_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return SessionExit(status if status >= 0 else None, -status if status < 0 else None, monotonic() - began)


@pytest.fixture
def lane(tmp_path: Path, codex: Path, server: ResponsesServer) -> Iterator[Lane]:
    """Nothing of it is left: a sandbox that loses its Codex while it is being set up waits for it for ever."""
    yield Lane(tmp_path, codex, server)
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("TMPDIR", "").startswith(f"{tmp_path}/"):
                process.kill()


@pytest.fixture(scope="session")
def sandbox(codex: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests that need Codex's sandbox fail where it cannot work, unless the machine is declared to have none."""
    folder = tmp_path_factory.mktemp("sandbox")
    home = make_codex_home(folder, "http://127.0.0.1:9/v1")
    argv = [str(codex), "sandbox", "-P", ":workspace", "--", "true"]
    tried = subprocess.run(
        argv, env=dict(home.environment), cwd=folder, capture_output=True, text=True, timeout=LIMIT_S
    )
    if tried.returncode == 0:
        return
    if os.environ.get("OMAGY_TEST_CODEX_SANDBOX") == "none":
        pytest.skip("OMAGY_TEST_CODEX_SANDBOX=none declares that this machine has no sandbox for Codex")
    pytest.fail(
        f"Codex's sandbox does not work on this machine: {tried.stderr.strip()}\n"
        "Allow unprivileged user namespaces (Ubuntu: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0), "
        "or declare the lack with OMAGY_TEST_CODEX_SANDBOX=none."
    )


COMMIT = 'echo better > tracked.txt && git commit -qam better && echo "{\\"commit\\": 1}" > "$OMAGY_CANDIDATE_FILE"'
ADD_FILE = "*** Begin Patch\n*** Add File: added.txt\n+hello\n*** End Patch"


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("mode", ["plain", "code"])
def test_a_session_commits_on_its_lane_and_hands_in_its_candidate(lane: Lane, mode: ToolMode) -> None:
    """In both of Codex's tool modes a session edits, commits on the lane's branch and writes the candidate file."""
    spec = lane.session(Patch(ADD_FILE), Shell("git add added.txt; " + COMMIT), Message("done"), mode=mode)
    found = lane.run(spec)
    assert found.ending.kind is EndingKind.COMPLETED
    assert lane.server.requests[0].code_mode == (mode == "code")
    assert lane.git("rev-list", "--count", f"{spec.base_commit}..{BRANCH}") == "1"
    assert lane.git("diff", "--name-only", f"{spec.base_commit}..{BRANCH}") == "added.txt\ntracked.txt"
    assert spec.candidate_file.read_text() == '{"commit": 1}\n'
    assert (spec.folder / "last-message.txt").read_text() == "done"
    assert found.thread_id
    requests = len(lane.server.requests)
    assert found.usage == Usage(
        *(requests * each for each in (TOKENS_IN, TOKENS_CACHED, TOKENS_OUT, TOKENS_REASONING))
    )


@pytest.mark.usefixtures("sandbox")
def test_the_users_hooks_and_signing_do_not_reach_a_sessions_commits(lane: Lane) -> None:
    """git's configuration from the environment reaches the session's commands whole, although it is named KEY."""
    hook = lane.checkout / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    lane.git("config", "commit.gpgSign", "true")
    spec = lane.session(Shell(COMMIT), Message("done"))
    lane.run(spec)
    assert lane.git("rev-list", "--count", f"{spec.base_commit}..{BRANCH}") == "1", lane.tool_outputs()


@pytest.mark.usefixtures("sandbox")
def test_a_session_commits_after_refs_were_packed(lane: Lane) -> None:
    """Packing removes the empty folders that the permissions name; the next session works all the same."""
    spec = lane.session(Shell(COMMIT), Message("done"))
    lane.git("pack-refs", "--all")
    shutil.rmtree(spec.common_dir / "refs/heads/autoresearch", ignore_errors=True)
    lane.run(spec)
    assert lane.git("rev-list", "--count", f"{spec.base_commit}..{BRANCH}") == "1", lane.tool_outputs()


FORBIDDEN = {
    "a file of the checkout": "echo x > {checkout}/tracked.txt",
    "a new file beside the lane": "touch {worktree}/../new",
    "another branch": "git update-ref refs/heads/other $(git commit-tree -m x HEAD^{{tree}})",
    "a new branch": "git branch new",
    "the branch of the checkout": "git update-ref refs/heads/main $(git commit-tree -m x HEAD^{{tree}})",
    "git's configuration": "git config core.fsmonitor evil",
    "a hook": "echo evil > {checkout}/.git/hooks/post-checkout",
    "the lane's way to its repository": "echo evil > {checkout}/.git/worktrees/lane/commondir",
}


def _attempts(lane: Lane) -> Shell:
    """Try all that is forbidden, saying what worked; the last of them cuts the lane off from its repository."""
    (lane.checkout / ".git/hooks").mkdir(exist_ok=True)
    commands = (each.format(checkout=lane.checkout, worktree=lane.worktree) for each in FORBIDDEN.values())
    tries = [f"({command}) && echo 'WROTE {what}'" for what, command in zip(FORBIDDEN, commands, strict=True)]
    return Shell("; ".join([*tries, "echo tried"]))


@pytest.mark.usefixtures("sandbox")
def test_a_session_cannot_write_anything_else(lane: Lane) -> None:
    """The user's checkout, other branches, git's configuration and hooks stay as they were."""
    spec = lane.session(_attempts(lane), Message("done"))
    lane.run(spec)
    assert "tried" in lane.tool_outputs()
    assert "WROTE" not in lane.tool_outputs()
    assert (lane.checkout / "tracked.txt").read_text() == "base\n"
    assert lane.git("rev-parse", "main", "other").split() == [spec.base_commit] * 2


def test_without_a_sandbox_the_same_attempts_succeed(lane: Lane) -> None:
    """The list of forbidden things is worth something: without our permissions a session can do each of them."""
    lane.run(lane.session(_attempts(lane), Message("done")), sandbox="off")
    assert lane.tool_outputs().count("WROTE") == len(FORBIDDEN), lane.tool_outputs()


def _with_environment(spec: SessionSpec, **variables: str) -> SessionSpec:
    return replace(spec, environment={**spec.environment, **variables})


@pytest.mark.parametrize("sandbox", ["workspace", "off"])
def test_secrets_are_hidden_from_commands(lane: Lane, sandbox: Sandbox) -> None:
    """Keys, tokens, secrets and what the user hides himself do not reach commands; omagy's own variables do."""
    spec = _with_environment(
        lane.session(Shell("env"), Message("done")),
        MY_TOKEN="hush-1",
        DB_SECRET="hush-2",
        PRIVATE="hush-3",
        PLAIN="p-4",
    )
    home = Path(spec.environment["CODEX_HOME"])
    with (home / "config.toml").open("a") as config:
        config.write('[shell_environment_policy]\nexclude = ["PRIVATE"]\n')
    lane.run(spec, sandbox=sandbox)
    seen = lane.tool_outputs()
    assert "hush-" not in seen
    assert spec.environment[KEY_VARIABLE] not in seen
    assert "PLAIN=p-4" in seen
    assert "GIT_CONFIG_KEY_0=core.hooksPath" in seen
    assert f"OMAGY_CANDIDATE_FILE={spec.candidate_file}" in seen


@pytest.mark.usefixtures("sandbox")
def test_the_login_is_hidden_from_commands(lane: Lane) -> None:
    """A session's commands cannot read the file with the user's login."""
    spec = lane.session(Shell("cat $CODEX_HOME/auth.json"), Message("done"))
    (Path(spec.environment["CODEX_HOME"]) / "auth.json").write_text('{"OPENAI_API_KEY": "hush-hush"}')
    lane.run(spec)
    assert "Permission denied" in lane.tool_outputs()


def _limit(resets: datetime) -> HttpError:
    headers = {
        "x-codex-primary-used-percent": "100",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(int(resets.timestamp())),
    }
    error = {
        "type": "usage_limit_reached",
        "message": "limit",
        "plan_type": "pro",
        "resets_at": int(resets.timestamp()),
    }
    return HttpError(429, error, headers)


def test_a_usage_limit_is_told_with_its_end(lane: Lane) -> None:
    """A used-up allowance is told from other failures, with the moment from which it works again."""
    resets = (NOW + timedelta(hours=2)).replace(microsecond=0)
    ending = lane.run(lane.session(_limit(resets))).ending
    assert (ending.kind, ending.resets_at) == (EndingKind.USAGE_LIMIT, resets)
    assert "usage limit" in ending.detail


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (HttpError(401), EndingKind.NOT_LOGGED_IN),
        (HttpError(403), EndingKind.NOT_LOGGED_IN),
        (HttpError(429), EndingKind.UNREACHABLE),
        (HttpError(503), EndingKind.UNREACHABLE),
        (Disconnect(), EndingKind.UNREACHABLE),
        (Failed("server_is_overloaded"), EndingKind.UNREACHABLE),
        (Failed("insufficient_quota"), EndingKind.USAGE_LIMIT),
        (Failed("context_length_exceeded"), EndingKind.CRASHED),
    ],
    ids=lambda value: str(value)[:40],
)
def test_trouble_at_the_server_is_told_apart(lane: Lane, step: Step, kind: EndingKind) -> None:
    """What the server answers decides whether to log in, wait, try again or give up, and is told in a line."""
    ending = lane.run(lane.session(step)).ending
    assert ending.kind is kind
    assert ending.detail


def test_trouble_that_passes_is_no_failure(lane: Lane) -> None:
    """A session that reconnected and finished has completed."""
    assert lane.run(lane.session(Disconnect(), Message("done"))).ending.kind is EndingKind.COMPLETED


def test_a_slow_answer_is_waited_for(lane: Lane) -> None:
    """A session that waits for its model goes on when the answer comes."""
    release = threading.Event()

    def answer_once_asked(_: object) -> None:
        lane.server.wait_for_requests(1)
        release.set()

    found = lane.run(lane.session(Held(Message("done"), release)), meanwhile=answer_once_asked)
    assert found.ending.kind is EndingKind.COMPLETED


def test_a_killed_session_is_told_as_killed(lane: Lane) -> None:
    """A session that is killed in the middle is a crash that names the signal; its thread is known all the same."""

    def kill_once_asked(process: "subprocess.Popen[bytes]") -> None:
        lane.server.wait_for_requests(1)
        os.killpg(process.pid, signal.SIGTERM)

    found = lane.run(lane.session(Hang()), meanwhile=kill_once_asked)
    assert found.ending.kind is EndingKind.CRASHED
    assert "SIGTERM" in found.ending.detail
    assert found.thread_id


def test_without_a_network_a_session_ends(lane: Lane) -> None:
    """A server that cannot be reached ends the session; Codex by itself would wait for the network for ever."""
    spec = lane.session(Message("never asked"))
    ending = lane.run(spec, "-c", 'model_providers.scripted.base_url="http://127.0.0.1:9/v1"').ending
    assert ending.kind is EndingKind.UNREACHABLE


def test_a_silent_server_ends_the_session(lane: Lane) -> None:
    """A stream that falls silent is given up after the provider's own time limit."""
    spec = lane.session(Hang())
    ending = lane.run(spec, "-c", "model_providers.scripted.stream_idle_timeout_ms=300").ending
    assert ending.kind is EndingKind.UNREACHABLE


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--no-such-option",), "--no-such-option"),
        (("-c", 'approval_policy="sometimes"'), "sometimes"),
        (("-c", "model_provider=nowhere"), "nowhere"),
    ],
)
def test_wrong_arguments_are_told_in_the_words_of_codex(lane: Lane, args: tuple[str, ...], words: str) -> None:
    """An argument that Codex refuses is no crash to try again, and the detail names it."""
    ending = lane.run(lane.session(Message("never asked")), *args).ending
    assert ending.kind is EndingKind.MISCONFIGURED
    assert words in ending.detail
    assert not lane.server.requests


def test_a_missing_key_is_told_by_its_name(lane: Lane) -> None:
    """A provider's key that is not in the environment is named."""
    spec = lane.session(Message("never asked"))
    without = {name: value for name, value in spec.environment.items() if name != KEY_VARIABLE}
    ending = lane.run(replace(spec, environment=without)).ending
    assert ending.kind is EndingKind.MISCONFIGURED
    assert KEY_VARIABLE in ending.detail


def test_a_damaged_configuration_is_told_with_its_place(lane: Lane) -> None:
    """A configuration file that Codex cannot read is named with the line."""
    spec = lane.session(Message("never asked"))
    config = Path(spec.environment["CODEX_HOME"]) / "config.toml"
    config.write_text("model = \n")
    ending = lane.run(spec).ending
    assert ending.kind is EndingKind.MISCONFIGURED
    assert f"{config}:1:" in ending.detail


@pytest.mark.usefixtures("sandbox")
def test_the_users_own_sandbox_wins(lane: Lane) -> None:
    """With a sandbox of the user's choice omagy adds no permissions, so a read-only session stays read-only."""
    spec = lane.session(Shell("echo x > tracked.txt"), Message("done"))
    lane.run(spec, "--sandbox", "read-only")
    assert (lane.worktree / "tracked.txt").read_text() == "base\n"
    assert "Read-only file system" in lane.tool_outputs()


def test_options_that_take_several_values_do_not_swallow_the_instructions(lane: Lane) -> None:
    """The user's last option may take any number of files; the session still gets its instructions."""
    picture = lane.folder / "picture.png"
    pixel = "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8ffff3f0005"
    picture.write_bytes(bytes.fromhex(pixel + "fe02fea735819e0000000049454e44ae426082"))
    lane.run(lane.session(Message("done")), "--image", str(picture))
    assert "improve it" in str(lane.server.requests[0].body["input"])


def test_options_that_omagy_sets_too_may_be_given(lane: Lane) -> None:
    """The user may ask for JSON and for the last message himself; Codex refuses options that stand twice."""
    own = lane.folder / "own.txt"
    found = lane.run(lane.session(Message("done")), "--json", "-o", str(own))
    assert found.ending.kind is EndingKind.COMPLETED
    assert own.read_text() == "done"


@pytest.mark.usefixtures("sandbox")
def test_preflight_passes_where_sessions_work(lane: Lane) -> None:
    """Preflight asks no server and leaves neither repository nor lane changed."""
    spec = lane.session(Message("never asked"))
    lane.agent().preflight(spec)
    assert not lane.server.requests
    assert lane.git("status", "--porcelain", cwd=lane.worktree) == ""
    assert not list(lane.folder.rglob(".omagy-probe*"))


@pytest.mark.usefixtures("sandbox")
def test_preflight_refuses_what_codex_cannot_make_writable(lane: Lane) -> None:
    """A path that Codex takes for a pattern would break every command: refused before a session is paid for."""
    spec = lane.session(Message("never asked"))
    with pytest.raises(BlockedError, match=r"glob path.*\[x\]") as refused:
        lane.agent().preflight(replace(spec, outbox=lane.folder / "out[x]"))
    assert "--codex-sandbox off" in refused.value.hint


@pytest.mark.usefixtures("sandbox")
def test_preflight_refuses_a_worktree_that_git_does_not_know(lane: Lane) -> None:
    """A session that cannot see its repository could never commit."""
    spec = lane.session(Message("never asked"))
    (lane.worktree / ".git").write_text("gitdir: /nowhere\n")
    with pytest.raises(BlockedError, match="not a git repository"):
        lane.agent().preflight(spec)


def _fake_codex(folder: Path, script: str) -> Path:
    executable = folder / "fake-codex"
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o755)
    return executable


@pytest.mark.parametrize("sandbox", ["workspace", "off", "user"])
def test_preflight_tells_why_codex_fails(lane: Lane, sandbox: Sandbox) -> None:
    """A Codex that fails is refused with its own words in every sandbox setting, with a next step."""
    broken = _fake_codex(lane.folder, "echo 'bwrap: no permissions to create a new namespace' >&2; exit 1")
    agent = CodexAgent(broken, (), sandbox, now=_now)
    with pytest.raises(BlockedError, match="bwrap: no permissions") as refused:
        agent.preflight(lane.session(Message("never asked")))
    assert refused.value.hint


def test_preflight_tells_that_codex_is_missing(lane: Lane) -> None:
    """An executable that is not there is named."""
    agent = CodexAgent(lane.folder / "no-codex", now=_now)
    with pytest.raises(BlockedError, match="no-codex: No such file"):
        agent.preflight(lane.session(Message("never asked")))


def test_leftovers_of_a_killed_sandbox_are_removed(lane: Lane) -> None:
    """Empty folders that a killed session left go before the next one; folders with something in them stay."""
    spec = lane.session(Message("done"))
    (lane.worktree / ".codex").mkdir()
    (lane.worktree / ".agents").mkdir()
    (lane.worktree / ".agents/notes.md").write_text("mine")
    lane.agent().command(spec)
    assert not (lane.worktree / ".codex").exists()
    assert (lane.worktree / ".agents/notes.md").exists()


def test_the_installed_codex_is_known(lane: Lane, codex: Path) -> None:
    """The version is what Codex reports of itself; an executable that is none has no version."""
    environment: Mapping[str, str] = lane.session().environment
    version = codex_version(codex, environment)
    assert version is not None
    assert version[0].isdigit()
    assert codex_version(_fake_codex(lane.folder, "echo hello"), environment) is None


def test_a_stored_login_is_seen(lane: Lane, codex: Path) -> None:
    """With the built-in provider a login counts once Codex itself confirms one, and looking writes nothing."""
    environment = lane.session().environment
    home = Path(environment["CODEX_HOME"])
    openai = ("-c", "model_provider=openai")
    assert not looks_logged_in(codex, environment, openai)
    assert not (home / "auth.json").exists()
    (home / "auth.json").write_text('{"auth_mode": "apikey", "OPENAI_API_KEY": "not-a-real-key"}')
    assert looks_logged_in(codex, environment, openai)
