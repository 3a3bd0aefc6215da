"""What all tests share: fixtures, how examples are generated, and the product's bytecode."""

import compileall
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from fakes.dialogue import Dialogue, Talk
from fakes.sample_repositories import NUMBERS, write_files
from fakes.screen import OpenScreen, Screen
from fakes.workspace import Workspace, lives, wait_until, workspace

# Tests may be run by a git hook, in a run of omagy's own or in a pane of tmux: none of these is what they are about.
for _name in [name for name in os.environ if name.startswith(("GIT_", "OMAGY_", "TMUX"))]:
    if not _name.startswith("OMAGY_TEST_"):
        del os.environ[_name]

# A shell that starts the tests in the background lets them ignore Ctrl-C, and with them all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Nothing of a generated example may depend on the machine's speed, nor on which run of the suite it is: what one run
# finds, every run finds. `--hypothesis-profile explore` looks for what none has found yet.
settings.register_profile(
    "omagy", deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", settings.get_profile("omagy"), derandomize=False, max_examples=2000)
settings.load_profile("omagy")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the product once: the tests start it thousands of times, and let none of these write bytecode."""
    if not hasattr(config, "workerinput"):
        for source in ("autoresearch", "supervisor"):
            compileall.compile_dir(config.rootpath / source, quiet=2)


def pytest_xdist_auto_num_workers() -> int:
    """Three for each two processors: sessions and disks are waited for about a third of the time."""
    ours = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(2, 3 * ours // 2)


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    """A scratch repository, without a commit yet."""
    with workspace(tmp_path) as made:
        yield made


@pytest.fixture
def numbers(ws: Workspace) -> Workspace:
    """A repository with a number that can get better, and two programs that print it: for people, and as JSON."""
    write_files(ws.root, NUMBERS)
    ws.commit()
    return ws


@pytest.fixture
def talk(ws: Workspace) -> Iterator[Talk]:
    """Starts ``omagy autoresearch …`` on a terminal that can do nothing but lines."""
    started: list[Dialogue] = []

    def start(*args: str) -> Dialogue:
        started.append(Dialogue(ws, "autoresearch", *args))
        return started[-1]

    yield start
    for dialogue in started:
        dialogue.close()


@pytest.fixture
def open_screen(ws: Workspace) -> Iterator[OpenScreen]:
    """Opens a terminal of the size that is asked for, with arrow keys; the second has another name."""
    made: list[Screen] = []

    def open_one(columns: int = 100, rows: int = 40) -> Screen:
        name = f"screen-{len(made)}" if made else "default"
        made.append(Screen(ws, name, columns, rows))
        return made[-1]

    yield open_one
    for screen in made:
        screen.close()
        wait_until(lambda shell=screen.shell: not lives(shell), "the end of the terminal's shell")  # type: ignore[misc]
