"""bin/omagy sets itself up: run for real against a stub checkout whose install needs no network.

The stub's pyproject names an in-tree build backend without requirements, so pip resolves and fetches
nothing; `PIP_NO_INDEX` makes any attempt an error. Where a test needs to stand in the middle of an
install, the backend waits at a named pipe, so nothing here depends on timing.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / "bin"

PYPROJECT = """\
[build-system]
requires = []
build-backend = "stub_backend"
backend-path = ["."]

[project]
name = "omagy"
version = "1"
"""

# Just enough of PEP 517 and 660 for `pip install -e`. Its environment tells it how to behave.
BACKEND = """\
import os
import zipfile
from pathlib import Path

METADATA = "Metadata-Version: 2.1\\nName: omagy\\nVersion: 1\\nProvides-Extra: mcp\\n"


def get_requires_for_build_editable(config_settings=None):
    return []


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    here = Path(__file__).resolve().parent
    with Path(os.environ["STUB_BUILDS"]).open("a") as builds:
        builds.write("build\\n")
    if os.environ.get("STUB_FAILS"):
        raise SystemExit("the stub backend fails as told")
    if pipe := os.environ.get("STUB_PIPE"):
        Path(pipe).read_text()
    info = "omagy-1.dist-info"
    files = {
        "omagy_stub.pth": str(here),
        f"{info}/METADATA": METADATA + os.environ.get("STUB_METADATA", ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nGenerator: stub\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{info}/entry_points.txt": "[console_scripts]\\nomagy = omagy_stub:main\\n",
    }
    record = "".join(f"{name},,\\n" for name in [*files, f"{info}/RECORD"])
    name = "omagy-1-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(path, text)
    return name
"""

PRODUCT = """\
import os
import sys


def main():
    if sys.argv[1:] == ["who"]:
        print(os.environ["OMAGY_COMMAND"])
        return 0
    print(os.getcwd(), *sys.argv[1:], sep="|")
    return int(os.environ.get("STUB_STATUS", "0"))
"""

# A Python that makes an environment in a moment: it copies the pip that is here instead of unpacking its own, which
# takes five seconds each time. The tests that look for a Python on PATH make theirs with the real one.
PYTHON = """\
#!/bin/sh
if [ "$1 $2" = "-I -c" ]; then
  case $3 in *ensurepip*) echo "ok $0"; exit ;; esac
elif [ "$1 $2 $3 $4" = "-I -m venv --clear" ]; then
  "{python}" -I -m venv --clear --without-pip "$5" || exit
  exec cp -a {pip} "$5/lib/python{version}/site-packages/"
fi
exec "{python}" "$@"
"""

SETTING_UP = "omagy: setting up … (once)\n"
UPDATING = "omagy: pyproject.toml changed, updating the environment …\n"


@dataclass(frozen=True)
class Checkout:
    """A stub checkout at `root`; `builds` is what its backend logs to."""

    root: Path
    builds: Path
    environment: dict[str, str] = field(repr=False)

    @property
    def omagy(self) -> Path:
        return self.root / "bin" / "omagy"

    def start(
        self, *arguments: str, program: Path | None = None, cwd: Path | None = None, **extra: str
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [program or self.omagy, *arguments],
            cwd=cwd or self.root.parent,
            env=self.environment | extra,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    def run(
        self, *arguments: str, program: Path | None = None, cwd: Path | None = None, **extra: str
    ) -> tuple[int, str, str]:
        """Exit status, stdout and stderr of one use."""
        with self.start(*arguments, program=program, cwd=cwd, **extra) as process:
            out, err = process.communicate()
        return process.returncode, out, err

    def wait_for_setup(self) -> None:
        """Wait until nobody is setting it up: pip has the lock for as long as it takes to die of a signal, too."""
        with (self.root / ".tools/setup.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    def build_count(self) -> int:
        return len(self.builds.read_text().splitlines()) if self.builds.exists() else 0


def make_checkout(parent: Path, name: str = "check out") -> Checkout:
    root = parent / name
    shutil.copytree(BIN, root / "bin")
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "stub_backend.py").write_text(BACKEND)
    (root / "omagy_stub.py").write_text(PRODUCT)
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OMAGY_", "PYTHON", "PIP_", "STUB_", "VIRTUAL_ENV"))
    }
    builds, python = parent / "builds.log", parent / "python"
    packages = Path(sysconfig.get_path("purelib"))
    python.write_text(
        PYTHON.format(
            python=sys.executable,
            pip=" ".join(f"'{package}'" for package in (packages / "pip", *packages.glob("pip-*.dist-info"))),
            version=f"{sys.version_info.major}.{sys.version_info.minor}",
        )
    )
    python.chmod(0o755)
    own = {
        "HOME": str(parent),
        "LC_ALL": "C",
        "OMAGY_PYTHON": str(python),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "STUB_BUILDS": str(builds),
    }
    return Checkout(root, builds, inherited | own)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return make_checkout(tmp_path)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout that was used once; tests may only use it again (a setup takes seconds)."""
    checkout = make_checkout(tmp_path_factory.mktemp("ready"))
    assert checkout.run("first") == (0, f"{checkout.root.parent}|first\n", SETTING_UP)
    return checkout


