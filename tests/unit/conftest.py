"""How generated examples are run: without a deadline, because machines stall, and without a folder of their own."""

from hypothesis import settings

settings.register_profile("omagy", deadline=None, database=None)
settings.load_profile("omagy")
