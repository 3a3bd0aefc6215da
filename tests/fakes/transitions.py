"""What the transition contract expects, as cases that every surface (command line, MCP) is put through."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Transition:
    """Activate ``before`` in this order, then ``target``.

    ``after`` is the combination then; ``completed`` handed over; a denied one names ``pair``, and ``clear`` to go.
    """

    before: tuple[str, ...]
    target: str
    after: str
    completed: tuple[str, ...] = ()
    pair: str = ""
    clear: tuple[str, ...] = ()

    @property
    def denied(self) -> bool:
        return bool(self.pair)

    def __str__(self) -> str:
        return f"{'+'.join(self.before) or 'nothing'}-{self.target}"


def _handoff(source: str, target: str) -> Transition:
    return Transition((source,), target, target, (source,))


def _denied(before: str, target: str, pair: str, clear: str = "") -> Transition:
    names = tuple(before.split("+"))
    return Transition(names, target, before, pair=pair, clear=tuple((clear or before).split("+")))


PEERS = [
    Transition(order[:1], order[1], f"team+{partner}")
    for partner in ("ralph", "ultrawork", "ultragoal")
    for order in (("team", partner), (partner, "team"))
]
HANDOFFS = [
    *(_handoff("deep-interview", target) for target in ("team", "plan", "ralph", "ultrawork", "ultragoal", "review")),
    *(_handoff("plan", target) for target in ("team", "ralph", "ultragoal")),
    *(_handoff(source, "ultraqa") for source in ("review", "ultragoal", "ralph")),
]
DENIED = [
    _denied("ralph", "ultrawork", "ralph+ultrawork"),
    _denied("ralph", "ultragoal", "ralph+ultragoal"),
    _denied("ultrawork", "ultragoal", "ultrawork+ultragoal"),
    _denied("ultrawork", "ultraqa", "ultrawork+ultraqa"),
    _denied("team", "ultraqa", "team+ultraqa"),
    _denied("plan", "ultrawork", "plan+ultrawork"),
    _denied("review", "ultrawork", "review+ultrawork"),
    _denied("team+ralph", "ultraqa", "team+ultraqa", clear="team"),
    _denied("team+ralph", "ultrawork", "ralph+ultrawork", clear="ralph"),
    _denied("team+ultrawork", "ultragoal", "ultrawork+ultragoal", clear="ultrawork"),
    _denied("team+ultragoal", "review", "review+team"),
    _denied("team", "plan", "plan+team"),
    _denied("team", "autoresearch", "team+autoresearch"),
    _denied("deep-interview", "autoresearch", "deep-interview+autoresearch"),
]
ALL = [*PEERS, *HANDOFFS, *DENIED]
