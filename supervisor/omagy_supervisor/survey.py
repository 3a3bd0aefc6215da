"""What a repository has that could be measured: gathered, and handed to the core (contract section 9)."""

from pathlib import Path

from omagy_autoresearch.proposals import MODULES, TOOLS, RepositoryFacts, wanted_texts
from omagy_supervisor.adapters.git.facts import tracked_paths
from omagy_supervisor.adapters.machine_facts import installed, python_for, python_modules, read_texts
from omagy_supervisor.bootstrap import users_git
from omagy_supervisor.settings import Settings, environment_for_programs

_MOST_PATHS = 20_000


def survey(settings: Settings, root: Path) -> RepositoryFacts:
    """The facts about the repository ``root``. Reads only; raises RepositoryError when git fails."""
    environment = environment_for_programs(settings.environment)
    paths = tracked_paths(users_git(settings, root), root, _MOST_PATHS)
    python = python_for(root, paths, environment)
    looks_like_python = any(path.endswith(".py") for path in paths)
    return RepositoryFacts(
        paths=frozenset(paths),
        texts=read_texts(root, wanted_texts(paths)),
        tools=installed(TOOLS, environment),
        python=python,
        modules=python_modules(python, MODULES, environment) if looks_like_python else None,
    )
