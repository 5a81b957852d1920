"""What is done once, so that later processes need not."""

import os
import re
import subprocess
import sys
from pathlib import Path

from parasphere.cli.warmup import warm_up


def test_warmup_says_where_things_are() -> None:
    facts = warm_up()
    assert list(Path(facts["compiled"]).rglob("*.ids_of_texts-*.nbc"))
    assert facts["compiled_bytes"] > 100_000


def test_warmup_fails_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("a file where a folder should be")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "occupied")}
    command = [sys.executable, "-m", "parasphere", "warmup"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"occupied/\S+ cannot be used .* Set PARASPHERE_CACHE", done.stderr)
