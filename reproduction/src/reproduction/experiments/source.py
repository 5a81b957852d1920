"""The version of the code behind a result: a hash of the modules that it depends on."""

import ast
import hashlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from types import ModuleType

import parasphere

_KERNELS = "parasphere._kernels"  # compiled
_ROOTS = {"reproduction": Path(__file__).parents[1], "parasphere": Path(parasphere.__file__).parent}
_HOME = _ROOTS["reproduction"].parents[2]  # the repository, if this is one


@cache
def commit() -> str | None:
    """Return the commit of the source, with a plus if files of it were changed since; None outside a repository."""
    if not (_HOME / ".git").exists():
        return None
    try:
        head = _git("rev-parse", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--", *map(str, _ROOTS.values())) else "")
    except (OSError, subprocess.CalledProcessError):  # there is no git, or no commit
        return None


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=_HOME, capture_output=True, text=True, check=True).stdout.strip()


def code_version(*parts: type | ModuleType) -> str:
    """Hash the source of modules, or of the modules of classes, and of everything in these packages that they import.

    Adding a baseline therefore does not change the version of the others.
    """
    return _hashed(*(part.__module__ if isinstance(part, type) else part.__name__ for part in parts))


@cache
def _hashed(*modules: str) -> str:
    names = list(modules)
    sources: dict[str, bytes] = {}
    while names:
        name = names.pop()
        if name not in sources:
            sources[name], imports = _read(name)
            names += imports
    digest = hashlib.blake2b(digest_size=8)
    for name, source in sorted(sources.items()):
        digest.update(f"{name}:{len(source)}:".encode() + source)
    return digest.hexdigest()


@cache
def _read(name: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the source of a module, and the modules of these packages that it imports if it belongs to one."""
    path = _source(name)
    if name == _KERNELS and path is not None:
        return path.read_bytes(), ()
    source = b"" if path is None else path.read_bytes().replace(b"\r\n", b"\n")
    return source, tuple(_imports(source, name)) if _root(name) else ()


def _root(name: str) -> Path | None:
    return _ROOTS.get(name.partition(".")[0])


def _source(name: str) -> Path | None:
    if name == _KERNELS:
        spec = find_spec(name)
        return None if spec is None or spec.origin is None else Path(spec.origin)
    if (root := _root(name)) is not None:
        plain = root.joinpath(*name.split(".")[1:])
        paths = [plain.with_name(f"{plain.name}.py"), plain / "__init__.py"]
        return next((path for path in paths if path.is_file()), None)
    file = inspect.getsourcefile(sys.modules[name]) if hasattr(sys.modules.get(name), "__file__") else None
    return Path(file) if file and Path(file).is_file() else None  # classes of an interactive session have no source


def _imports(source: bytes, name: str) -> Iterator[str]:
    """Yield the modules of these packages that a module imports, at any level of its source."""
    path = _source(name)
    home = name if path is not None and path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _root(alias.name))
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), home) if node.level else str(node.module)
            if _root(base) is not None:
                modules = [f"{base}.{alias.name}" for alias in node.names]
                yield from {module if _source(module) else base for module in modules} - set(_ROOTS)
