"""git, by its command line only, and never in a folder that was not named absolutely."""
