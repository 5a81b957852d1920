"""``python -m parasphere``, and the command ``parasphere``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, even while it is being imported."""
    try:
        from .cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
