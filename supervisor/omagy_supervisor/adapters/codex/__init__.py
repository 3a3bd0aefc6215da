"""The Codex CLI, and everything omagy knows about it.

Codex changes monthly, so whatever depends on its options, files or wording stands in this package. Use
``agent`` (one session), ``install`` (what is installed and logged in) and ``render`` (lines for a person).
This file imports nothing: the session runner starts through it and must stay light.
"""
