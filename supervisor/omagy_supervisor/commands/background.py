"""What the interview knows of a repository before its first question."""

import os
from collections import Counter
from collections.abc import Iterable

from omagy_autoresearch.intake.background import Background, Seeds
from omagy_autoresearch.intake.document import launched
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.names import slugify
from omagy_autoresearch.proposals import Proposal, propose
from omagy_supervisor.adapters.codex.install import find_codex
from omagy_supervisor.adapters.drafts import DraftFiles
from omagy_supervisor.adapters.git.facts import RepositoryFacts
from omagy_supervisor.commands.claiming import Claim
from omagy_supervisor.settings import Settings
from omagy_supervisor.survey import survey

_MOST_FOLDERS = 4
_NO_CODE = frozenset(("doc", "docs", "test", "tests", "spec", "missions", "examples", "scripts", "node_modules"))


def background(
    facts: RepositoryFacts, settings: Settings, seeds: Seeds, drafts: DraftFiles, claim: Claim
) -> Background:
    """The name that ``claim`` has is that of this interview. Raises RepositoryError."""
    found = survey(settings, facts.root)
    return Background(
        repository=one_line(facts.root.name),
        proposals=tuple(proposal for proposal in propose(found) if _can_be_offered(proposal)),
        folders=_folders(found.paths),
        taken=tuple(_taken(facts, found.paths, drafts, claim).items()),
        seeds=seeds,
        codex_missing="" if find_codex(settings.environment) is not None else "not installed here",
    )


def _can_be_offered(proposal: Proposal) -> bool:
    """Nothing has to be filled in (a command of one's own asks for that), and it can be shown as it is run."""
    texts = (proposal.key, proposal.command, proposal.guard or "", proposal.setup or "")
    return not proposal.todo and all(one_line(text) == " ".join(text.split()) for text in texts)


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    """The folders at the top that hold most files, as far as they look like code."""
    counted = Counter(path.partition("/")[0] for path in paths if "/" in path)
    named = [name for name, _ in counted.most_common() if name.lower() not in _NO_CODE and not name.startswith(".")]
    return tuple(name for name in named if "," not in name and one_line(name) == name)[:_MOST_FOLDERS]


def _taken(facts: RepositoryFacts, paths: Iterable[str], drafts: DraftFiles, claim: Claim) -> dict[str, str]:
    there = {path.split("/")[1] for path in paths if path.startswith("missions/") and path.count("/") > 1}
    missions = facts.root / "missions"
    if missions.is_dir():
        there |= {entry.name for entry in os.scandir(missions)}
    taken = {
        record.slug: claim.taken(record.slug)
        for record in drafts.all()
        if record.slug != claim.name and not launched(record)
    }
    return taken | {name: f"missions/{name} exists already" for name in there if slugify(name) == name}
