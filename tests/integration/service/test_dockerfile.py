"""The Dockerfile: what of it can be checked and run without Docker."""

import json
import re
import subprocess
import sys
from pathlib import Path

from serving import Saved, process

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def steps() -> list[tuple[str, str]]:
    """Return the instructions and their arguments, continued lines joined."""
    lines = [line for line in TEXT.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = [re.fullmatch(r"([A-Z]+) +(.*)", line) for line in joined.splitlines()]
    assert all(found)
    return [(match[1], match[2]) for match in found if match]


def last(name: str) -> str:
    return [argument for instruction, argument in steps() if instruction == name][-1]


def test_it_runs_as_nobody_in_particular() -> None:
    user, group = last("USER").split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert last("RUN") == "chmod -R a+rX /opt/venv"


def test_what_it_copies_is_there_and_let_through() -> None:
    let_through = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for name, argument in steps():
        if name == "COPY" and not argument.startswith("--from"):
            for source in argument.split()[:-1]:
                assert (ROOT / source).exists()
                assert f"!{source}" in let_through
    extras = re.findall(r"/src\[(\w+)\]", TEXT)
    assert extras == ["serve"]


def test_its_command_serves_and_its_check_sees_it(served: Saved) -> None:
    entry, arguments = json.loads(last("ENTRYPOINT")), json.loads(last("CMD"))
    assert entry == ["parasphere", "serve"]
    check = json.loads(last("HEALTHCHECK").split("CMD", 1)[1])
    given = [served.folder / "model" if argument == "/models/model" else argument for argument in arguments]
    with process(*given) as running:
        assert running.get("/ready").status_code == 200
        script = check[2].replace(":8000", f":{running.port}")
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    assert subprocess.run([sys.executable, "-c", script], check=False, stderr=subprocess.DEVNULL).returncode != 0
