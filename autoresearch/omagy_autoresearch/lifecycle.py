"""The terminal stop model (contract section 5): the five ways in which a run ends."""

from enum import StrEnum

from omagy_autoresearch.errors import ExitStatus


class Outcome(StrEnum):
    """Canonical lifecycle outcomes, spelt as everything that reads our records expects them."""

    FINISHED = "finished"
    BLOCKED = "blocked"
    FAILED = "failed"
    USERINTERLUDE = "userinterlude"
    ASK_USER_QUESTION = "askuserQuestion"

    @property
    def terminal(self) -> bool:
        """True when a run that ended so cannot be resumed."""
        return self in (Outcome.FINISHED, Outcome.FAILED)

    @property
    def exit_status(self) -> ExitStatus:
        return _EXIT[self]


_EXIT = {
    Outcome.FINISHED: ExitStatus.OK,
    Outcome.BLOCKED: ExitStatus.BLOCKED,
    Outcome.FAILED: ExitStatus.FAILED,
    Outcome.USERINTERLUDE: ExitStatus.INTERLUDE,
    Outcome.ASK_USER_QUESTION: ExitStatus.QUESTION,
}
