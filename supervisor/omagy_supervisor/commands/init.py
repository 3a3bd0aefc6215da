"""``omagy autoresearch init``: writes a mission folder from options, without a question (contract section 1).

Either the evaluator is given (``--topic``, ``--evaluator``), or it is made for this repository (``--template``).
"""

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.durations import parse_duration
from omagy_autoresearch.errors import ContractError
from omagy_autoresearch.mission_draft import MissionDraft, draft_from, mission_files
from omagy_autoresearch.names import slugify
from omagy_autoresearch.placeholder import placeholder, unfinished
from omagy_autoresearch.proposals import Confidence, Measure, Proposal, propose
from omagy_autoresearch.spelling import nearest
from omagy_supervisor.adapters.git.facts import find_repository, is_ignored, is_lane
from omagy_supervisor.bootstrap import users_git
from omagy_supervisor.commands.chosen import refuse_unwritable_name
from omagy_supervisor.commands.launch import refuse_inside_session
from omagy_supervisor.options import Options
from omagy_supervisor.scaffold import scaffold
from omagy_supervisor.settings import Settings
from omagy_supervisor.survey import survey
from omagy_supervisor.ui.messages import show_json, show_prose

FLAGS = ("--json",)
VALUES = (
    "--topic",
    "--evaluator",
    "--slug",
    "--template",
    "--dir",
    "--keep-policy",
    "--direction",
    "--guard",
    "--timeout",
)
_EXAMPLE = "omagy autoresearch init --topic 'Make it faster' --evaluator 'python3 bench.py' --slug faster"


def init(options: Options, settings: Settings) -> int:
    """Write a mission folder and say what comes next; exit status 0. Raises ContractError: nothing was written."""
    refuse_inside_session(settings)
    if options.words:
        raise ContractError(f"init takes options only, not {' '.join(options.words)}", _EXAMPLE)
    here = Path.cwd()
    git = users_git(settings, here)
    facts = find_repository(git, here)
    refuse_unwritable_name(facts.root)
    if is_lane(facts):
        raise ContractError(f"{facts.root} is the lane of a run", "write missions in your own checkout")
    proposal, others = _proposal(options, settings, facts.root)
    draft = _draft(options, proposal)
    draft = replace(draft, folder=_folder(options, facts.root, draft))
    rule = is_ignored(git, facts, f"{draft.place}/mission.md")
    if rule:
        raise ContractError(f"git ignores {draft.place} ({rule})", "choose another place: --dir <folder>")
    scaffold(facts.root, draft)
    _tell(options, draft, proposal, others, _seen_from(here, facts.root / draft.place))
    return 0


# -- what is measured


def _proposal(options: Options, settings: Settings, root: Path) -> tuple[Proposal | None, tuple[Proposal, ...]]:
    """The evaluator that ``--template`` asks for, and the others that measure the same."""
    wanted = options.values.get("--template")
    if wanted is None:
        _require(options)
        return None, ()
    if "--evaluator" in options.values:
        raise ContractError("--template and --evaluator exclude each other", "leave one of them out")
    names = [measure.value for measure in Measure]
    offered = propose(survey(settings, root))
    found = [one for one in offered if wanted in (one.key, one.measure)]
    if found:
        return found[0], tuple(found[1:])
    if wanted not in names:
        near = nearest(wanted, (*names, *(one.key for one in offered)))
        raise ContractError(f"--template {wanted}: there is no such template{near}", f"there are: {', '.join(names)}")
    measures = sorted({one.measure.value for one in offered})
    raise ContractError(
        f"--template {wanted}: nothing in this repository says how to measure it",
        f"what can be measured here: {', '.join(measures)}; or give your own command: {_EXAMPLE}",
    )


def _require(options: Options) -> None:
    missing = [name for name in ("--topic", "--evaluator") if not options.values.get(name, "").strip()]
    if missing:
        raise ContractError(
            f"init without a terminal's questions needs {' and '.join(missing)}",
            f"for example: {_EXAMPLE}\nor one made for this repository: omagy autoresearch init --template tests",
        )
    said = placeholder(options.values["--evaluator"])
    if said:
        raise ContractError(
            f"--evaluator: {said} is a placeholder, not a measurement",
            'give a command that prints {"pass": …, "score": …}, or use --template',
        )


# -- the draft


