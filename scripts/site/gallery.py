"""A hook of mkdocs that runs the notebooks in ``docs/gallery`` and makes pages of them and their outputs.

A notebook is a Python file with cells (``# %%``), which Jupyter opens by jupytext. An error in a cell fails the build.
"""

import base64
import hashlib
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery"
KEPT = ROOT / "build" / "gallery"  # notebooks with outputs, by hash of their source and that of the library
SECONDS = 300  # per cell
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def notebooks() -> list[Path]:
    """Return the notebooks of the gallery."""
    return sorted(GALLERY.glob("*.py"))


def run(path: Path) -> Any:
    """Return a notebook with its outputs, run in an empty folder unless that was done before."""
    digest = hashlib.blake2b(path.read_bytes(), digest_size=12)
    for source in sorted((ROOT / "src").rglob("*.py")):
        digest.update(source.read_bytes())
    kept = KEPT / f"{path.stem}-{digest.hexdigest()}.ipynb"
    if not kept.exists():
        notebook = jupytext.read(path)
        with tempfile.TemporaryDirectory() as folder:
            place = {"metadata": {"path": folder}}
            NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=place).execute()
        kept.parent.mkdir(parents=True, exist_ok=True)
        jupytext.write(notebook, kept)
    return jupytext.read(kept)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the notebooks into the navigation."""
    (section,) = [entry for entry in config.nav or [] if "Gallery" in entry]
    section["Gallery"] = ["gallery/index.md", *(f"gallery/{path.stem}.md" for path in notebooks())]
    return config


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
    """Yield the output of a cell as Markdown."""
    data = output.get("data", {})
    if "image/png" in data:
        name = f"{path.stem}-{len(pictures) + 1}.png"
        pictures[name] = base64.b64decode(data["image/png"])
        yield f"![Output of the cell]({name})"
    elif "text/html" in data:
        yield f'<div class="gallery-output" markdown="0">\n{data["text/html"]}\n</div>'
    else:
        text = _ESCAPES.sub("", output.get("text", data.get("text/plain", ""))).rstrip()
        yield f'<div class="gallery-output" markdown>\n\n```text\n{text}\n```\n\n</div>'


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(GALLERY / f"{name}.py")
