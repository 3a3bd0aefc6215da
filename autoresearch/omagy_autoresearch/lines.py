"""Texts of strangers as one line that is fit for a terminal, a table or a message."""

# Control characters, and marks that reverse the reading direction and so hide what a line says.
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0), *_BIDI], " ")
_INVISIBLE = {code: " " for code in _CONTROLS if code != 0x0A} | {0x2028: " ", 0x2029: " "}


def one_line(text: str, limit: int | None = None) -> str:
    """``text`` without line breaks and control characters, cut to ``limit`` characters."""
    line = " ".join(text.translate(_CONTROLS).split())
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"


def plain_text(text: str) -> str:
    """``text`` with its lines, but without anything that a terminal would act on."""
    lines = text.replace("\r\n", "\n").translate(_INVISIBLE).split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()
