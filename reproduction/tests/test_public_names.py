"""The experiments import public names of the library only, so that they freeze none of its internals."""

import ast
from importlib import import_module
from pathlib import Path

import parasphere

ROOT = Path(__file__).parents[1]
# The modules whose `__all__` is public; CONTRIBUTING.md names them too.
PUBLIC = {"corpus", "datasets", "errors", "model", "parameters", "storage", "text", "vectors"}
LEFT = {"pieces.py"}  # with the composed and taught vectors


def imported(path: Path) -> set[tuple[str, str]]:
    """Return the modules and names of the library that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "parasphere":
            found.update((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update((alias.name, "") for alias in node.names if alias.name.startswith("parasphere."))
    return found


def test_only_public_names_are_imported() -> None:
    files = [path for folder in ("src", "scripts") for path in (ROOT / folder).rglob("*.py") if path.name not in LEFT]
    names = {name for path in files for name in imported(path)}
    assert ("parasphere", "SphericalParagraphModel") in names  # imports are seen at all
    public = {("parasphere", name) for name in [*parasphere.__all__, *PUBLIC, "__version__"]}
    for module in PUBLIC:
        public |= {(f"parasphere.{module}", name) for name in import_module(f"parasphere.{module}").__all__}
    assert names - public == set()
