"""The functional core of omagy: what a run is and what happens next, without touching the world."""

__version__ = "0.1.0"
