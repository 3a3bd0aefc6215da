"""What the environment says, and where things lie."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from omagy_autoresearch.errors import ContractError, StorageError
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.settings import environment_for_programs, read_settings, scrub_process_environment


@pytest.mark.parametrize(
    ("environment", "socket", "scale"),
    [
        ({}, "omagy", 1.0),
        ({"OMAGY_TMUX_SOCKET": ""}, "omagy", 1.0),
        ({"OMAGY_TMUX_SOCKET": "mine"}, "mine", 1.0),
        ({"OMAGY_PAUSE_SCALE": "0"}, "omagy", 0.0),
        ({"OMAGY_PAUSE_SCALE": "0.01"}, "omagy", 0.01),
        ({"OMAGY_PAUSE_SCALE": "100"}, "omagy", 100.0),
    ],
)
def test_settings_are_read(environment: Mapping[str, str], socket: str, scale: float) -> None:
    """Each variable has its default and its effect."""
    settings = read_settings(environment)
    assert (settings.tmux_socket, settings.pause_scale) == (socket, scale)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OMAGY_TMUX_SOCKET", "/tmp/x"),
        ("OMAGY_TMUX_SOCKET", "a/b"),
        ("OMAGY_PAUSE_SCALE", "fast"),
        ("OMAGY_PAUSE_SCALE", "-1"),
        ("OMAGY_PAUSE_SCALE", "101"),
        ("OMAGY_PAUSE_SCALE", "nan"),
        ("OMAGY_PAUSE_SCALE", "inf"),
    ],
)
def test_a_value_without_sense_is_refused_by_name(name: str, value: str) -> None:
    """The error names the variable and what it holds."""
    with pytest.raises(ContractError) as caught:
        read_settings({name: value})
    assert f"{name} is '{value}'" in caught.value.message


def test_a_session_knows_whose_it_is() -> None:
    """Inside a run's session the run's id is known; elsewhere there is none."""
    assert read_settings({"OMAGY_RUN_ID": "r"}).inside_session == "r"
    assert read_settings({}).inside_session is None


def test_tmux_is_found_on_the_users_path_alone(tmp_path: Path) -> None:
    """The PATH that counts is the one handed over, not this process's."""
    assert read_settings({"PATH": str(tmp_path)}).tmux is None
    program = tmp_path / "tmux"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert read_settings({"PATH": str(tmp_path)}).tmux == str(program)


def test_programs_get_the_users_environment_without_what_would_mislead_them() -> None:
    """git's locations, another tmux and our own variables stay out; everything else, and git's transport, stays."""
    kept = {
        "PATH": "/bin",
        "HOME": "/home/u",
        "GITHUB_TOKEN": "t",
        "GIT_SSH_COMMAND": "ssh -i k",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "TERM": "xterm",
    }
    dropped = dict.fromkeys(
        [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_COMMON_DIR",
            "GIT_NAMESPACE",
            "GIT_PREFIX",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_KEY_0",
            "GIT_CONFIG_PARAMETERS",
            "TMUX",
            "TMUX_PANE",
            "OMAGY_RUN_ID",
            "OMAGY_COOKIE",
            "OMAGY_TMUX_SOCKET",
            "OMAGY_BASE_COMMIT",
        ],
        "x",
    )
    assert environment_for_programs({**kept, **dropped}) == kept


def test_gits_variables_leave_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that a hook set cannot point our own git at another repository."""
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    scrub_process_environment()
    assert not [key for key in os.environ if key.startswith("GIT_")]
    assert os.environ["GITHUB_TOKEN"] == "t"


def test_files_lie_where_the_contract_says(tmp_path: Path) -> None:
    """Pointer, run folder and its files have the names that other programs expect."""
    root = StateRoot(tmp_path)
    run = root.run("r-1")
    found = {
        str(path.relative_to(tmp_path))
        for path in (
            root.pointer,
            run.manifest,
            run.ledger,
            run.latest_evaluation,
            run.candidate,
            run.handoff_markdown,
            run.handoff_json,
            run.iteration(7),
        )
    }
    logs = ".omagy/logs/autoresearch/r-1"
    assert found == {
        ".omagy/state/autoresearch-state.json",
        f"{logs}/manifest.json",
        f"{logs}/iteration-ledger.json",
        f"{logs}/latest-evaluator-result.json",
        f"{logs}/candidate.json",
        f"{logs}/handoff.md",
        f"{logs}/handoff.json",
        f"{logs}/iterations/0007",
    }


def test_every_attempt_has_a_candidate_file_of_its_own(tmp_path: Path) -> None:
    """A stale artifact of another attempt or iteration lies elsewhere."""
    run = StateRoot(tmp_path).run("r")
    files = {run.attempt(number, attempt).candidate for number in (1, 2, 12) for attempt in (1, 2, 12)}
    assert len(files) == 9
    assert all(path.parent.name == "outbox" for path in files)


def test_nothing_is_made_where_a_repository_was(tmp_path: Path) -> None:
    """Who renamed it would find another one in its place."""
    root = StateRoot(tmp_path / "renamed")
    with pytest.raises(StorageError, match="was moved or deleted"):
        root.prepare()
    assert not root.repo_root.exists()


def test_the_state_folder_ignores_itself(tmp_path: Path) -> None:
    """The user's git status stays as it was, and an ignore file of the user's own is not replaced."""
    (tmp_path / ".git").mkdir()
    root = StateRoot(tmp_path)
    root.prepare()
    ignore = root.folder / ".gitignore"
    assert ignore.read_text() == "*\n"
    assert root.state.is_dir()
    assert root.runs.is_dir()
    ignore.write_text("*\n!keep\n")
    root.prepare()
    assert ignore.read_text() == "*\n!keep\n"


def test_a_state_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    """A file in the folder's place is told by name."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".omagy").write_text("")
    with pytest.raises(StorageError, match=r"\.omagy.*cannot be written"):
        StateRoot(tmp_path).prepare()
