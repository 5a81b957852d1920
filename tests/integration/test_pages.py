"""Pages whose code needs other libraries, which runs as it is printed."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from parasphere import SphericalParagraphModel, datasets

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def python_of(text: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def run_page(page: Path, shorter: dict[str, str]) -> dict[str, Any]:
    """Run all Python of a page, one block after the other, with some calls made shorter; return its names."""
    code = python_of(page.read_text(encoding="utf-8"))
    for long, short in shorter.items():
        assert code.count(long) == 1
        code = code.replace(long, short)
    names: dict[str, Any] = {"__name__": page.stem}
    exec(compile(code, page.name, "exec"), names)
    return names


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_page_on_the_explorer_runs() -> None:
    pytest.importorskip("fastapi", reason="the explorer is an extra")
    names = run_page(DOCS / "explore.md", {})
    assert len(names["answer"]["matches"]) == 12
    assert "scipy.signal" in names["answer"]["matches"][0]["id"]
    assert {"/", "/api/search"} <= {route.path for route in names["app"].routes}


@pytest.mark.parametrize("library", ["faiss", "usearch", "lancedb", "duckdb"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # their own
def test_each_export_finds_what_we_find(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "datasets", raising=False)  # our folder of tests, not the library of that name
    pytest.importorskip(library)
    preamble, *sections = (DOCS / "export.md").read_text(encoding="utf-8").split("\n## ")
    (section,) = [text for text in sections if text.lower().startswith(library)]
    names: dict[str, Any] = {}
    exec(compile(python_of(preamble) + python_of(section), "export.md", "exec"), names)
    expected = names["index"].search("eigenvalues of a symmetric matrix", 5, weight=0)
    assert names["nearest"] == [match.id for match in expected]


def test_the_page_on_serving_runs(tmp_path: Path) -> None:
    for module in ("fastapi", "httpx", "openai"):
        pytest.importorskip(module, reason="the service and its client are extras")
    from serving import process

    SphericalParagraphModel().fit(datasets.load("docstrings").texts[:200]).save(tmp_path / "my-model")
    with process(tmp_path / "my-model") as running:
        found = run_page(DOCS / "serve.md", {"127.0.0.1:8000/v1": f"127.0.0.1:{running.port}/v1"})
        found["client"].close()
    assert found["answer"].model == "my-model"
    assert [len(vector) for vector in found["vectors"]] == [128, 128]


def test_the_page_on_other_libraries_runs(tmp_path: Path) -> None:
    found = run_page(DOCS / "ecosystem.md", {})
    assert (tmp_path / "static-model" / "modules.json").is_file()
    assert found["cosines"].shape == (3, 3)


def test_the_page_on_languages_runs() -> None:
    assert run_page(DOCS / "languages.md", {})["best"].text == "复制文件和目录"
