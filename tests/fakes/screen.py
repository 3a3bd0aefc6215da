"""A real terminal: a window of a private tmux server, typed into and read from."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable

from fakes.workspace import Workspace, wait_until


class Screen:
    """A terminal with a shell in it: a window of a tmux server beside omagy's, typed into and read from."""

    def __init__(self, ws: Workspace, socket: str, columns: int = 160, rows: int = 50) -> None:
        self._argv = [shutil.which("tmux") or "tmux", "-L", socket, "-f", "/dev/null"]
        self._ws = ws
        self._turn = 0
        size = ("-x", str(columns), "-y", str(rows))
        self._do("new-session", "-d", "-s", "mine", "-n", "work", *size, "-c", str(ws.root), "sh")
        self.shell = int(self._do("display-message", "-p", "-t", "mine", "#{pane_pid}"))
        self.type("PS1='ready> '; echo turn 0")
        self.wait("ready> ")

    def _do(self, *args: str) -> str:
        done = subprocess.run(
            [*self._argv, *args], env=self._ws.environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    def omagy(self, *args: str) -> None:
        """Type an omagy command; only what is shown after it counts from now on."""
        words = [sys.executable, "-m", "omagy_supervisor", "autoresearch", *args]
        self._turn += 1
        self.type(f"clear; echo turn {self._turn}; {shlex.join(words)}; echo status $?")

    def type(self, line: str) -> None:
        self._do("send-keys", "-t", "mine", "-l", line)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self._do("send-keys", "-t", "mine", *keys)

    def choose(self, label: str) -> None:
        """Move down to the choice that begins with ``label`` and take it."""
        offered = re.compile(rf"^ [ >] (?:\d\) )?{re.escape(label)}", re.MULTILINE)
        wait_until(lambda: offered.search(self.visible()) is not None, f"the choice {label!r}")
        at = self._next_choice("")
        for _ in range(10):
            if at.startswith(label):
                break
            self.press("Down")
            at = self._next_choice(at)
        assert at.startswith(label), self.visible()
        self.press("Enter")

    def _next_choice(self, before: str) -> str:
        """Where the pointer is once it is drawn, and not at ``before`` any more: a key too many would go too far."""
        at = ""

        def moved() -> bool:
            nonlocal at
            at = self.pointed_at()
            return at not in ("", before)

        wait_until(moved, "the next choice")
        return at

    def pointed_at(self) -> str:
        """The choice that the pointer is at; empty while the choices are being drawn."""
        found = re.findall(r"^ > (?:\d\) )?(.+)", self.visible(), re.MULTILINE)
        return str(found[-1]) if found else ""

    def enter(self, *questions: str) -> None:
        """Take what is offered to each of ``questions``."""
        for question in questions:
            self.wait(question)
            self.press("Enter")

    def whole(self) -> str:
        return self._do("capture-pane", "-p", "-J", "-S", "-200", "-t", "mine")

    def text(self) -> str:
        """What the last command has shown."""
        whole = self.whole()
        return whole.rpartition(f"turn {self._turn}\n")[2] if f"turn {self._turn}\n" in whole else ""

    def wait(self, words: str, *, full_screen: bool = False) -> str:
        """Wait until the last command, or a program that took the whole screen, shows ``words``."""
        look = self.whole if full_screen else self.text
        try:
            wait_until(lambda: words in look(), f"{words!r} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.whole()}") from None
        return look()

    def visible(self) -> str:
        """What a person sees now, without what has scrolled away."""
        return self._do("capture-pane", "-p", "-t", "mine")

    def title(self) -> str:
        return self._do("display-message", "-p", "-t", "mine", "#{pane_title}").strip()

    def state(self) -> list[str]:
        """Everything of the server that a program could have changed."""
        return [
            self._do("list-panes", "-a", "-F", "#{session_name} #{window_name} #{pane_id} #{pane_pid} #{pane_dead}"),
            self._do("show-environment", "-g"),
            self._do("show-options", "-g"),
            self._do("show-options", "-s"),
            self._do("list-keys"),
        ]

    def close(self) -> None:
        subprocess.run([*self._argv, "kill-server"], env=self._ws.environment, capture_output=True, check=False)


OpenScreen = Callable[..., Screen]
