"""What somebody probably meant by a word that nobody knows."""

from collections.abc import Iterable

_BEGINNING = 4  # letters, or the dashes of an option and two of them


def nearest(word: str, known: Iterable[str]) -> str:
    """``word``'s nearest known neighbour, as the end of a message; empty when none is near."""
    import difflib  # only a mistake needs it

    written = word.casefold()
    folded = {name.casefold(): name for name in reversed(list(known))}
    longer = [each for each in folded if len(written) >= _BEGINNING and each.startswith(written)]
    near = difflib.get_close_matches(written, folded, n=1) or longer
    return f", did you mean {folded[near[0]]}?" if near else ""
