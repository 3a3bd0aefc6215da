"""A quiet session is observed, once each time its silence has doubled."""

from pathlib import Path

from omagy_supervisor.paths import AttemptFolder
from omagy_supervisor.quiet import LOOK_S, QuietWatch, last_output


def test_silence_is_told_once_for_each_doubling(tmp_path: Path) -> None:
    """At one, two, four and eight looks, and not in between."""
    watch = QuietWatch(AttemptFolder(tmp_path))
    told = [watch.look(LOOK_S) for _ in range(10)]
    assert [number for number, seconds in enumerate(told, 1) if seconds] == [1, 2, 4, 8]
    assert told[7] == 8 * LOOK_S


def test_any_output_begins_the_silence_anew(tmp_path: Path) -> None:
    """Whichever of the runner's files it goes to."""
    attempt = AttemptFolder(tmp_path)
    watch = QuietWatch(attempt)
    assert last_output(attempt) is None
    for path in attempt.output:
        assert watch.look(LOOK_S) == LOOK_S
        path.write_text("still here")
        assert watch.look(LOOK_S) is None
    assert last_output(attempt) is not None
