"""What somebody probably meant by a word that nobody knows."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """``word``'s nearest known neighbour, as the end of a message; empty when none is near."""
    import difflib  # only a mistake needs it

    near = difflib.get_close_matches(word, list(known), n=1)
    return f", did you mean {near[0]}?" if near else ""
