"""What omagy makes of the user's own Codex arguments and configuration."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from omagy_supervisor.adapters.codex.install import find_codex, looks_logged_in
from omagy_supervisor.adapters.codex.permissions import chooses_permissions
from omagy_supervisor.adapters.codex.settings import effective_settings


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    return {"CODEX_HOME": str(tmp_path), "PATH": "/nowhere"}


def _configure(environment: Mapping[str, str], text: str, name: str = "config.toml") -> None:
    (Path(environment["CODEX_HOME"]) / name).write_text(text)


@pytest.mark.parametrize(
    "args",
    [
        ("-s", "read-only"),
        ("-sread-only",),
        ("--sandbox=read-only",),
        ("--model", "m", "--sandbox", "read-only"),
        ("--dangerously-bypass-approvals-and-sandbox",),
        ("-c", 'sandbox_mode="read-only"'),
        ('-csandbox_mode="read-only"',),
        ("--config", 'default_permissions="mine"'),
        ('--config=permissions.mine.extends=":workspace"',),
        ("-p", "no-such-profile"),
    ],
)
def test_permissions_of_the_users_own_are_seen(environment: Mapping[str, str], args: tuple[str, ...]) -> None:
    """However the user spells a choice of permissions, omagy sees it and adds none of its own."""
    assert chooses_permissions(args, environment)


@pytest.mark.parametrize(
    "args", [(), ("-m", "gpt-5.5"), ("-c", 'model="x"'), ("-c", "sandbox=1"), ("--search", "-i", "a.png")]
)
def test_other_arguments_leave_permissions_to_omagy(environment: Mapping[str, str], args: tuple[str, ...]) -> None:
    """A model or an image is no choice of permissions."""
    assert not chooses_permissions(args, environment)


def test_a_profile_counts_only_when_it_speaks_of_permissions(environment: Mapping[str, str]) -> None:
    """A profile that picks a model must not cost a session the right to commit."""
    _configure(environment, 'model = "x"', "fast.config.toml")
    _configure(environment, 'sandbox_mode = "read-only"', "careful.config.toml")
    assert not chooses_permissions(("--profile=fast",), environment)
    assert chooses_permissions(("--profile=careful",), environment)


def test_the_command_line_lies_over_profile_and_file(environment: Mapping[str, str]) -> None:
    """Settings are read as Codex layers them: file, profile, command line; text that is no TOML is text."""
    _configure(environment, 'model = "file"\nmodel_provider = "file"\n[a]\nkept = 1\nchanged = 1')
    _configure(environment, 'model_provider = "profile"', "p.config.toml")
    found = effective_settings(("-p", "p", "-c", "model=plain text", "-c", "a.changed=2"), environment)
    assert found == {"model": "plain text", "model_provider": "profile", "a": {"kept": 1, "changed": 2}}


def test_damaged_configuration_is_read_as_none(environment: Mapping[str, str]) -> None:
    """Codex will name the fault itself; looking at the file does not."""
    _configure(environment, "model = ")
    assert effective_settings((), environment) == {}


_PROVIDER = 'model_provider = "p"\n[model_providers.p]\nname = "p"\n'


@pytest.mark.parametrize(
    ("config", "variables", "args", "expected"),
    [
        (_PROVIDER + 'env_key = "P_KEY"', {"P_KEY": "k"}, (), True),
        (_PROVIDER + 'env_key = "P_KEY"', {}, (), False),
        (_PROVIDER, {}, (), True),
        (_PROVIDER + "requires_openai_auth = true", {}, (), False),
        ("", {}, (), False),
        ("", {"CODEX_API_KEY": "k"}, (), True),
        ("", {}, ("--oss",), True),
        (_PROVIDER, {}, ("-c", "model_provider=openai"), False),
    ],
)
def test_a_login_is_guessed_from_the_provider(
    environment: Mapping[str, str], config: str, variables: Mapping[str, str], args: tuple[str, ...], expected: bool
) -> None:
    """A provider with its key, or that needs no login, is enough; else Codex (absent here) would have to confirm."""
    _configure(environment, config)
    assert looks_logged_in(Path("/nowhere/codex"), {**environment, **variables}, args) is expected


def test_codex_is_found_where_the_user_says(tmp_path: Path) -> None:
    """OMAGY_CODEX goes before PATH, and a name that leads nowhere is not replaced by another Codex."""
    for folder in ("on-path", "named"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "codex").write_text("#!/bin/sh\n")
        (tmp_path / folder / "codex").chmod(0o755)
    path = {"PATH": str(tmp_path / "on-path")}
    named = str(tmp_path / "named/codex")
    assert find_codex(path) == tmp_path / "on-path/codex"
    assert find_codex({**path, "OMAGY_CODEX": named}) == Path(named)
    assert find_codex({**path, "OMAGY_CODEX": named + "-gone"}) is None
    assert find_codex({}) is None
