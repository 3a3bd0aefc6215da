"""What is said to a session about each kind of measurement, where a person has not said it better."""

from msgspec import Struct

from omagy_autoresearch.proposal import Measure


class Template(Struct, frozen=True):
    """``topic`` is the goal in one line, ``success`` how it shows, ``advice`` what helps and what does not count."""

    topic: str
    success: str
    advice: str


TEMPLATES = {
    Measure.TESTS: Template(
        "Make more tests pass",
        "More of the tests pass, for reasons that hold for other inputs too. The score is their number.",
        "- Read a failing test first: it says what is right. Mend the code, not the test.\n"
        "- One cause at a time: a change that makes several tests pass for one reason is a good one.\n"
        "- Results that are made up for the inputs of a test are no improvement.",
    ),
    Measure.SPEED: Template(
        "Make it faster",
        "The same work takes less time. The score says how long it takes; small differences are noise.",
        "- Find out where the time goes before changing anything: a profile, a count of calls.\n"
        "- Less work beats faster work: a better algorithm, a loop that is not needed.\n"
        "- Results that are stored for the inputs of the benchmark are no improvement.",
    ),
    Measure.SIZE: Template(
        "Make it smaller",
        "What is built takes fewer bytes and does all it did before.",
        "- Find out what takes the space before changing anything.\n"
        "- Look for what is there twice, what is never used, and dependencies that bring much for little.\n"
        "- A feature that is taken out, or loaded from elsewhere, is no improvement.",
    ),
    Measure.LINT: Template(
        "Leave fewer complaints",
        "The checker complains less, because the code is better. The score is the number of its complaints.",
        "- Mend what is complained of. Comments that silence the checker, and changes to its configuration, do not\n"
        "  count.\n"
        "- One kind of complaint at a time.\n"
        "- The code does what it did before: the tests say so.",
    ),
    Measure.TYPES: Template(
        "Leave fewer type errors",
        "The type checker finds fewer errors, because the types are right. The score is their number.",
        "- Say what a value is; `Any`, casts and comments that silence the checker are no improvement.\n"
        "- An error often shows a mistake in the code: mend that.\n"
        "- The code does what it did before: the tests say so.",
    ),
    Measure.COVERAGE: Template(
        "Test more of the code",
        "The tests run more of the code, and check what it does. The score is the share of lines that they run.",
        "- Look for what is not tested and matters: errors, limits, branches.\n"
        "- Every test asserts something that could be wrong. A test that only runs code is no improvement.\n"
        "- A test that shows a mistake in the code is worth a note; the code itself is not to be changed.",
    ),
    Measure.METRIC: Template(
        "Improve the number that is measured",
        "The number gets better because the program does.",
        "- Find out what the number depends on before changing anything.\n"
        "- Another way of working out or printing the number is no improvement.",
    ),
    Measure.TRAINING: Template(
        "Train to a better result",
        "The last value of the metric is better, with the same data and the same limits.",
        "- One idea per iteration: architecture, optimiser, schedule, data order.\n"
        "- Data, evaluation, seeds and the time limit stay as they are.\n"
        "- Another way of working out or printing the metric is no improvement.",
    ),
}
