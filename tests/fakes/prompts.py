"""A person who answers an interview from a list: implements ``ui.prompts.Prompts``."""

from collections.abc import Sequence

from omagy_supervisor.ui.prompts import Gesture, Option, fit

Said = str | Gesture | type[BaseException]


class ScriptedPrompts:
    """``says`` are the answers in order: text, the value of an option, "" for what is offered, or Ctrl-C.

    ``shown`` is everything that was asked and told.
    """

    def __init__(self, *says: Said) -> None:
        self._says = list(says)
        self.shown: list[str] = []

    @property
    def text_shown(self) -> str:
        return "\n".join(self.shown)

    def tell(self, text: str) -> None:
        self.shown.append(fit(text))

    def select(self, question: str, options: Sequence[Option], default: str) -> str | Gesture:
        self.shown.append(f"{question} " + " | ".join(f"{one.label} {one.hint}" for one in options))
        said = self._next(question)
        if isinstance(said, Gesture):
            return said
        chosen = said or default
        assert chosen in [one.value for one in options], f"{question}: {chosen!r} is not offered: {options}"
        return chosen

    def text(self, question: str, default: str) -> str | Gesture:
        self.shown.append(f"{question} [{default}]")
        said = self._next(question)
        return said if isinstance(said, Gesture) else said or default

    def confirm(self, question: str, *, default: bool) -> bool | Gesture:
        self.shown.append(question)
        said = self._next(question)
        return said if isinstance(said, Gesture) else (said == "yes" if said else default)

    def _next(self, question: str) -> str | Gesture:
        assert self._says, f"nobody answers {question!r}; so far:\n{self.text_shown}"
        said = self._says.pop(0)
        if isinstance(said, type):
            raise said
        return said

    @property
    def left(self) -> list[Said]:
        return self._says
