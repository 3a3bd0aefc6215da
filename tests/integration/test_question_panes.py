"""Questions in the person's own tmux: a pane beside the asker's, and nothing else of that server changes."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from fakes.workspace import Workspace, lives, wait_until

CHOICE = {"question": "Which database?", "options": ["sqlite", {"label": "Postgres", "value": "pg"}]}


class Tmux:
    """The person's tmux, with a shell as the asker's pane."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._argv = [shutil.which("tmux") or "tmux", "-L", "persons", "-f", "/dev/null"]
        self.do("new-session", "-d", "-s", "mine", "-x", "120", "-y", "40", "-c", str(ws.root), "sh")
        self.do("set-option", "-g", "remain-on-exit", "on")
        self.asker = self.do("display-message", "-p", "#{pane_id}")
        self.shell = int(self.do("display-message", "-p", "#{pane_pid}"))
        self.out = ws.root.parent / "out.json"

    def do(self, *args: str) -> str:
        done = subprocess.run(
            [*self._argv, *args], env=self._ws.environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def press(self, *keys: str, pane: str) -> None:
        self.do("send-keys", "-t", pane, *keys)

    def ask(self, data: dict[str, Any], *options: str) -> str:
        """Ask from the asker's pane; returns the pane in which the question shows."""
        before = set(self.panes())
        self.type_question(data, *options)
        wait_until(lambda: len(set(self.panes()) - before) == 1, "the question's pane")
        (pane,) = set(self.panes()) - before
        return pane

    def type_question(self, data: dict[str, Any], *options: str) -> None:
        words = [
            sys.executable,
            "-m",
            "omagy_supervisor",
            "question",
            "--json",
            "--input",
            json.dumps(data),
            *options,
        ]
        line = f"{shlex.join(words)} > {self.out}; echo $? > {self.out}.status"
        self.do("send-keys", "-t", self.asker, "-l", line)
        self.press("Enter", pane=self.asker)

    def shows(self, pane: str, words: str) -> str:
        """All that the pane shows once ``words`` are in it.

        Wait for words of the question's own lines, before keys are pressed: what is typed before those is dropped.
        """
        shown = ""

        def look() -> bool:
            nonlocal shown
            shown = self.do("capture-pane", "-p", "-t", pane)
            return words in shown

        wait_until(look, f"{words!r} in the pane")
        return shown

    def answered(self) -> tuple[int, dict[str, Any]]:
        """The asker's exit status and what it printed."""
        status = Path(f"{self.out}.status")
        wait_until(lambda: status.exists() and status.read_text().endswith("\n"), "the asker's end")
        return int(status.read_text()), dict(json.loads(self.out.read_text()))

    def panes(self) -> list[str]:
        return self.do("list-panes", "-a", "-F", "#{pane_id}").split()

    def state(self) -> list[str]:
        """All of the server that somebody could miss."""
        panes = "#{pane_id} #{pane_pid} #{pane_active} #{pane_dead} #{window_layout} #{window_zoomed_flag}"
        return [
            *(self.do("list-panes", "-a", "-F", panes), self.do("show-environment", "-g"), self.do("list-keys")),
            *(self.do("show-options", "-g"), self.do("show-options", "-s"), self.do("list-buffers")),
        ]

    def close(self) -> None:
        subprocess.run([*self._argv, "kill-server"], env=self._ws.environment, capture_output=True, check=False)


@pytest.fixture
def tmux(ws: Workspace) -> Iterator[Tmux]:
    ws.commit()
    made = Tmux(ws)
    yield made
    made.close()
    wait_until(lambda: not lives(made.shell), "the end of the person's shell")


def open_question(ws: Workspace) -> str:
    found = json.loads(ws.omagy("question", "list", "--json").stdout)["questions"]
    (name,) = (one["id"] for one in found if one["status"] == "open")
    return str(name)


@pytest.mark.parametrize("keys", [("2", "Enter"), ("Down", "Enter"), ("Up", "Enter")])
def test_one_option_is_chosen_with_keys(tmux: Tmux, keys: tuple[str, ...]) -> None:
    """The pane has the focus that the asker's had, closes after the answer, and the layout is as before."""
    before = tmux.state()
    pane = tmux.ask(CHOICE)
    assert "1) sqlite" in tmux.shows(pane, "2) Postgres")
    assert tmux.do("display-message", "-p", "-t", pane, "#{pane_active}") == "1"
    tmux.press(*keys, pane=pane)
    status, result = tmux.answered()
    assert (status, result["ok"], result["answers"][0]["answer"]["value"]) == (0, True, "pg")
    assert tmux.state() == before


def test_several_options_and_own_words_are_chosen(tmux: Tmux) -> None:
    """Space marks; the choice of own words asks for them, and Enter alone leads back to what is marked."""
    pane = tmux.ask({**CHOICE, "multi_select": True, "allow_other": True})
    tmux.shows(pane, "Other")
    tmux.press("Enter", pane=pane)
    tmux.shows(pane, "choose at least one")
    tmux.press("Space", "Down", "Down", "Space", "Enter", pane=pane)
    tmux.shows(pane, "type it, then Enter")
    tmux.press("Enter", pane=pane)
    tmux.shows(pane, "● sqlite")
    tmux.press("Down", "Down", "Space", "Enter", pane=pane)
    tmux.shows(pane, "type it, then Enter")
    tmux.press("m", "y", "Space", "o", "w", "n", "Enter", pane=pane)
    _, result = tmux.answered()
    answer = result["answers"][0]["answer"]
    assert (answer["kind"], answer["value"], answer["other_text"]) == ("multi", ["sqlite", "my own"], "my own")


def test_several_questions_follow_one_another(tmux: Tmux) -> None:
    pane = tmux.ask({"questions": [CHOICE, {"question": "Why?", "default": "habit"}]})
    assert "1 of 2" in tmux.shows(pane, "2) Postgres")
    tmux.press("2", "Enter", pane=pane)
    tmux.shows(pane, "habit")
    tmux.press("Enter", pane=pane)
    status, result = tmux.answered()
    assert status == 0
    assert [one["answer"]["value"] for one in result["answers"]] == ["pg", "habit"]


def test_ctrl_c_puts_the_question_off(tmux: Tmux, ws: Workspace) -> None:
    """It stays open; the asker says how it can be answered, and the pane is gone."""
    before = tmux.state()
    pane = tmux.ask(CHOICE)
    tmux.shows(pane, "Ctrl-C: later")
    tmux.press("C-c", pane=pane)
    status, result = tmux.answered()
    assert (status, result["status"]) == (4, "open")
    assert f"omagy question answer {open_question(ws)}" in result["error"]["message"]
    assert tmux.state() == before


@pytest.mark.parametrize(
    ("verb", "status", "word"), [(("answer", "sqlite"), 0, "answered"), (("cancel",), 130, "cancelled")]
)
def test_what_is_done_elsewhere_closes_the_pane(
    tmux: Tmux, ws: Workspace, verb: tuple[str, ...], status: int, word: str
) -> None:
    before = tmux.state()
    tmux.shows(tmux.ask(CHOICE), "Postgres")
    assert ws.omagy("question", verb[0], open_question(ws), *verb[1:]).returncode == 0
    assert (tmux.answered()[0], tmux.answered()[1]["status"]) == (status, word)
    assert tmux.state() == before


def test_a_question_that_nobody_answers_in_time_closes_its_pane(tmux: Tmux) -> None:
    before = tmux.state()
    tmux.type_question(CHOICE, "--timeout", "1s")
    status, result = tmux.answered()
    assert (status, result["status"]) == (1, "expired")
    assert tmux.state() == before
    opened = tmux.do("split-window", "-d", "-P", "-F", "#{pane_id}", "cat")
    assert int(opened[1:]) == int(tmux.asker[1:]) + 2, "there was one pane in between"


def test_the_pane_outlives_its_asker(tmux: Tmux, ws: Workspace) -> None:
    """kill -9 of the asker: the answer is still taken and recorded, and the pane closes after it."""
    pane = tmux.ask(CHOICE)
    tmux.shows(pane, "Postgres")
    kill_asker(tmux)
    name = open_question(ws)
    tmux.press("2", "Enter", pane=pane)
    wait_until(lambda: pane not in tmux.panes(), "the end of the pane")
    record = json.loads(ws.omagy("question", "show", name, "--json").stdout)
    assert (record["status"], record["answers"][0]["answer"]["value"]) == ("answered", "pg")


def test_the_pane_of_a_killed_asker_sees_an_answer_given_elsewhere(tmux: Tmux, ws: Workspace) -> None:
    pane = tmux.ask(CHOICE)
    tmux.shows(pane, "Postgres")
    kill_asker(tmux)
    assert ws.omagy("question", "answer", open_question(ws), "1").returncode == 0
    wait_until(lambda: pane not in tmux.panes(), "the end of the pane")


def kill_asker(tmux: Tmux) -> None:
    (asker,) = psutil.Process(tmux.shell).children()
    asker.send_signal(signal.SIGKILL)
    wait_until(lambda: not lives(asker.pid), "the asker's end")


@pytest.mark.parametrize("asker", ["lives", "is killed"])
def test_a_zoomed_window_is_zoomed_again(tmux: Tmux, asker: str) -> None:
    tmux.do("split-window", "-d", "-h", "-t", tmux.asker, "sleep", "1000")
    tmux.do("resize-pane", "-Z", "-t", tmux.asker)
    before = tmux.state()
    pane = tmux.ask(CHOICE)
    tmux.shows(pane, "Postgres")
    if asker == "is killed":
        kill_asker(tmux)
    tmux.press("1", "Enter", pane=pane)
    wait_until(lambda: pane not in tmux.panes(), "the end of the pane")
    if asker == "lives":
        assert tmux.answered()[0] == 0
    assert tmux.state() == before


def test_the_focus_is_not_taken_from_another_pane(tmux: Tmux) -> None:
    """A person who types elsewhere in the window does not answer by accident."""
    other = tmux.do("split-window", "-h", "-t", tmux.asker, "-P", "-F", "#{pane_id}", "cat")
    pane = tmux.ask(CHOICE)
    tmux.shows(pane, "Postgres")
    assert tmux.do("display-message", "-p", "-t", "mine", "#{pane_id}") == other
    tmux.press("2", "Enter", pane=pane)
    assert tmux.answered()[0] == 0
    assert tmux.do("display-message", "-p", "-t", "mine", "#{pane_id}") == other


def test_where_no_pane_fits_the_question_is_recorded(tmux: Tmux, ws: Workspace) -> None:
    """A window too small to be split: the asker is told at once that it has to be answered elsewhere."""
    tmux.do("resize-window", "-t", "mine", "-x", "80", "-y", "2")
    tmux.type_question(CHOICE)
    status, result = tmux.answered()
    assert (status, result["status"], result["question_id"]) == (4, "open", open_question(ws))


def test_an_agents_words_cannot_paint_the_pane(tmux: Tmux) -> None:
    """Escapes in a question arrive as plain text: nothing is cleared, coloured or renamed."""
    pane = tmux.ask({"question": "Really\x1b[2J\x1b]0;gotcha\x07?", "options": ["yes\x1b[31m", "no"]})
    shown = tmux.shows(pane, "2) no")
    assert "Really?" in shown
    assert tmux.do("display-message", "-p", "-t", pane, "#{pane_title}") != "gotcha"
    tmux.press("2", "Enter", pane=pane)
    assert tmux.answered()[0] == 0
