"""Text that came from an agent or a server, made safe for a terminal and for our records."""

from omagy_autoresearch.visible import visible


def shorten(text: str, limit_chars: int) -> str:
    """``text`` cut to ``limit_chars`` characters, with a mark where something is missing."""
    return text if len(text) <= limit_chars else text[: limit_chars - 2].rstrip() + " …"


def one_line(text: str, limit_chars: int = 300) -> str:
    """``text`` as one readable line of bounded length."""
    return shorten(" ".join(visible(text).split()), limit_chars)
