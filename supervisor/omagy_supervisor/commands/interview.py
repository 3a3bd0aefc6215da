"""``omagy autoresearch`` without a mission: the guided interview, from an idea to a run (contract section 9)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from omagy_autoresearch.errors import ContractError, ExitStatus, OmagyError
from omagy_autoresearch.intake.answers import Problem
from omagy_autoresearch.intake.background import Background, Inferred, Seeds
from omagy_autoresearch.intake.document import Saved, launched, markdown, restored, saved, topic_of
from omagy_autoresearch.intake.interview import Interview, Ready, answer, change, missing, tried_anew, with_taken
from omagy_autoresearch.intake.questions import QuestionId
from omagy_autoresearch.intake.trials import Trial, TrialKind
from omagy_autoresearch.lines import one_line
from omagy_autoresearch.mission import Budget, Contract, EvaluatorSettings
from omagy_autoresearch.mission_draft import MissionDraft
from omagy_autoresearch.questions import Option
from omagy_supervisor.active import supervisor_lives
from omagy_supervisor.adapters.clock import SystemClock
from omagy_supervisor.adapters.codex.install import find_codex
from omagy_supervisor.adapters.drafts import DraftFiles
from omagy_supervisor.adapters.git.facts import RepositoryFacts, find_repository, is_ignored, is_lane, uncommitted
from omagy_supervisor.adapters.interrupts import Interrupts
from omagy_supervisor.arguments import SEEDS, Arguments
from omagy_supervisor.bootstrap import users_git
from omagy_supervisor.commands.background import background
from omagy_supervisor.commands.chosen import refuse_unwritable_name
from omagy_supervisor.commands.claiming import Claim
from omagy_supervisor.commands.inferring import infer
from omagy_supervisor.commands.interviewing import Acts, Conversation, End
from omagy_supervisor.commands.launch import budget_with_flags, choose_agent, launch, refuse_inside_session
from omagy_supervisor.commands.seeding import BUDGET_FLAGS, given_answers, merged, read_seeds
from omagy_supervisor.commands.trying import try_out
from omagy_supervisor.daemon import another_run_active
from omagy_supervisor.paths import StateRoot
from omagy_supervisor.scaffold import scaffold
from omagy_supervisor.settings import Settings
from omagy_supervisor.ui.prompts import Gesture, Manner, Prompts, choose, confirm, make_prompts, on_a_terminal
from omagy_supervisor.workflow_run import refuse_beside_modes

_NEW = "new interview"
_MOST_DRAFTS = 8


def interview(arguments: Arguments, settings: Settings) -> int:
    """Ask, try, and on request launch; returns the exit status. Raises OmagyError."""
    refuse_inside_session(settings)
    seeds = read_seeds(arguments)
    budget_with_flags(Budget(), arguments)  # a wrong limit is told before the first question
    if not on_a_terminal():
        raise _nobody_to_ask()
    here = Path.cwd()
    facts = find_repository(users_git(settings, here), here)
    refuse_unwritable_name(facts.root)
    if is_lane(facts):
        raise ContractError(f"{facts.root} is the lane of a run", "start from your own checkout")
    interrupts = Interrupts()
    prompts = make_prompts(settings.environment, Manner(tuple(Gesture), "< back, ? explain", interrupts.check))
    root = StateRoot(facts.root)
    drafts = DraftFiles(root.specs)
    intake = _Intake(facts, settings, arguments, drafts, prompts, interrupts, Claim(root, drafts))
    try:
        return intake.run(seeds)
    except KeyboardInterrupt:
        intake.interrupted()
        return int(ExitStatus.INTERLUDE)
    finally:
        intake.claim.give_up()


def _nobody_to_ask() -> ContractError:
    return ContractError(
        "a mission folder is missing, and without a terminal nobody can be asked for one",
        "start a mission: omagy autoresearch <mission-dir>\n"
        "write one: omagy autoresearch init --topic '…' --evaluator '…' --slug <name>\n"
        "have one made for this repository: omagy autoresearch init --template tests\n"
        "go on with a run: omagy autoresearch --resume <run-id>",
    )


@dataclass
class _Intake:
    """One sitting. ``claim`` has the name of the draft on disk, ``conversation`` is there once a draft is."""

    facts: RepositoryFacts
    settings: Settings
    arguments: Arguments
    drafts: DraftFiles
    prompts: Prompts
    interrupts: Interrupts
    claim: Claim
    conversation: Conversation | None = None

    def run(self, seeds: Seeds) -> int:
        state = self._begin(seeds)
        can_infer = find_codex(self.settings.environment) is not None
        acts = Acts(
            keep=self._keep,
            try_out=self._try_out,
            infer=self._infer if can_infer else None,
            obstacles=self._obstacles,
        )
        self.conversation = Conversation(self.prompts, acts, state, infer_first=self.arguments.has("--infer"))
        with self.interrupts.held():
            end, ready = self.conversation.run()
        return self._end(end, ready)

    def _try_out(self, draft: MissionDraft, kind: TrialKind) -> Trial:
        with self.interrupts.ending():
            return try_out(draft, kind, self._now(), self.settings, self.prompts.tell)

    def _infer(self, goal: str) -> Inferred:
        with self.interrupts.ending():
            return infer(goal, self.facts, self.settings)

    def _now(self) -> RepositoryFacts:
        """The repository as it is now: what a trial missed may have been committed since."""
        return find_repository(users_git(self.settings, self.facts.root), self.facts.root)

    # -- beginning

    def _begin(self, seeds: Seeds) -> Interview:
        record, now = self._earlier(seeds.slug), seeds
        if record is not None:
            refused = self.claim.take(record.slug, resumed=True)
            if refused:
                raise ContractError(refused, f"go on there, or choose another name: --slug {record.slug}-2")
            seeds = merged(record.seeds, now)
        known = background(self.facts, self.settings, seeds, self.drafts, self.claim)
        if seeds.slug and seeds.slug in dict(known.taken):
            raise ContractError(f"--slug {seeds.slug}: {dict(known.taken)[seeds.slug]}", _how_to_start(seeds.slug))
        self._greet(known)
        return Interview(known=known) if record is None else self._resumed(record, known, now)

    def _earlier(self, slug: str) -> Saved | None:
        """The draft to go on with: the one that is named, or one that the person chooses."""
        if slug:
            record = self.drafts.read(slug)
            return None if record is not None and launched(record) else record
        left = (one for one in self.drafts.all() if not launched(one) and not self.claim.is_open(one.slug))
        found = list(islice(left, _MOST_DRAFTS))
        return self._chosen_draft(found) if found else None

    def _chosen_draft(self, found: Sequence[Saved]) -> Saved | None:
        options = [Option(f"go on with {record.slug}", record.slug, topic_of(record)) for record in found]
        options.append(Option("begin something new", _NEW))
        while True:
            given: str | bool | Gesture
            if len(found) == 1:
                given = confirm(self.prompts, f"Go on with the draft {found[0].slug}?", default=True)
            else:
                given = choose(self.prompts, "Go on with a draft?", options, found[0].slug)
            if not isinstance(given, Gesture):
                wanted = (found[0].slug if given else _NEW) if isinstance(given, bool) else given
                return next((record for record in found if record.slug == wanted), None)
            about = "\n".join(f"- {record.slug}: {topic_of(record)}" for record in found)
            self.prompts.tell(f"A draft is an interview that was left before its launch.\n{about}")

    def _resumed(self, record: Saved, known: Background, now: Seeds) -> Interview:
        """The interview of ``record``, with the answers that the command line gives ``now``."""
        state, lost = restored(record, known)
        self.prompts.tell(f"Going on with the draft {record.slug}.")
        if lost:
            self.prompts.tell(f"This does not hold any more, and is asked again: {lost}")
        state = tried_anew(state)
        changes = {which: given for which, given in given_answers(now).items() if state.answers.get(which) != given}
        changed = change(state, changes) if changes.keys() & state.answers.keys() else state
        if isinstance(changed, Problem):
            raise ContractError(changed.text)
        return changed

    def _greet(self, known: Background) -> None:
        count = len(known.proposals)
        ways = "no usual way" if count == 0 else "1 way" if count == 1 else f"{count} ways"
        unfit = sum(1 for proposal in known.proposals if proposal.needs)
        more = " (you can name a command of your own)" if count == 0 else ""
        if unfit:
            more = f" ({unfit} with tools that are not installed here)"
        self.prompts.tell(
            f"omagy looked at {known.repository} and found {ways} to measure it{more}.\n"
            "A few questions, then a trial; nothing is launched before you say so. "
            "Enter takes what is offered, < goes back, ? explains, Ctrl-C leaves and keeps the draft."
        )
        changed = uncommitted(users_git(self.settings, self.facts.root), self.facts)
        if changed:
            paths = "1 uncommitted path is" if len(changed) == 1 else f"{len(changed)} uncommitted paths are"
            named = ", ".join(one_line(path, 40) for path in changed[:3])
            self.prompts.tell(
                f"note: {paths} not part of a trial or a run ({named}{', …' if len(changed) > 3 else ''}); "
                "commit first what matters"
            )

    # -- the draft

    def _keep(self, state: Interview, launched_as: str = "") -> str:
        """Write the draft once it has a name; one that got another name moves. Says why it cannot have that name."""
        if not state.slug:
            return ""
        before = self.claim.name
        refused = self.claim.take(state.slug)
        if refused:
            return refused
        at = SystemClock().now().isoformat(timespec="microseconds")
        self.drafts.write(saved(state, at=at, launched=launched_as), markdown(state))
        if before and before != state.slug:
            self.drafts.remove(before)
        return ""

    def interrupted(self) -> None:
        """Ctrl-C: what was said is kept, even before it had a name."""
        state = self.conversation.state if self.conversation is not None else None
        while state is not None and state.answered and not state.slug and not self.claim.name:
            named = answer(state, "")
            refused = "" if isinstance(named, Problem) else self._keep(named)
            state = with_taken(state, named.slug, refused) if refused and isinstance(named, Interview) else None
        self._tell_kept()

    def _tell_kept(self) -> None:
        if self.claim.name:
            self.prompts.tell(
                f"\nThe draft is kept: {self.drafts.document(self.claim.name)}\n"
                f"Go on with it: omagy autoresearch --slug {self.claim.name}"
            )
        else:
            self.prompts.tell("\nNothing was said yet, so nothing is kept.")

    # -- the end

    def _obstacles(self, state: Interview) -> Sequence[str]:
        """Everything that keeps ``state`` from being launched now, with the way out."""
        found = list(missing(state, broken_baseline=self.arguments.has("--allow-broken-baseline")))
        rule = is_ignored(users_git(self.settings, self.facts.root), self.facts, f"{state.draft.place}/mission.md")
        if rule:
            found.append(f"git ignores {state.draft.place} ({rule}); take it out of the ignore rule")
        if os.path.lexists(self.facts.root / state.draft.place):
            found.append(
                f"{state.draft.place} exists already, and a mission is never overwritten; choose another name"
            )
        root = StateRoot(self.facts.root)
        if supervisor_lives(root):
            found.append(_shown(another_run_active(root)))
        agent = self._with_agent(state.answers.get(QuestionId.AGENT, "codex"))
        for refuses in (
            lambda: refuse_beside_modes(root),
            lambda: choose_agent(agent, _contract(state.draft), self.settings),
        ):
            try:
                refuses()
            except OmagyError as error:
                found.append(_shown(error))
        return found

    def _with_agent(self, agent: str) -> Arguments:
        """What the command line says beside the answers that it gave: those may have been changed since."""
        answered = (*SEEDS, *BUDGET_FLAGS)
        values = {name: value for name, value in self.arguments.values.items() if name not in answered}
        return replace(self.arguments, values={**values, "--agent": agent})

    def _end(self, end: End, ready: Ready) -> int:
        assert self.conversation is not None
        if end is End.LEAVE:
            self._tell_kept()
            return int(ExitStatus.OK)
        folder = scaffold(self.facts.root, ready.draft)
        self._keep(self.conversation.state, ready.draft.place)
        self.prompts.tell(f"The mission is written: {ready.draft.place}")
        if end is End.WRITE:
            self.prompts.tell(_how_to_start(ready.draft.slug))
            return int(ExitStatus.OK)
        self.claim.give_up()  # the run is followed from here, for hours
        try:
            return launch(replace(self._with_agent(ready.agent), mission=str(folder)), self.settings)
        except OmagyError as error:
            error.hint = f"{error.hint}\n{_how_to_start(ready.draft.slug)}".strip()
            raise


def _contract(draft: MissionDraft) -> Contract:
    return Contract(evaluator=EvaluatorSettings(command=draft.command))


def _how_to_start(slug: str) -> str:
    return f"start it when you like: omagy autoresearch missions/{slug}"


def _shown(error: OmagyError) -> str:
    hint = "; ".join(line.strip() for line in error.hint.splitlines())
    return f"{error.message}{f' ({hint})' if hint else ''}"
