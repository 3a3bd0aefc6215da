"""What somebody observed of a loop, as facts that rules can be applied to, and what in it contradicts itself.

Nothing is guessed: a value of the wrong type, an unknown state, a key that is nearly one of ours are contradictions.
"""

import difflib
import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from omagy_autoresearch.lifecycle import Outcome, normalise
from omagy_autoresearch.lines import one_line


class State(StrEnum):
    BLOCKED = "blocked"
    DONE = "done"
    APPROVAL_READY = "approval_ready"
    MERGE_READY = "merge_ready"
    WAITING = "waiting"
    INITIAL_COPILOT = "waiting_for_initial_copilot_implementation"
    COPILOT_REVIEW = "waiting_for_copilot_review"
    MERGE_AUTHORIZATION = "waiting_for_merge_authorization"


class Strategy(StrEnum):
    DEV_LOOP = "dev-loop"
    WAIT_WATCH = "wait_watch"
    ISSUE_INTAKE = "issue_intake"
    COPILOT_PR_FOLLOWUP = "copilot_pr_followup"
    FINAL_APPROVAL = "final_approval"


WAITS = (State.WAITING, State.INITIAL_COPILOT, State.COPILOT_REVIEW)

_OWN_STRATEGY = {
    State.APPROVAL_READY: Strategy.FINAL_APPROVAL,
    State.WAITING: Strategy.WAIT_WATCH,
    State.INITIAL_COPILOT: Strategy.ISSUE_INTAKE,
    State.COPILOT_REVIEW: Strategy.COPILOT_PR_FOLLOWUP,
}
"""States that one strategy has a rule for. ``dev-loop`` is the whole loop, so it has the rules of all."""

_STATE_OF_OUTCOME = {
    Outcome.FINISHED: State.DONE,
    Outcome.FAILED: State.DONE,
    Outcome.BLOCKED: State.BLOCKED,
    Outcome.ASK_USER_QUESTION: State.BLOCKED,
    Outcome.USERINTERLUDE: State.BLOCKED,
}

KEYS: Mapping[str, str] = {
    "state": "one of the states; `lifecycle_state`, and `done` or `blocked` as true, say the same",
    "strategy": "which strategy the loop follows; left out when any",
    "merge_authorized": "true once somebody authorized the merge in so many words",
    "autonomy.humanMergeOnly": 'true when only a person may merge; also as `{"autonomy": {"humanMergeOnly": …}}`',
    "quiet": "true when what is watched has been silent",
    "startup_inputs": "of `dev-loop`: an object of the inputs, or true once they are complete",
    "waited_s": "seconds of the wait so far; or `waiting_since` and `now`, as ISO times with a zone",
    "active": "whether the workflow is said to be active",
    "session_alive": "whether a session of it lives",
    "lifecycle_outcome": "how it ended; `run_outcome` and `current_phase` of older records are read too",
}
"""What an observation may say. Other keys are somebody else's, and passed over unless they look like one of these."""

_ALIASES = ("lifecycle_state", "autonomy", "waiting_since", "now", "run_outcome", "current_phase", "completed_at")
_KNOWN = (*KEYS, *_ALIASES, State.DONE.value, State.BLOCKED.value)
_NEAR = 0.75


class Facts(Struct, frozen=True):
    """``contradictions`` say what does not fit; with any of them nothing else here may be believed."""

    state: State | None = None
    strategy: Strategy | None = None
    merge_authorized: bool = False
    human_merge_only: bool = False
    quiet: bool = False
    inputs_missing: bool = False
    waited_s: float | None = None
    contradictions: tuple[str, ...] = ()

    @property
    def at_merge(self) -> bool:
        """True where the next thing would be a merge, and where nobody says that it is not."""
        if self.state is State.APPROVAL_READY:
            return self.merge_authorized
        return self.state in (None, State.MERGE_READY, State.MERGE_AUTHORIZATION)


def observe(observation: object) -> Facts:
    """The facts of any JSON value. Never raises: what is wrong with it is told in ``contradictions``."""
    if not isinstance(observation, Mapping):
        return Facts(contradictions=("the observation is no JSON object",))
    reader = _Reader(observation)
    facts = reader.facts()
    return replace(facts, contradictions=tuple(dict.fromkeys(reader.found)))


