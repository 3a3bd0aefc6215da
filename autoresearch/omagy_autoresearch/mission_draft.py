"""A mission that is being written, and the two files it becomes (contract sections 2 and 9)."""

import shlex

from msgspec import Struct

from omagy_autoresearch.decision import Direction, KeepPolicy
from omagy_autoresearch.evaluator_scripts import EvaluatorScript
from omagy_autoresearch.mission import Constraint, Isolation
from omagy_autoresearch.mission_templates import TEMPLATES
from omagy_autoresearch.proposal import MISSION, Proposal
from omagy_autoresearch.yaml_text import Block, render


class MissionDraft(Struct, frozen=True, kw_only=True):
    """What is known of a mission. ``topic`` is its one-line goal, ``mission_text`` all of ``mission.md``.

    Without a ``mission_text`` one is made of topic, ``success``, ``may_change``, ``must_not_break`` and ``advice``.
    """

    slug: str
    topic: str
    command: str
    folder: str = ""  # from the root of the repository; empty: missions/<slug>
    mission_text: str = ""
    sandbox_text: str = ""  # below the frontmatter; empty: made of what is known
    success: str = ""
    may_change: str = ""
    must_not_break: str = ""
    advice: str = ""
    script: EvaluatorScript | None = None
    direction: Direction = Direction.MAXIMIZE
    keep_policy: KeepPolicy = KeepPolicy.SCORE_IMPROVEMENT
    timeout: str = "10m"
    isolation: Isolation = "lane"
    setup: str | None = None
    guard: str | None = None
    protected: tuple[str, ...] = ()
    editable: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    min_improvement: str | None = None
    repeats: int = 1
    max_iterations: int | None = 20
    max_wall_time: str | None = "8h"
    caution: str = ""

    @property
    def place(self) -> str:
        """The mission folder, from the root of the repository."""
        return self.folder or f"missions/{self.slug}"

    def in_place(self, command: str) -> str:
        """``command`` with the mission folder's name in it."""
        return command.replace(MISSION, shlex.quote(self.place))


def draft_from(proposal: Proposal, *, slug: str, topic: str = "") -> MissionDraft:
    """A draft that is measured as ``proposal`` says; without a ``topic`` the usual one for such a measurement."""
    template = TEMPLATES[proposal.measure]
    same = {name for name in MissionDraft.__struct_fields__ if name in proposal.__struct_fields__}
    taken = {name: getattr(proposal, name) for name in same}
    return MissionDraft(
        slug=slug, topic=topic or template.topic, success=template.success, advice=template.advice, **taken
    )


def mission_files(draft: MissionDraft) -> dict[str, str]:
    """The files of the mission folder by name: ``mission.md``, ``sandbox.md``, and the script where there is one."""
    files = {"mission.md": _mission(draft), "sandbox.md": _sandbox(draft)}
    if draft.script is not None:
        files[draft.script.name] = draft.script.text
    return files


def _mission(draft: MissionDraft) -> str:
    if draft.mission_text.strip():
        return draft.mission_text.rstrip("\n") + "\n"
    sections = (
        ("What success looks like", _success(draft)),
        ("How to go about it", draft.advice),
        ("What may change", draft.may_change or _may_change(draft)),
        ("What must not change", _must_not(draft)),
    )
    told = [(title, text.strip()) for title, text in sections if text.strip()]
    parts = [f"# {' '.join(draft.topic.split())}", *(f"## {title}\n\n{text}" for title, text in told)]
    return "\n\n".join(parts) + "\n"


def _success(draft: MissionDraft) -> str:
    passes = draft.keep_policy is KeepPolicy.PASS_ONLY
    better = "passes" if passes else f"reports a {_BETTER[draft.direction]} score"
    how = f"{draft.success.strip()}\n\n" if draft.success.strip() else ""
    text = f"{how}The evaluator {better}. Measure before and after a change, and make one change per iteration:\n\n"
    return text + "".join(f"    {line}\n" for line in draft.in_place(draft.command).splitlines())


_BETTER = {Direction.MAXIMIZE: "higher", Direction.MINIMIZE: "lower"}


def _may_change(draft: MissionDraft) -> str:
    if draft.editable:
        return "Only " + ", ".join(f"`{glob}`" for glob in draft.editable) + "."
    return "Everything that is not named below."


def _must_not(draft: MissionDraft) -> str:
    lines = [draft.must_not_break.strip()] if draft.must_not_break.strip() else []
    lines.append("- What the program does for those who use it.")
    lines += [f"- `{glob}`" for glob in (*draft.protected, f"{draft.place}/**")]
    if draft.guard:
        lines.append("- What the guard checks: `" + " ".join(draft.in_place(draft.guard).split()) + "`")
    return "\n".join(lines)


def _sandbox(draft: MissionDraft) -> str:
    body = draft.sandbox_text.strip() or _how(draft)
    return f"---\n{render(_frontmatter(draft))}---\n\n{body}\n"


def _frontmatter(draft: MissionDraft) -> Block:
    evaluator: Block = {
        "command": draft.in_place(draft.command),
        "format": "json",
        "keep_policy": draft.keep_policy.value,
        "direction": draft.direction.value,
        "timeout": draft.timeout,
    }
    if draft.isolation != "lane":
        evaluator["isolation"] = draft.isolation
    if draft.repeats > 1:
        evaluator["repeats"] = draft.repeats
    if draft.min_improvement:
        evaluator["min_improvement"] = draft.min_improvement
    if draft.constraints:
        evaluator["constraints"] = [_constraint(one) for one in draft.constraints]
    front: Block = {"evaluator": evaluator}
    if draft.guard:
        front["guard"] = {"command": draft.in_place(draft.guard), "timeout": draft.timeout}
    protected = (*(() if draft.script is None else (f"{draft.place}/**",)), *draft.protected)
    if protected:
        front["protected"] = list(protected)
    if draft.editable:
        front["editable"] = list(draft.editable)
    if draft.setup:
        front["worktree"] = {"setup": draft.in_place(draft.setup)}
    budget: Block = {"max_iterations": draft.max_iterations, "max_wall_time": draft.max_wall_time}
    front["budget"] = {key: value for key, value in budget.items() if value is not None}
    return {key: value for key, value in front.items() if value != {}}


def _constraint(constraint: Constraint) -> Block:
    limits: Block = {"min": constraint.min, "max": constraint.max}
    return {"metric": constraint.metric, **{key: value for key, value in limits.items() if value is not None}}


def _how(draft: MissionDraft) -> str:
    lines = ["# How a candidate is evaluated", ""]
    if draft.script is not None:
        lines.append(f"`{draft.script.name}` in this folder says at its top what it runs and what its score means.")
    else:
        lines.append("The evaluator's command prints one JSON object with `pass` and `score`.")
    if draft.caution:
        lines += ["", f"What the score does not see: {draft.caution}"]
    return "\n".join(lines)
