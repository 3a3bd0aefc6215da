"""Ctrl-C during an interview is never lost, wherever the program is when it comes."""

import os
import signal
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from omagy_autoresearch.questions import Option
from omagy_supervisor.adapters.interrupts import Interrupts
from omagy_supervisor.commands.probing import stoppable
from omagy_supervisor.paths import RunFolder
from omagy_supervisor.ui.plain_prompts import PlainPrompts
from omagy_supervisor.ui.prompts import Manner, choose


class Thing:
    """Something that Python can forget."""


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def press_in_a_callback() -> None:
    """Where Python prints what is raised, and drops it."""
    thing = Thing()
    watched = weakref.ref(thing, lambda _: press())
    del thing
    assert watched() is None


@pytest.mark.parametrize("pressed", [press, press_in_a_callback])
def test_the_next_question_is_not_asked(pressed: Callable[[], None]) -> None:
    """Even with an answer ready to be read."""
    interrupts = Interrupts()
    ours, theirs = os.pipe()
    os.write(theirs, b"1\n")
    prompts = PlainPrompts(Manner((), "", interrupts.check), ours)
    with interrupts.held():
        pressed()
        with pytest.raises(KeyboardInterrupt):
            choose(prompts, "Which?", (Option("a", "a"),), "a")
    os.close(ours)
    os.close(theirs)


def test_what_was_pressed_while_something_was_done_ends_that_alone() -> None:
    interrupts = Interrupts()
    with interrupts.held():
        with pytest.raises(KeyboardInterrupt), interrupts.ending():
            press_in_a_callback()
        interrupts.check()


def test_what_was_pressed_last_counts_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), Interrupts().held():
        press_in_a_callback()


def test_ctrl_c_after_a_measurement_ends_its_trial(tmp_path: Path) -> None:
    """It may come while what was measured in is cleaned away: nothing is left to be stopped, and it still counts."""
    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"), stoppable(RunFolder(tmp_path)):
        press()


def test_a_second_ctrl_c_is_not_held() -> None:
    """What does not come to such a point, and does not listen to Ctrl-C itself, does not hold the person either."""
    passed = []

    def press_again_and_again() -> None:
        for number in range(3):
            press()
            passed.append(number)

    with Interrupts().held(), pytest.raises(KeyboardInterrupt):
        press_again_and_again()
    assert passed == [0]