def _draft(options: Options, proposal: Proposal | None) -> MissionDraft:
    values = options.values
    topic = " ".join(values.get("--topic", "").split())
    slug = _slug(values.get("--slug"), topic or (proposal.measure.value if proposal else ""))
    if proposal is not None:
        draft = draft_from(proposal, slug=slug, topic=topic)
    else:
        draft = MissionDraft(slug=slug, topic=topic, command=values["--evaluator"].strip())
    changes: dict[str, Any] = {}
    if "--keep-policy" in values:
        changes["keep_policy"] = KeepPolicy(_one_of("--keep-policy", values["--keep-policy"], KeepPolicy))
    if "--direction" in values:
        changes["direction"] = Direction(_one_of("--direction", values["--direction"], Direction))
    if "--guard" in values:
        changes["guard"] = _written("--guard", values["--guard"])
    if "--timeout" in values:
        changes["timeout"] = _duration(values["--timeout"])
    return replace(draft, **changes)


def _slug(given: str | None, otherwise: str) -> str:
    slug = slugify(otherwise) if given is None else slugify(given)
    if given is not None and given != slug:
        hint = f"such as --slug {slug}" if slug else "such as --slug faster"
        raise ContractError(f"--slug {given}: it must be lower-case words joined by dashes", hint)
    if not slug:
        raise ContractError("a slug cannot be made of this topic", "name the mission: --slug <name>")
    return slug


def _one_of(option: str, value: str, choices: Iterable[str]) -> str:
    known = [str(choice) for choice in choices]
    if value not in known:
        raise ContractError(f"{option} {value}: choose {' or '.join(known)}{nearest(value, known)}")
    return value


def _written(option: str, command: str) -> str:
    said = unfinished(command)
    if said:
        raise ContractError(f"{option}: {said} is a placeholder", "write the command, or leave the option out")
    return command


def _duration(text: str) -> str:
    try:
        parse_duration(text)
    except ValueError as error:
        raise ContractError(f"--timeout: {error}") from None
    return text


def _folder(options: Options, root: Path, draft: MissionDraft) -> str:
    """The mission folder from the root of the repository; ``--dir`` is seen from where the person stands."""
    named = options.values.get("--dir")
    if named is None:
        return draft.place
    where = Path(os.path.normpath(Path.cwd() / named))
    try:
        inside = (where.parent.resolve() / where.name).relative_to(root.resolve()).as_posix()
    except ValueError:
        inside = ".."
    if inside == "." or inside.split("/")[0] in ("..", ".git", ".omagy"):
        raise ContractError(
            f"--dir {named}: a mission is a folder of its own inside the repository {root}", "such as missions/<name>"
        )
    refuse_unwritable_name(Path(inside))
    return inside


# -- what is said


def _seen_from(here: Path, folder: Path) -> str:
    return os.path.relpath(folder.resolve(), here.resolve())


def _tell(
    options: Options, draft: MissionDraft, proposal: Proposal | None, others: tuple[Proposal, ...], shown: str
) -> None:
    names = list(mission_files(draft))
    steps = [f"omagy autoresearch {word}{shlex.quote(shown)}" for word in ("check ", "")]
    if options.has("--json"):
        answer = {
            "mission_dir": draft.place,
            "slug": draft.slug,
            "files": names,
            "evaluator": draft.in_place(draft.command),
            "proposal": msgspec.to_builtins(proposal) if proposal else None,
            "next": steps,
        }
        show_json(answer)
        return
    show_prose(f"wrote {shown}: {', '.join(names)}")
    for line in _about(proposal, others):
        show_prose(line)
    if not draft.editable:
        show_prose(
            f"say in {shown}/mission.md what may change, and in sandbox.md (editable) if that is to be enforced"
        )
    show_prose(f"try it:  {steps[0]}")
    show_prose(f"then:    {steps[1]}")


def _about(proposal: Proposal | None, others: tuple[Proposal, ...]) -> Iterable[str]:
    if proposal is None:
        return
    yield f"score:   {proposal.title}; {proposal.direction} ({proposal.why})"
    if proposal.caution:
        yield f"not seen by it: {proposal.caution}"
    if proposal.needs:
        yield f"missing on this machine: {', '.join(proposal.needs)}"
    if proposal.todo:
        yield f"first:   {proposal.todo}"
    ready = [one for one in others if one.confidence is not Confidence.SKETCH]
    if ready:
        yield f"others:  {', '.join(f'--template {one.key}' for one in ready[:4])}"
