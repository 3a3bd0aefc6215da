"""Refuse what the mission forbids and no measurement shows: this is the guard of the quickstart.

It reads logstats.py without running it. Only those modules of the standard library may be imported that compute:
none that starts processes or threads, loads compiled code, or reaches for files; and no code may be made from text.
That keeps an honest program honest. It is no sandbox: kept work is still to be read by a person.
"""

import ast
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "logstats.py"
LINES = 300
MODULES = {
    *("array", "bisect", "calendar", "collections", "dataclasses", "datetime", "functools", "heapq", "ipaddress"),
    *("itertools", "math", "operator", "re", "statistics", "string", "struct", "typing", "urllib"),
}
FORBIDDEN_NAMES = {"__import__", "__builtins__", "breakpoint", "compile", "eval", "exec", "globals", "input", "open"}


def modules(node):
    """The top-level names of the modules that a statement imports; a dot for the program's own package."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["." if node.level else (node.module or "").partition(".")[0]]
    return []


def problem(node):
    """What is wrong with one node of the program's syntax tree; None when nothing is."""
    for module in modules(node):
        if module not in MODULES:
            return f"imports {module}, which a log summary has no use for (guard.py lists what it may import)"
    if isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES:
        return f"uses {node.id}"
    if isinstance(node, ast.Attribute) and node.attr.startswith("__") and node.attr.endswith("__"):
        return f"reaches for {node.attr}"
    return None


def judge(text):
    """Why the program is refused; None when it is not."""
    if text.count("\n") > LINES:
        return f"it has more than {LINES} lines: a colleague has to read it"
    try:
        tree = ast.parse(text, feature_version=(3, 11))
    except SyntaxError as error:
        return f"line {error.lineno}: it does not parse on Python 3.11: {error.msg}"
    for node in ast.walk(tree):
        found = problem(node)
        if found:
            return f"line {node.lineno}: it {found}"
    return None


def main():
    try:
        found = judge(PROGRAM.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        found = f"it cannot be read: {type(error).__name__}"
    if found:
        sys.exit(f"logstats.py: {found}")


if __name__ == "__main__":
    main()
