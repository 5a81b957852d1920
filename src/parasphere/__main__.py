"""``python -m parasphere`` is the command ``parasphere``."""

from .cli import main

main()
