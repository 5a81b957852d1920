"""Ctrl-C at any moment: what runs ends with KeyboardInterrupt, the process lives on, and what there was is as it was.

A child process works, and a thread of it sends the signal at random moments, as a terminal would.
PARASPHERE_INTERRUPTS is their number in all.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTS = int(os.environ.get("PARASPHERE_INTERRUPTS") or 200)

KINDS = ["learning", "counting", "indexing", "growing", "duplicates", "transforming", "fitting"]


@pytest.mark.parametrize("kind", KINDS)
def test_interrupts_kill_nothing(kind: str) -> None:
    worker = Path(__file__).with_name("interrupted.py")
    number = -(-INTERRUPTS // len(KINDS))
    ran = subprocess.run(
        [sys.executable, str(worker), kind, str(number)], capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, f"{ran.returncode}: {ran.stdout[-2000:]}{ran.stderr[-4000:]}"
    print(ran.stdout)
    assert ran.stdout.splitlines()[-1].startswith(f"{number} interrupts")