class _Reader:
    """Reads one observation, and collects what does not fit on the way."""

    def __init__(self, observation: Mapping[str, object]) -> None:
        self._said = observation
        self.found: list[str] = [*_misspelt(observation)]

    def facts(self) -> Facts:
        strategy = self._strategy()
        active, session_alive = self._boolean("active"), self._boolean("session_alive")
        state, ended = self._state()
        facts = Facts(
            state=state,
            strategy=strategy,
            merge_authorized=self._boolean("merge_authorized") is True,
            human_merge_only=self._human_merge_only(),
            quiet=self._boolean("quiet") is True,
            inputs_missing=self._inputs_missing(strategy),
            waited_s=self._waited_s(),
        )
        self._compare(facts, active, session_alive, ended=ended or state is State.DONE)
        return facts

    def _compare(self, facts: Facts, active: bool | None, session_alive: bool | None, *, ended: bool) -> None:
        """What each of two facts may say, but not both."""
        state, own = facts.state, _OWN_STRATEGY.get(facts.state) if facts.state else None
        if ended and active is True:
            self.found.append("it has ended, and is said to be active")
        if ended and session_alive is True:
            self.found.append("it has ended, and a session of it is alive")
        if state in WAITS and active is False:
            self.found.append(f"the state is {state}, and it is said not to be active")
        if own is not None and facts.strategy not in (None, own, Strategy.DEV_LOOP):
            self.found.append(f"no rule covers the state {state} in the strategy {facts.strategy}")
        told = facts.quiet or facts.inputs_missing or facts.human_merge_only or active is True
        if state is None and not told and not self.found:
            self.found.append("nothing says which state it is in")

    def _state(self) -> tuple[State | None, bool]:
        """The one state that everything agrees on, and whether a record of an end stands behind it."""
        named = {state for key in ("state", "lifecycle_state") for state in self._states(key)}
        named |= {state for state in (State.DONE, State.BLOCKED) if self._boolean(state) is True}
        reading = normalise({key: self._said.get(key) for key in self._said if key != "status"})
        if reading.problem:
            self.found.append(reading.problem)
        if reading.outcome is not None:
            named.add(_STATE_OF_OUTCOME[reading.outcome])
        elif reading.ended and not named:
            self.found.append("it is over, and nothing says how it ended")
        if len(named) > 1:
            self.found.append(f"it cannot be {' and '.join(sorted(named))} at once")
        return (next(iter(named)) if len(named) == 1 else None), reading.outcome is not None

    def _states(self, key: str) -> Iterator[State]:
        value = self._said.get(key)
        for one in value if isinstance(value, list) else [value]:
            if one is None:
                continue
            try:
                yield State(one.strip().lower() if isinstance(one, str) else "")
            except ValueError:
                self.found.append(f"{key} is {_shown(one)}, which is no state that a rule knows")

    def _strategy(self) -> Strategy | None:
        value = self._said.get("strategy")
        if value is None:
            return None
        try:
            return Strategy(value.strip().lower() if isinstance(value, str) else "")
        except ValueError:
            self.found.append(f"strategy is {_shown(value)}, which is no strategy that a rule knows")
            return None

    def _human_merge_only(self) -> bool:
        nested = self._said.get("autonomy")
        if nested is not None and not isinstance(nested, Mapping):
            self.found.append("autonomy is no JSON object")
            nested = None
        said = [
            self._boolean("autonomy.humanMergeOnly"),
            self._flag("autonomy.humanMergeOnly", (nested or {}).get("humanMergeOnly")),
        ]
        if True in said and False in said:
            self.found.append("autonomy.humanMergeOnly is said to be true, and to be false")
        if isinstance(nested, Mapping):
            self.found += [f"autonomy.{found}" for found in _misspelt(nested, ("humanMergeOnly",))]
        return True in said

    def _inputs_missing(self, strategy: Strategy | None) -> bool:
        value = self._said.get("startup_inputs")
        if strategy not in (None, Strategy.DEV_LOOP):
            if value is not None and not _complete(value):
                self.found.append(f"startup inputs are missing, and no rule covers that in the strategy {strategy}")
            return False
        if value is not None and not isinstance(value, bool | Mapping):
            self.found.append("startup_inputs is neither a JSON object nor a boolean")
        return (value is not None or strategy is Strategy.DEV_LOOP) and not _complete(value)

    def _waited_s(self) -> float | None:
        waited, since = self._said.get("waited_s"), self._said.get("waiting_since")
        if waited is not None:
            if isinstance(waited, bool) or not isinstance(waited, int | float) or not 0 <= waited < math.inf:
                self.found.append(f"waited_s is {_shown(waited)}, which is no number of seconds")
                return None
            return float(waited)
        if since is None:
            return None
        begun, now = _moment(since), _moment(self._said.get("now"))
        if begun is None or now is None or now < begun:
            self.found.append("waiting_since and now do not make a time that was waited")
            return None
        return (now - begun).total_seconds()

    def _boolean(self, key: str) -> bool | None:
        return self._flag(key, self._said.get(key))

    def _flag(self, name: str, value: object) -> bool | None:
        if value is None or isinstance(value, bool):
            return value
        self.found.append(f"{name} is {_shown(value)}, and not true or false")
        return None


def _complete(inputs: object) -> bool:
    """An object of inputs, none of which is null or blank; or plainly true."""
    if isinstance(inputs, Mapping):
        return bool(inputs) and not any(v is None or (isinstance(v, str) and not v.strip()) for v in inputs.values())
    return inputs is True


def _misspelt(said: Mapping[str, object], known: tuple[str, ...] = _KNOWN) -> Iterator[str]:
    """Keys that are nearly ours: a permission or a prohibition must not get lost to a typo."""
    folded = {key.lower(): key for key in known}
    for key in said:
        if key in known:
            continue
        near = difflib.get_close_matches(key.lower(), list(folded), n=1, cutoff=_NEAR)
        if near:
            yield f"{one_line(key, 40)} is no key of an observation; is {folded[near[0]]} meant?"


def _moment(value: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def _shown(value: object) -> str:
    return f"'{one_line(value, 40)}'" if isinstance(value, str) else one_line(repr(value), 40)
