"""A training script: the last value of a metric that it prints."""

import re
import shlex
from collections.abc import Iterator, Sequence

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.ecosystems.evidence import EVALUATE, Part
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

_METRICS = (
    ("val_bpb", Direction.MINIMIZE),
    ("val_loss", Direction.MINIMIZE),
    ("valid_loss", Direction.MINIMIZE),
    ("eval_loss", Direction.MINIMIZE),
    ("test_loss", Direction.MINIMIZE),
    ("perplexity", Direction.MINIMIZE),
    ("val_accuracy", Direction.MAXIMIZE),
    ("val_acc", Direction.MAXIMIZE),
    ("accuracy", Direction.MAXIMIZE),
    ("f1", Direction.MAXIMIZE),
    ("auc", Direction.MAXIMIZE),
    ("loss", Direction.MINIMIZE),
)
_CAUTION = (
    "whether the number is true: the script reports it about itself. Protect data and evaluation, or hold a check out"
)


def training(facts: RepositoryFacts, part: Part, python: str, paths: Sequence[str]) -> Iterator[Proposal]:
    """A proposal for each training script among ``paths``, which lie in ``part``."""
    for path in paths[:2]:
        text = facts.texts.get(part.path(path), "")
        metric, direction = next(
            ((name, way) for name, way in _METRICS if re.search(rf"(?<![A-Za-z]){name}(?![A-Za-z])", text)),
            ("loss", Direction.MINIMIZE),
        )
        pattern = rf"(?<![A-Za-z]){metric}[\"']?\s*[=:]?\s*([-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf))"
        yield Proposal(
            key=f"python.training:{part.path(path)}",
            measure=Measure.TRAINING,
            title=f"last value of {metric} that {part.path(path)} prints",
            why=f"{part.path(path)} looks like a training script",
            direction=direction,
            command=EVALUATE,
            script=script("read_metric", COMMAND=part.command(f"{python} {shlex.quote(path)} 2>&1"), METRIC=pattern),
            timeout="2h",
            confidence=Confidence.LIKELY if metric in text else Confidence.SKETCH,
            caution=_CAUTION,
            todo="" if metric in text else "say in METRIC, at the top of evaluate.py, which number it prints",
        )
