"""The single measurements that a decision rests on."""

from enum import StrEnum

from msgspec import Struct

from omagy_autoresearch.evaluation import Evaluation


class ProbeKind(StrEnum):
    EVALUATOR = "evaluator"
    GUARD = "guard"
    HOLDOUT = "holdout"


class Target(StrEnum):
    CANDIDATE = "candidate"
    INCUMBENT = "incumbent"  # what is kept, and would be replaced


class Probe(Struct, frozen=True):
    """One measurement to make."""

    kind: ProbeKind = ProbeKind.EVALUATOR
    target: Target = Target.CANDIDATE


class Result(Struct, frozen=True):
    probe: Probe
    evaluation: Evaluation


class Measurement(Struct, frozen=True, omit_defaults=True):
    """A result as the ledger keeps it, without its output."""

    kind: ProbeKind
    target: Target
    passed: bool | None
    score: float | None = None
    error: str = ""
    duration_s: float = 0.0

    @classmethod
    def of(cls, result: Result) -> "Measurement":
        one, probe = result.evaluation, result.probe
        return cls(probe.kind, probe.target, one.passed, one.score, one.error[:200], one.duration_s)
