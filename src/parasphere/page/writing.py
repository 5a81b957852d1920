"""Writing a page: one HTML file, which needs neither a server nor a network."""

import base64
import hashlib
import html
import re
import zlib
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .. import storage
from ..errors import ParasphereError
from ..model import Encoder
from ..model.estimator import SphericalParagraphModel
from ..printable import visible
from ..search import Index
from ..topics import SphericalTopics
from .contents import map_parts
from .documents import Columns, Documents, read_documents
from .packing import packed, string_arrays
from .searching import search_parts

MOST_TEXTS = 50_000
_IMPORT = re.compile(r'^import (?:\* as (\w+)|(\{[^}]*\})) from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) ([\w$]+)", re.MULTILINE)


def write_page(
    path: str | Path,
    corpus: Any,
    model: Encoder | SphericalParagraphModel | SphericalTopics | None = None,
    *,
    columns: Columns = None,
    ids: str | Sequence[Any] | None = None,
    title: str = "",
    n_topics: int | None = None,
    show_texts: bool = True,
    links: Sequence[str] | None = None,
    report: Callable[[str], None] = lambda _: None,
    **reading: Any,
) -> int:
    """Write a corpus as a page, one HTML file to share, and return its size in bytes.

    Opened in a browser, the file shows a map of the texts with their topics; it searches, filters, selects and exports,
    without a server or a network. Searches find what :meth:`parasphere.Index.search` finds, except that of words that
    no text has, the page knows only the most frequent ones of the model, approximately.

    Parameters
    ----------
    path : path
        The file to write.
    corpus : texts, table, path or Index
        At most 50,000 texts: what :func:`parasphere.corpus.blocks` takes, or an index of them.
    model : Encoder, SphericalParagraphModel or SphericalTopics, default=None
        An encoder or a fitted model, or topics of these texts. None fits a model to the texts, or takes that of the
        index.
    columns : sequence of str or dict of sequences, default=None
        Columns to filter and colour by: their names, or their names and values. None is none, or all of an index.
    ids : str or sequence, default=None
        Name of the column with the ids, or the ids themselves. Without ids texts are numbered from 1.
    title : str, default=""
    n_topics : int, default=None
        Number of topics; None finds it.
    show_texts : bool, default=True
        Whether the file contains the texts, or only what searches need.
    links : sequence of str, default=None
        A link per text, absolute or relative to the page, which is shown with the opened text.
    report : callable, default=nothing
        Called with the name of each step before it begins.
    **reading
        Passed to :func:`parasphere.corpus.blocks`, as in ``text="body"``.

    Examples
    --------
    >>> from parasphere import SphericalTopics, datasets
    >>> corpus = datasets.load("docstrings")
    >>> topics = SphericalTopics(n_topics=12).fit(corpus.texts)
    >>> path = getfixture("tmp_path") / "docstrings.html"
    >>> write_page(path, corpus.texts, topics, ids=corpus.ids) == path.stat().st_size
    True
    """
    documents = read_documents(corpus, columns=columns, ids=ids, **reading)
    n = len(documents)
    if n > MOST_TEXTS:
        raise ParasphereError(f"{n:,} texts are too many for one page, which holds {MOST_TEXTS:,} at most")
    if links is not None:
        _check_links(links, n)
    index, topics = _models(documents, corpus, model, n_topics, report)
    report("drawing the map")
    certainty = index.encoder.posterior(documents.texts).mean_length
    facts, arrays = map_parts(documents, topics, certainty, links)
    report("packing")
    parts = {"map": packed(facts, arrays), "search": packed(*search_parts(index), strategy=zlib.Z_RLE)}
    if show_texts:
        parts["texts"] = packed({}, string_arrays("texts", documents.texts))
    content = html_of(title, parts).encode()
    storage.write_file(path, content)
    return len(content)


def _models(
    documents: Documents, corpus: Any, model: Any, n_topics: int | None, report: Callable[[str], None]
) -> tuple[Index, SphericalTopics]:
    """Return the index and the topics of documents; those that are not given are made."""
    if isinstance(model, SphericalTopics):
        if n_topics is not None:
            raise ParasphereError(f"n_topics={n_topics} is for topics that are to be found, and model is topics")
        if len(model.labels_) != len(documents):
            raise ParasphereError(f"the topics are of {len(model.labels_):,} texts, not of these {len(documents):,}")
    elif isinstance(corpus, Index) and model is not None:
        raise ParasphereError("an index has a model of its own; give topics, or leave model out")
    if isinstance(corpus, Index):
        index = corpus
    else:
        if model is None:
            report("fitting a model")
            model = SphericalParagraphModel().fit(documents.texts)
        report("indexing the texts")
        index = Index(model)
        index.add(documents.texts, documents.ids)
    if isinstance(model, SphericalTopics):
        return index, model
    report("finding topics")
    topics = SphericalTopics(index.encoder, "auto" if n_topics is None else n_topics)
    return index, topics.fit(documents.texts)


def html_of(title: str, parts: dict[str, str]) -> str:
    """Return the page with its packed parts; its policy admits only its own script and style, by their hashes."""
    folder = resources.files(__package__)
    files = {file.name: file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith((".js", ".css"))}
    template = folder.joinpath("index.html").read_text("utf-8")
    script, style = (
        content.replace(f"</{tag}", f"<\\/{tag}")
        for tag, content in (("script", _bundled(files, "main")), ("style", files["style.css"]))
    )
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    data = [
        f'<script type="application/octet-stream" id="packed-{name}">{part}</script>' for name, part in parts.items()
    ]
    values = {
        "policy": policy,
        "title": html.escape(visible(title)) or "Texts",
        "icon": f"data:image/svg+xml;base64,{_base64(folder.joinpath('icon.svg').read_bytes())}",
        "style": style,
        "script": script,
        "data": "\n".join(data),
    }
    return re.sub("{{(policy|title|icon|style|script|data)}}", lambda match: values[match[1]], template)


def _bundled(files: dict[str, str], main: str) -> str:
    """Return a module of the page and all that it imports as one script, each module in its own function."""
    made: dict[str, str] = {}

    def add(name: str) -> None:
        if name in made:
            return
        source = files[f"{name}.js"]
        for match in _IMPORT.finditer(source):
            add(match[3])
        exported = [match[2] for match in _EXPORT.finditer(source)]
        plain = _IMPORT.sub(
            lambda match: f"const {match[1] or match[2].replace(' as ', ': ')} = {match[3]}Module;\n", source
        )
        plain = _EXPORT.sub(r"\1 \2", plain)
        assert not re.search(r"^\s*(import|export)\b", plain, re.MULTILINE), (
            f"{name}.js imports or exports in other ways"
        )
        made[name] = f"const {name}Module = (() => {{\n{plain}\nreturn {{ {', '.join(exported)} }};\n}})();\n"

    add(main)
    return "\n".join(made.values())


def _check_links(links: Sequence[str], n: int) -> None:
    """Raise unless there is one link per text, relative or with the scheme http or https."""
    if len(links) != n:
        raise ParasphereError(f"there are {len(links):,} links for {n:,} texts; give one per text")
    for link in links:
        if not _is_page(link):
            raise ParasphereError(
                f"{link!r} is not a link to a page; links must be relative, or begin with http: or https:"
            )


def _is_page(link: Any) -> bool:
    try:
        return isinstance(link, str) and urlsplit(link).scheme in ("", "http", "https")
    except ValueError:  # such as "//["
        return False


def _hash(content: str) -> str:
    return _base64(hashlib.sha256(content.encode()).digest())


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