@pytest.fixture
def used(ready: Checkout) -> Iterator[Checkout]:
    """The same, for tests that damage or change it: brought back afterwards if the test did not."""
    yield ready
    (ready.root / "pyproject.toml").write_text(PYPROJECT)
    assert ready.run()[0] == 0


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    yield path
    path.unlink()


def bare_path(folder: Path, **programs: str) -> str:
    """A PATH with what the scripts need besides Python, and these shell scripts as `programs`."""
    folder.mkdir()
    for tool in ("bash", "env", "readlink", "mkdir"):
        found = shutil.which(tool)
        assert found is not None
        (folder / tool).symlink_to(found)
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    return str(folder)


# --- every use --------------------------------------------------------------------------------------


def test_a_later_use_prints_nothing_of_its_own_and_installs_nothing(ready: Checkout) -> None:
    """The checkout's path has a space in it, here and in every other test."""
    before = ready.build_count()
    assert ready.run("a b", "", "*") == (0, f"{ready.root.parent}|a b||*\n", "")
    assert ready.build_count() == before


def test_the_first_use_writes_only_to_ignored_folders(ready: Checkout) -> None:
    own = {"bin", "pyproject.toml", "stub_backend.py", "omagy_stub.py"}
    assert {path.name for path in ready.root.iterdir()} - own == {".venv", ".tools"}
    assert {path.name for path in (ready.root / "bin").iterdir()} == {path.name for path in BIN.iterdir()}


@pytest.mark.parametrize("status", [0, 1, 3, 130])
def test_the_exit_status_is_passed_on(ready: Checkout, status: int) -> None:
    assert ready.run(STUB_STATUS=str(status))[0] == status


def test_the_callers_working_directory_is_kept(ready: Checkout, tmp_path: Path) -> None:
    here = tmp_path / "some where"
    here.mkdir()
    assert ready.run(cwd=here) == (0, f"{here}\n", "")


def test_a_relative_path_and_cdpath_do_not_mislead_it(ready: Checkout) -> None:
    relative = Path("check out/bin/omagy")
    result = ready.run(program=relative, CDPATH=f"{ready.root}:/")
    assert result == (0, f"{ready.root.parent}\n", "")


def test_it_works_through_chains_of_relative_and_absolute_symlinks(ready: Checkout, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "one").symlink_to(ready.omagy)
    (tmp_path / "bin" / "omagy").symlink_to(Path("..") / "one")
    assert ready.run("x", program=tmp_path / "bin" / "omagy", cwd=tmp_path) == (0, f"{tmp_path}|x\n", "")


def test_it_is_found_on_path_and_run_by_bash_in_its_own_folder(ready: Checkout) -> None:
    found = subprocess.run(
        ["bash", "-c", 'PATH=$1:$PATH; omagy found; cd -- "$1"; bash omagy local', "-", str(ready.omagy.parent)],
        env=ready.environment,
        cwd=ready.root.parent,
        capture_output=True,
        text=True,
    )
    assert found.stderr == ""
    assert found.stdout == f"{ready.root.parent}|found\n{ready.omagy.parent}|local\n"


def test_messages_call_it_by_its_name_where_path_leads_to_it(ready: Checkout, tmp_path: Path) -> None:
    """Through a link, too; and by its path where PATH leads to none or to another."""
    links = tmp_path / "links"
    links.mkdir()
    (links / "omagy").symlink_to(ready.omagy)
    (tmp_path / "omagy").write_text("#!/bin/sh\n")
    (tmp_path / "omagy").chmod(0o755)

    def called(command: str, first_on_path: Path) -> str:
        found = subprocess.run(
            ["bash", "-c", f'PATH="$1:$PATH"; {command} who', "-", str(first_on_path)],
            env=ready.environment,
            cwd=ready.root,
            capture_output=True,
            text=True,
        )
        assert found.stderr == ""
        return found.stdout.strip()

    assert called("omagy", links) == "omagy"
    assert called("bin/omagy", links) == "omagy"
    assert called("bin/omagy", tmp_path) == "bin/omagy"
    assert called("bin/omagy", tmp_path / "nowhere") == "bin/omagy"


