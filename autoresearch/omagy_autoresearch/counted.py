"""Numbers of things in sentences."""


def counted(number: int, one: str, many: str = "") -> str:
    """``1 error``, ``2 errors``; ``many`` where an s does not make it."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
