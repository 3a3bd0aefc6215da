"""Commands that stand for a measurement that nobody has written yet (contract section 9)."""


def placeholder(command: str) -> str:
    """The part of ``command`` that makes it a placeholder; empty when it may be run."""
    return "" if command.strip() else "(empty)"