# --- changes ----------------------------------------------------------------------------------------


def test_a_changed_pyproject_is_installed_once_however_old_its_date(used: Checkout) -> None:
    before = used.build_count()
    pyproject = used.root / "pyproject.toml"
    pyproject.write_text(PYPROJECT + "# changed\n")
    os.utime(pyproject, (1, 1))
    assert used.run() == (0, f"{used.root.parent}\n", UPDATING)
    assert used.run() == (0, f"{used.root.parent}\n", "")
    assert used.build_count() == before + 1


def test_a_copied_or_moved_checkout_is_set_up_again(ready: Checkout, tmp_path: Path) -> None:
    """A virtual environment names its own path: the copy's would run the original."""
    copy = Checkout(tmp_path / "copy", ready.builds, ready.environment)
    shutil.copytree(ready.root, copy.root, symlinks=True)
    assert copy.run() == (0, f"{tmp_path}\n", SETTING_UP)
    assert copy.run() == (0, f"{tmp_path}\n", "")


def test_an_environment_whose_python_is_gone_is_made_anew(used: Checkout) -> None:
    python = used.root / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nonexistent/python3")
    assert used.run() == (0, f"{used.root.parent}\n", SETTING_UP)


# --- the MCP server ---------------------------------------------------------------------------------

NEEDS_SDK = 'Requires-Dist: no-such-sdk; extra == "mcp"\n'


def test_the_first_use_of_mcp_alone_installs_what_only_that_needs(used: Checkout) -> None:
    """Nobody else pays for the SDK, which is as large as all the rest."""
    before = used.build_count()
    missing = "omagy: the MCP SDK is missing, updating the environment …\n"
    assert used.run("mcp") == (0, f"{used.root.parent}|mcp\n", missing)
    assert used.run("mcp", "x") == (0, f"{used.root.parent}|mcp|x\n", "")
    assert used.run("x", "mcp") == (0, f"{used.root.parent}|x|mcp\n", "")
    assert used.build_count() == before + 1


def test_an_sdk_that_cannot_be_installed_leaves_the_rest_working(used: Checkout) -> None:
    (used.root / "pyproject.toml").write_text(PYPROJECT + "# changed\n")
    assert used.run("x", STUB_METADATA=NEEDS_SDK) == (0, f"{used.root.parent}|x\n", UPDATING)
    status, out, err = used.run("mcp", STUB_METADATA=NEEDS_SDK)
    assert (status, out) == (2, "")
    assert "no-such-sdk" in err
    assert used.run("x") == (0, f"{used.root.parent}|x\n", "")


# --- interrupted, failed, at the same time ----------------------------------------------------------


def test_an_interrupted_setup_is_repaired_by_the_next_use(checkout: Checkout, pipe: Path) -> None:
    with checkout.start(STUB_PIPE=str(pipe)) as process, pipe.open("w"):
        os.killpg(process.pid, signal.SIGKILL)
    checkout.wait_for_setup()
    assert not (checkout.root / ".venv" / "bin" / "omagy").exists()
    assert checkout.run() == (0, f"{checkout.root.parent}\n", SETTING_UP)
    assert checkout.run() == (0, f"{checkout.root.parent}\n", "")


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_update_is_repaired_by_the_next_use(used: Checkout, pipe: Path, blow: signal.Signals) -> None:
    """An update works on an environment that still looks complete; after Ctrl-C pip exits in order."""
    (used.root / "pyproject.toml").write_text(PYPROJECT + "# changed\n")
    with used.start(STUB_PIPE=str(pipe)) as process, pipe.open("w"):
        os.killpg(process.pid, blow)
        process.wait()
    used.wait_for_setup()
    (used.root / "pyproject.toml").write_text(PYPROJECT)
    assert used.run() == (0, f"{used.root.parent}\n", SETTING_UP)


def test_two_first_uses_at_once_install_once(checkout: Checkout, pipe: Path) -> None:
    with checkout.start("one", STUB_PIPE=str(pipe)) as one, pipe.open("w") as gate:
        with checkout.start("two") as two:
            assert two.stderr is not None
            waiting = two.stderr.readline()
            gate.close()
            two_out, two_err = two.communicate()
        one_out, one_err = one.communicate()
    assert waiting == "omagy: another setup of this checkout is running; waiting for it …\n"
    assert (one.returncode, one_out, one_err) == (0, f"{checkout.root.parent}|one\n", SETTING_UP)
    assert (two.returncode, two_out, two_err) == (0, f"{checkout.root.parent}|two\n", "")
    assert checkout.build_count() == 1


