"""What a tool is: its name and description, its types, what it does to the world, and the function that does it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from omagy_supervisor.tools.call import Call
from omagy_supervisor.tools.schemas import Input


class Effect(Enum):
    """What a call does, for a client that decides by it whether to ask the person first."""

    READ = "read"
    ADDING = "adding"
    DESTRUCTIVE = "destructive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """``run`` gets an ``input`` and answers with an ``output``, or what reads like one. It raises OmagyError, and may
    block.

    ``waits``: it can take long because it waits for somebody, not because it works.
    """

    name: str
    title: str
    description: str
    effect: Effect
    input: type[Input]
    output: type[msgspec.Struct]
    run: Callable[[Call, Any], object]
    repeatable: bool = True
    waits: bool = False
