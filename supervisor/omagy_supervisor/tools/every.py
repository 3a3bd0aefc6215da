"""All of omagy's tools."""

from omagy_supervisor.tools import autoresearch
from omagy_supervisor.tools.catalog import Tool

TOOLS: tuple[Tool, ...] = autoresearch.TOOLS
