"""What somebody probably meant by a word that nobody knows."""

from collections.abc import Iterable

_BEGINNING = 4  # letters, or the dashes of an option and two of them


def nearest(word: str, known: Iterable[str]) -> str:
    """``word``'s nearest known neighbour, as the end of a message; empty when none is near."""
    import difflib  # only a mistake needs it

    words = list(known)
    longer = [each for each in words if len(word) >= _BEGINNING and each.startswith(word)]
    near = difflib.get_close_matches(word, words, n=1) or longer
    return f", did you mean {near[0]}?" if near else ""