def test_a_setup_whose_shell_was_killed_keeps_others_out_until_pip_is_gone(checkout: Checkout, pipe: Path) -> None:
    with checkout.start("one", STUB_PIPE=str(pipe)) as one, pipe.open("w") as gate:
        one.kill()
        with checkout.start("two") as two:
            assert two.stderr is not None
            waiting = two.stderr.readline()
            gate.close()
            out, err = two.communicate()
    assert "waiting for it" in waiting
    assert (two.returncode, out, err) == (0, f"{checkout.root.parent}|two\n", SETTING_UP)


def test_a_failed_install_shows_pips_last_lines_and_is_repaired_by_the_next_use(checkout: Checkout) -> None:
    status, out, err = checkout.run(STUB_FAILS="1")
    assert (status, out) == (2, "")
    assert "the stub backend fails as told" in err
    assert "No network?" in err
    assert err.endswith("Then run the same command again.\n")
    assert checkout.run() == (0, f"{checkout.root.parent}\n", SETTING_UP)


def test_a_failed_update_leaves_the_environment_to_be_updated_not_remade(used: Checkout) -> None:
    (used.root / "pyproject.toml").write_text(PYPROJECT + "# changed\n")
    assert used.run(STUB_FAILS="1")[0] == 2
    assert used.run()[2] == UPDATING


@pytest.mark.parametrize("linked", [False, True])
def test_an_environment_that_somebody_else_made_is_left_alone(
    checkout: Checkout, tmp_path: Path, *, linked: bool
) -> None:
    """To be set up it would have to be emptied, with all that its person installed there."""
    venv = checkout.root / ".venv"
    theirs = tmp_path / "theirs" if linked else venv
    theirs.mkdir()
    (theirs / "tool").write_text("mine")
    if linked:
        venv.symlink_to(theirs)
    status, out, err = checkout.run()
    assert (status, out, (theirs / "tool").read_text()) == (2, "", "mine")
    assert f"{venv} was not made by omagy" in err
    assert f"mv '{venv}' '{venv}.mine'" in err
    venv.rename(f"{venv}.mine")
    assert checkout.run() == (0, f"{checkout.root.parent}\n", SETTING_UP)


# --- Python -----------------------------------------------------------------------------------------

OLD = 'test "$1" = -I && echo "old 3.9"'
SHIM = 'echo "pyenv: python3: command not found" >&2; exit 127'


def test_without_a_suitable_python_it_says_what_to_install(checkout: Checkout, tmp_path: Path) -> None:
    """A Python that is too old and a pyenv shim of a version that is not active are not suitable."""
    path = bare_path(tmp_path / "path", python3=OLD, **{"python3.13": SHIM})
    status, out, err = checkout.run(PATH=path, OMAGY_PYTHON="")
    assert (status, out) == (2, "")
    assert err.startswith("omagy: needs Python 3.11 or newer; none on PATH works")
    assert "sudo apt install python3 python3-venv" in err
    assert not (checkout.root / ".venv").exists()


def test_a_python_behind_failing_shims_is_found(checkout: Checkout, tmp_path: Path) -> None:
    real = f'exec "{sys.executable}" "$@"'
    bare_path(tmp_path / "path", python3=OLD, **{"python3.14": SHIM, "python3.11": real})
    path = f"{tmp_path / 'path'}:{checkout.environment['PATH']}"
    for later in ("python3.13", "python3.12"):
        (tmp_path / "path" / later).symlink_to("python3.14")
    assert checkout.run(PATH=path, OMAGY_PYTHON="") == (0, f"{checkout.root.parent}\n", SETTING_UP)


def test_a_python_without_ensurepip_is_named_with_the_package_it_lacks(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "ensurepip.py").write_text("raise ImportError")
    without = f'shift; PYTHONPATH="{tmp_path}" exec "{sys.executable}" "$@"'
    path = bare_path(tmp_path / "path", python3=without)
    status, _, err = checkout.run(PATH=path, OMAGY_PYTHON="")
    assert status == 2
    assert "cannot make virtual environments" in err
    assert "sudo apt install python3-venv" in err


def test_an_explicit_python_that_does_not_work_is_an_error(checkout: Checkout) -> None:
    status, _, err = checkout.run(OMAGY_PYTHON="/nonexistent/python")
    assert status == 2
    assert "OMAGY_PYTHON=/nonexistent/python is not a working Python 3.11 or newer" in err


def test_a_python_of_the_environment_itself_does_not_break_its_repair(used: Checkout) -> None:
    """With .venv activated, python3 on PATH is the one that a repair deletes."""
    (used.root / ".venv" / "omagy-product.stamp").unlink()
    path = f"{used.root}/.venv/bin:{used.environment['PATH']}"
    assert used.run(PATH=path, OMAGY_PYTHON="") == (0, f"{used.root.parent}\n", SETTING_UP)
