"""What turns texts into vectors in the experiments: a registry, in the order of the tables.

A rival is one file in :mod:`parasphere.baselines` and one entry here. All entries take the paper's preprocessing:
lower case, English letters, no stop words.
"""

import ast
import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

from ..baselines import BagOfWords, MeanOfVectors
from ..errors import VectorsError
from ..model import SphericalParagraphModel
from ..tokens import Tokenizer
from ..vectors import GLOVE, WordVectors

WORDS = Tokenizer.paper()
DIMS = (50, 100, 300)
_PACKAGE = __name__.partition(".")[0]
_ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Encoder:
    """An entry of the registry.

    Attributes
    ----------
    name : str
        As it is spelled on the command line.
    title : str
        As the paper calls it.
    build : callable
        From word vectors (None unless ``needs_vectors``), a dimension and a seed to a scikit-learn transformer that
        takes texts; everything that it depends on shows in its parameters.
    needs_vectors : bool
    kind : str
        "spherical", "mean" or "counts", for whoever groups the results.
    by_dim : bool
        Whether the dimension matters; if not, the encoder runs once.
    tells_certainty : bool
        Whether the transformer has a ``posterior`` whose concentrations are worth reporting.
    """

    name: str
    title: str
    build: Callable[[WordVectors | None, int, int], Any]
    needs_vectors: bool = True
    kind: str = "mean"
    by_dim: bool = True
    tells_certainty: bool = False


def _spm(vectors: WordVectors | None, _dim: int, seed: int) -> SphericalParagraphModel:
    return SphericalParagraphModel(vectors, tokenizer=WORDS, random_state=seed)


def _spm_paper(vectors: WordVectors | None, _dim: int, seed: int) -> SphericalParagraphModel:
    return SphericalParagraphModel.paper(vectors, seed, tokenizer=WORDS)


def _cbow(vectors: WordVectors | None, _dim: int, _seed: int) -> MeanOfVectors:
    return MeanOfVectors(vectors, WORDS)


def _bow(_vectors: WordVectors | None, _dim: int, _seed: int) -> BagOfWords:
    return BagOfWords(5000, WORDS)


ENCODERS: dict[str, Encoder] = {
    entry.name: entry
    for entry in (
        Encoder("spm", "SPM", _spm, kind="spherical", tells_certainty=True),
        Encoder("spm-paper", "SPM, to the letter", _spm_paper, kind="spherical"),
        Encoder("cbow", "cBow", _cbow),
        Encoder("bow", "BoW", _bow, needs_vectors=False, kind="counts", by_dim=False),
    )
}


def find_vectors(vectors: Any = GLOVE, dims: Sequence[int] | None = None) -> dict[int, WordVectors]:
    """Return the word vectors of each dimension that is wanted and there.

    Parameters
    ----------
    vectors : str, path or WordVectors
        One set of vectors, of which the dimension is then the only one; or a path with ``{dim}`` in it.
    dims : ints, optional
    """
    if isinstance(vectors, str | os.PathLike) and "{dim}" in str(vectors):
        paths = {dim: str(vectors).replace("{dim}", str(dim)) for dim in dims or DIMS}
        found = {dim: WordVectors.load(path) for dim, path in paths.items()}
        for dim, loaded in found.items():
            if loaded.dim != dim:
                raise VectorsError(f"{paths[dim]} has {loaded.dim} dimensions, not the {dim} in its name")
        return found
    loaded = vectors if isinstance(vectors, WordVectors) else WordVectors.load(vectors)
    if dims and loaded.dim not in dims:
        wanted = ", ".join(map(str, dims))
        raise VectorsError(
            f"{loaded.name} has {loaded.dim} dimensions; {wanted} were asked for. Give a path with {{dim}} in it."
        )
    return {loaded.dim: loaded}


def code_version(*parts: type | ModuleType) -> str:
    """Hash the source of modules, or of those that classes are in, and of all in this package that they import.

    A new rival therefore changes nothing for the others.
    """
    return _hashed(*(part.__module__ if isinstance(part, type) else part.__name__ for part in parts))


@cache
def _hashed(*modules: str) -> str:
    names = list(modules)
    sources: dict[str, bytes] = {}
    while names:
        name = names.pop()
        path = _source(name)
        if name not in sources:
            sources[name] = b"" if path is None else path.read_bytes().replace(b"\r\n", b"\n")
            names += _imports(sources[name], name) if name.startswith(f"{_PACKAGE}.") else []
    digest = hashlib.blake2b(digest_size=8)
    for name, source in sorted(sources.items()):
        digest.update(f"{name}:{len(source)}:".encode() + source)
    return digest.hexdigest()


def _source(name: str) -> Path | None:
    if name.partition(".")[0] == _PACKAGE:
        plain = _ROOT.joinpath(*name.split(".")[1:])
        paths = [plain.with_name(f"{plain.name}.py"), plain / "__init__.py"]
        return next((path for path in paths if path.is_file()), None)
    file = inspect.getsourcefile(sys.modules[name]) if hasattr(sys.modules.get(name), "__file__") else None
    return Path(file) if file and Path(file).is_file() else None  # what is typed in has no source


def _imports(source: bytes, name: str) -> Iterator[str]:
    """Yield the modules of this package that a module's source imports, wherever it does so."""
    path = _source(name)
    home = name if path is not None and path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith(f"{_PACKAGE}."))
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), home) if node.level else str(node.module)
            if base.partition(".")[0] == _PACKAGE:
                modules = [f"{base}.{alias.name}" for alias in node.names]
                yield from {module if _source(module) else base for module in modules} - {_PACKAGE}
