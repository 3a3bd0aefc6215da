"""A person who answers an interview from a list: implements ``ui.prompts.Prompts``."""

from omagy_autoresearch.answering import answer_from_text
from omagy_autoresearch.questions import Answer, Prompt
from omagy_supervisor.ui.fitting import fit
from omagy_supervisor.ui.prompts import Gesture

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

    def ask(self, prompt: Prompt) -> Answer | Gesture:
        offered = " | ".join(f"{one.label} {one.description}" for one in prompt.options)
        self.shown.append(f"{prompt.question} {offered or '[' + ', '.join(prompt.default) + ']'}")
        said = self._next(prompt.question)
        found = said if isinstance(said, Gesture) else answer_from_text(prompt, said)
        assert isinstance(found, Answer | Gesture), f"{prompt.question}: {said!r} is not offered: {prompt.options}"
        return found

    def _next(self, question: str) -> str | Gesture:
        assert self._says, f"nobody answers {question!r}; so far:\n{self.text_shown}"
        said = self._says.pop(0)
        if isinstance(said, type):
            raise said
        return said

    @property
    def left(self) -> list[Said]:
        return self._says
