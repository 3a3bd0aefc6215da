"""omagy's tools for agents, served over MCP. Only ``server`` knows the protocol; the others are plain functions."""
