"""Commands that stand for a measurement that nobody has written yet (contract section 9).

They are told apart as a person would: by words that say so, and by doing nothing but printing a constant. What merely
contains such a word (a path, a pattern that is searched for, a quoted program) may be run.
"""

import re
from collections.abc import Iterator, Sequence

from omagy_autoresearch.lines import one_line

_SHOWN = 80
_QUOTED = "\0"

_CAPITALS = re.compile(r"(?<![\w/.-])(?:TODO|TBD|FIXME)(?![A-Za-z0-9_/]|\.\w)|(?:REPLACE|CHANGE)_?ME(?![A-Za-z0-9])")
_WHOLE = re.compile(r"(?:todo|tbd|fixme|(?:replace|change)[_-]?me)[:.…]*|…", re.IGNORECASE)
_HERE = re.compile(r"your[-_ ](?:\w+[-_ ])*here|(?:command|script|evaluator)[-_]here|your[-_]+command", re.IGNORECASE)
_PATH = re.compile(r"/?path/to/\S*")
# Not <<EOF, <(…), <in >out or <in>out: a name between the two, and nothing that a redirection would write to.
_ANGLE = re.compile(r"(?<!<)<(?:[A-Za-z][^<>|&;\n\0]*[^<>|&;\s]|[A-Za-z]|…|\.\.\.)>(?![\w/&>(])")
_ANGLE_FIRST = re.compile(r"<[A-Za-z][^<>|&;\n\0]*[^<>|&;\s]>/")

_REDIRECTED = re.compile(r"\d*(?:>&|<&|&>>?|>\|)\s*[\d-]?")
_SEARCHING = frozenset(("grep", "egrep", "fgrep", "rg", "ag", "ack", "awk", "gawk", "sed", "perl"))
_BEFORE = frozenset(
    ("!", "{", "}", "(", ")", "command", "builtin", "exec", "env", "time", "nice", "nohup", "sudo", "then")
)
_LIMITING = frozenset(("timeout", "nice", "ionice", "stdbuf", "time", "env", "setsid"))  # options and a number first
_THEIRS = re.compile(r"-\S*|\d+(?:\.\d+)?[smhd]?")
_NOTHING = frozenset(
    ("true", "false", ":", "echo", "printf", "exit", "return", "cd", "set", "export", "umask", "sleep")
)
_GIVEN = re.compile(r"-[a-z]*c")  # the option of a shell before the command that it runs
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh"))
_HERE_DOCUMENT = re.compile(r"\s*cat\s*<<-?\s*['\"]?(\w+)['\"]?\s*\n.*\n\s*\1\s*", re.DOTALL)


def placeholder(command: str) -> str:
    """The part of an evaluator's ``command`` that makes it a placeholder; empty when it may be run."""
    if not command.strip():
        return "an empty command"
    if _WHOLE.fullmatch(command.strip()):
        return _shown(command)
    return unfinished(command) or _constant(command)


def unfinished(command: str) -> str:
    """The words in ``command`` that say that it is still to be written; empty when there are none."""
    masked = _masked(command)
    found = _ANGLE.search(masked) or _ANGLE_FIRST.match(masked.lstrip())
    if found:
        return _shown(found[0])
    for words in _simple_commands(command, masked):
        if any(word.rsplit("/", 1)[-1] in _SEARCHING for word in words):  # they may look for such a word
            continue
        for word in words:
            said = _says_so(word)
            if said:
                return _shown(said)
    return ""


def _says_so(word: str) -> str:
    plain = word.strip("'\"")
    if _WHOLE.fullmatch(plain) and (plain.upper() == plain or plain.lower() != "todo"):
        return plain
    if any(character.isspace() for character in plain):  # a quoted text or program: only its beginning counts
        found = _CAPITALS.match(plain) or _HERE.fullmatch(plain)
    else:
        found = _CAPITALS.search(plain) or _HERE.search(plain) or _PATH.match(plain)
    return found[0] if found else ""


def _constant(command: str) -> str:
    """``command`` itself when it prints the same whatever the repository holds."""
    if _substitutes(command):
        return ""
    if _HERE_DOCUMENT.fullmatch(command):
        return _shown(command)
    commands = [words for words in _simple_commands(command, _masked(command)) if words]
    programs = [_program(words) for words in commands]
    given = next((place for place, word in enumerate(commands[0]) if _GIVEN.fullmatch(word)), 0) if commands else 0
    if len(commands) == 1 and programs[0] in _SHELLS and given:
        inner = commands[0][given + 1 :]
        return placeholder(_unquoted(inner[0])) if inner else _shown(command)
    return _shown(command) if all(program in _NOTHING for program in programs) else ""


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word


def _shown(text: str) -> str:
    return one_line(text, _SHOWN)


# -- just enough of the shell's grammar


def _masked(command: str) -> str:
    """``command`` with quoted and escaped characters, comments and duplicated descriptors blotted out."""
    result, quote, escaped = [], "", False
    comment = False
    for before, character in zip(" " + command, command, strict=False):
        if comment and character != "\n":
            result.append(" ")
            continue
        comment = not quote and not escaped and character == "#" and before in " \t\n;|&()"
        if comment:
            result.append(" ")
        elif escaped or (quote and character != quote):
            result.append(_QUOTED)
            escaped = not escaped and quote != "'" and character == "\\"
        elif character == "\\":
            result.append(_QUOTED)
            escaped = True
        elif character in "'\"":
            result.append(_QUOTED)
            quote = "" if quote else character
        else:
            result.append(character)
    return _REDIRECTED.sub(lambda found: " " * len(found[0]), "".join(result))


def _simple_commands(command: str, masked: str) -> Iterator[list[str]]:
    """The words of each simple command, as they are written."""
    for part in re.finditer(r"[^;|&\n()`]+", masked):
        words = re.finditer(r"\S+", part[0])
        yield [command[part.start() + word.start() : part.start() + word.end()] for word in words]


def _program(words: Sequence[str]) -> str:
    """The name of the program that a simple command runs; ``:`` for none (only assignments).

    What limits or times another program is none of its own, and ``cat`` alone adds nothing to what it is given.
    """
    limited = False
    for word in words:
        name = word.strip("'\"").rsplit("/", 1)[-1] or word
        limited = limited or name in _LIMITING
        if name in _LIMITING or word in _BEFORE or re.match(r"\w+=", word) or word.startswith((">", "<")):
            continue
        if limited and _THEIRS.fullmatch(word):
            continue
        return ":" if words == ["cat"] else name
    return ":"


def _substitutes(command: str) -> bool:
    """True when ``command`` uses another command's output: ``$(…)`` or backquotes outside of single quotes."""
    outside = re.sub(r"\\.|'[^']*'", "", command, flags=re.DOTALL) if command.count("'") % 2 == 0 else command
    return re.search(r"\$\((?!\()|`", outside) is not None
