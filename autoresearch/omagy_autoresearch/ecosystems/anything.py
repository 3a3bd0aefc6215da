"""What can be measured in any repository, once a person has named a command."""

from collections.abc import Iterator

from omagy_autoresearch.decision import Direction
from omagy_autoresearch.ecosystems.evidence import EVALUATE, OUTPUT_STAYS
from omagy_autoresearch.evaluator_scripts import script
from omagy_autoresearch.proposal import Confidence, Measure, Proposal, RepositoryFacts

MARKERS: tuple[str, ...] = ()
TOOLS = ("python3",)
_TOP = "at the top of evaluate.py"


def samples(path: str) -> bool:  # noqa: ARG001
    return False


def propose(facts: RepositoryFacts) -> Iterator[Proposal]:
    """A sketch for each measure that needs nothing of an ecosystem."""
    why = "works for any command"
    needs = () if "python3" in facts.tools or not facts.tools else ("python3",)
    yield Proposal(
        key="any.time",
        measure=Measure.SPEED,
        title="run time of a command that you name",
        why=why,
        direction=Direction.MINIMIZE,
        command=EVALUATE,
        script=script("time_command"),
        constraints=(OUTPUT_STAYS,),
        repeats=3,
        min_improvement="2%",
        confidence=Confidence.SKETCH,
        needs=needs,
        caution="an output that is stored instead of computed: read what is kept",
        todo=f"write the command into COMMAND, {_TOP}",
    )
    yield Proposal(
        key="any.size",
        measure=Measure.SIZE,
        title="size of files that a command of yours makes",
        why=why,
        direction=Direction.MINIMIZE,
        command=EVALUATE,
        script=script("measure_size"),
        confidence=Confidence.SKETCH,
        needs=needs,
        caution="a part that was moved to where OUTPUTS does not look",
        todo=f"write the build into BUILD and what it makes into OUTPUTS, {_TOP}",
    )
    for measure, title in (
        (Measure.METRIC, "a number that a command of yours prints or logs"),
        (Measure.TRAINING, "last value of a metric that your training prints"),
    ):
        yield Proposal(
            key=f"any.{measure}",
            measure=measure,
            title=title,
            why=why,
            direction=Direction.MINIMIZE,
            command=EVALUATE,
            script=script("read_metric"),
            timeout="2h" if measure is Measure.TRAINING else "30m",
            confidence=Confidence.SKETCH,
            needs=needs,
            caution="whether the number is true: the command reports it about itself",
            todo=f"write the command into COMMAND and its number into METRIC, {_TOP}; say which direction is better",
        )
