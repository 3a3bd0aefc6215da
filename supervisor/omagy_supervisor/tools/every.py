"""All of omagy's tools."""

from omagy_supervisor.tools import autoresearch, question, state
from omagy_supervisor.tools.catalog import Tool

TOOLS: tuple[Tool, ...] = (*state.TOOLS, *question.TOOLS, *autoresearch.TOOLS)
