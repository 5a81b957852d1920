"""What the documentation shows runs as it stands."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "tutorial.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks), "tutorial.md", "exec"), {"__name__": "tutorial"})
    assert (tmp_path / "map.png").stat().st_size > 10_000
    assert (tmp_path / "docstrings-model" / "parasphere.json").is_file()
    told = capsys.readouterr().out
    assert "scipy.signal" in told  # what is like "smooth a noisy signal"


def test_links_lead_somewhere() -> None:
    root = DOCS.parent
    for page in [root / "README.md", root / "CONTRIBUTING.md", root / "results/README.md", *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
