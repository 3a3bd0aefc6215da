"""What repositories of one kind have, and which evaluators follow from it: one module for each ecosystem.

Each has ``MARKERS`` (names of files whose text it wants), ``TOOLS`` (executables it asks about) and ``propose``.
"""
