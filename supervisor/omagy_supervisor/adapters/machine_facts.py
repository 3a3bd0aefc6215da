"""What proposals have to know of files and of this machine, within limits; nothing of the repository is run."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from omagy_supervisor.files import read_regular

_TEXT_LIMIT = 64 << 10
_PATIENCE_S = 30.0  # measured 0.1 s; a cold disk or a loaded machine takes far longer to start Python
_VIRTUAL_ENVIRONMENTS = (".venv", "venv")
_ASK = "import sys, importlib.util as u; print(*[name for name in sys.argv[1:] if u.find_spec(name)])"


def read_texts(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """The texts of those ``paths`` that are plain files of text inside ``root``, each cut at 64 KiB.

    Links, pipes, folders and binary files are passed over.
    """
    found = {path: _text(root, path) for path in paths}
    return {path: text for path, text in found.items() if text is not None}


def _text(root: Path, path: str) -> str | None:
    place = root / path
    try:
        if place.parent.resolve() != (root.resolve() / path).parent:  # a folder of the checkout is a link
            return None
        data = read_regular(place, _TEXT_LIMIT)
    except (OSError, ValueError, RuntimeError):
        return None
    if data is None or b"\0" in data:
        return None
    return data[:_TEXT_LIMIT].decode("utf-8", "replace")


def installed(names: Iterable[str], environment: Mapping[str, str]) -> frozenset[str]:
    """Those of the executables ``names`` that are on the PATH of ``environment``."""
    return frozenset(name for name in names if shutil.which(name, path=environment.get("PATH")))


def python_for(root: Path, tracked: Iterable[str], environment: Mapping[str, str]) -> str:
    """The interpreter for a repository's commands: its own virtual environment's, the active one's, or ``python3``.

    An environment that git tracks is not the user's but the repository's, and is not run.
    """
    known = {path.split("/", 1)[0] for path in tracked}
    own = [root / name for name in _VIRTUAL_ENVIRONMENTS if name not in known]
    active = [Path(environment["VIRTUAL_ENV"])] if environment.get("VIRTUAL_ENV") else []
    for folder in (*own, *active):
        python = folder / "bin" / "python"
        if (folder / "pyvenv.cfg").is_file() and os.access(python, os.X_OK):
            return str(python)
    return "python3"


def python_modules(python: str, names: Iterable[str], environment: Mapping[str, str]) -> frozenset[str] | None:
    """Those of the modules ``names`` that ``python`` can import; None when it does not answer. Imports none."""
    program = shutil.which(python, path=environment.get("PATH"))
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-I", "-c", _ASK, *names],
            env=dict(environment),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return frozenset(done.stdout.decode(errors="replace").split()) if done.returncode == 0 else None
