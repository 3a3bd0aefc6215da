"""``omagy`` and ``python -m omagy_supervisor``."""

import sys

from omagy_supervisor.cli import main as run


def main() -> None:
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
