"""``.omagy/autoresearch/<mission>/lessons.md``: what earlier runs of a mission learnt."""

from pathlib import Path

from omagy_autoresearch.ledger import Entry
from omagy_autoresearch.lessons import TEXT_LIMIT, lessons_section, merge_lessons
from omagy_autoresearch.run import RunState
from omagy_supervisor.files import make_folder, read_regular, write_atomic

_READ_LIMIT = 1 << 20


class LessonsFile:
    """Implements ports.Lessons."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def text(self) -> str:
        """The lessons as a session is shown them: their end, when the person wrote more than fits."""
        return self._read()[-TEXT_LIMIT:]

    def run_ended(self, state: RunState, entries: tuple[Entry, ...]) -> None:
        old = self._read()
        new = merge_lessons(old, state.plan.run_id, lessons_section(state, entries))
        if new != old and (old or lessons_section(state, entries)):
            make_folder(self._path.parent)
            write_atomic(self._path, new.encode(), durable=False)

    def _read(self) -> str:
        try:
            data = read_regular(self._path, _READ_LIMIT)
        except ValueError:
            return ""
        return (data or b"").decode("utf-8", "replace")
