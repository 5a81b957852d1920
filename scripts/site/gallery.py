"""A hook of mkdocs: the notebooks in ``docs/gallery`` are run, and become pages with what they print and draw.

A notebook is a Python file with cells (``# %%``), which Jupyter opens by jupytext. An error in a cell is an error of the
build.
"""

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
SECONDS = 300  # per cell
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_results: dict[str, Any] = {}  # by content, so that `mkdocs serve` does not run them again


def notebooks() -> list[Path]:
    """Return the notebooks, in the order of the gallery."""
    return sorted(GALLERY.glob("*.py"))


def run(path: Path) -> Any:
    """Run a notebook in a folder without anything else, and return it with its outputs."""
    source = path.read_text(encoding="utf-8")
    key = hashlib.blake2b(source.encode()).hexdigest()
    if key not in _results:
        import tempfile

        notebook = jupytext.reads(source, fmt="py:percent")
        with tempfile.TemporaryDirectory() as folder:
            client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}})
            _results[key] = client.execute()
    return _results[key]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page per notebook, and its pictures."""
    for path in notebooks():
        pictures: dict[str, bytes] = {}
        page = "\n\n".join(_cells(run(path), path, pictures))
        files.append(File.generated(config, f"gallery/{path.stem}.md", content=page))
        for name, content in pictures.items():
            files.append(File.generated(config, f"gallery/{name}", content=content))
    return files


def _cells(notebook: Any, path: Path, pictures: dict[str, bytes]) -> Iterator[str]:
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield cell.source
            continue
        yield f"```python\n{cell.source}\n```"
        for output in cell.outputs:
            yield from _output(output, path, pictures)
    yield f"*[{path.name}]({path.name}) is a notebook: open it with Jupyter and jupytext, or run it with Python.*"


def _output(output: Any, path: Path, pictures: dict[str, bytes]) -> Iterator[str]:
    """Return what a cell printed, drew or returned."""
    data = output.get("data", {})
    if "image/png" in data:
        name = f"{path.stem}-{len(pictures) + 1}.png"
        pictures[name] = base64.b64decode(data["image/png"])
        yield f"![What the cell draws]({name})"
    elif "text/html" in data:
        yield f'<div class="gallery-output" markdown="0">\n{data["text/html"]}\n</div>'
    else:
        text = _ESCAPES.sub("", output.get("text", data.get("text/plain", ""))).rstrip()
        yield f'<div class="gallery-output" markdown>\n\n```text\n{text}\n```\n\n</div>'
