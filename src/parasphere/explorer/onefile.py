"""The page as one HTML file, which needs neither a server nor a network."""

import base64
import hashlib
import html
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from .. import storage
from ..errors import ParasphereError
from ..printable import visible
from ..text import Strings
from .answers import LEAST_SHARE, SHOWN_TOPICS, VALUES, Explorer
from .app import page_files
from .packing import Arrays, packed, search_parts, string_arrays

MOST_TEXTS = 50_000
POINTS, CERTAINTIES, SHARES = 2**15 - 1, 2**16 - 1, 2**8 - 1  # scales of the integers in which they are stored
INSTEAD = {"api": "local"}  # modules that replace others in a page without a server
_IMPORT = re.compile(r'^import (?:\* as (\w+)|(\{[^}]*\})) from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?function|class|const) ([\w$]+)", re.MULTILINE)
_FILE = re.compile(r'<(?:link rel="(stylesheet|icon)" href|(script) type="module" src)="/page/([\w.]+)">(?:</script>)?')


def write_page(explorer: Explorer, path: str | Path, *, texts: bool = True, links: Sequence[str] | None = None) -> int:
    """Write the page of an explorer as one HTML file; return its size in bytes.

    Opened in a browser, the file shows the map, and searches, selects and exports as the page of :func:`make_app`.
    Searches find what :meth:`parasphere.Index.search` finds, except that of words that no text has, the page knows only
    the most frequent ones of the model, approximately.

    Parameters
    ----------
    explorer : Explorer
        An explorer of at most 50,000 texts.
    path : path
    texts : bool, default=True
        Whether the file contains the texts, or only what searches need.
    links : sequence of str, default=None
        A link per text, absolute or relative to the page, which is shown with the opened text.
    """
    content = page_of(explorer, texts=texts, links=links).encode()
    storage.write_file(path, content)
    return len(content)


def page_of(explorer: Explorer, *, texts: bool = True, links: Sequence[str] | None = None) -> str:
    """Return the page of an explorer as one HTML document; see :func:`write_page`."""
    if len(explorer.documents) > MOST_TEXTS:
        raise ParasphereError(
            f"{len(explorer.documents):,} texts are too many for one file, which holds {MOST_TEXTS:,} at most; "
            "'parasphere explore' shows more"
        )
    parts = {"map": packed(*_map_parts(explorer, links)), "search": packed(*search_parts(explorer.landscape.index))}
    if texts:
        parts["texts"] = packed({}, string_arrays("texts", explorer.documents.texts), strategy=zlib.Z_DEFAULT_STRATEGY)
    data = [
        f'<script type="application/octet-stream" id="packed-{name}">{part}</script>' for name, part in parts.items()
    ]
    files = {name: content.decode() for name, content in page_files().items()}
    hashes: dict[str, str] = {}

    def inlined(match: re.Match[str]) -> str:
        name = match[3]
        if match[1] == "icon":
            return f'<link rel="icon" href="data:image/svg+xml;base64,{_base64(files[name].encode())}">'
        tag, kind = ("style", "") if match[1] else ("script", ' type="module"')
        content = files[name] if match[1] else bundled(files, name.removesuffix(".js"))
        content = content.replace(f"</{tag}", f"<\\/{tag}")
        hashes[tag] = _base64(hashlib.sha256(content.encode()).digest())
        return f"<{tag}{kind}>{content}</{tag}>"

    page = _FILE.sub(inlined, files["index.html"])
    policy = (
        f"default-src 'none'; script-src 'sha256-{hashes['script']}'; style-src 'sha256-{hashes['style']}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = html.escape(visible(explorer.title)) or "Explorer"
    page = re.sub("<title>.*</title>", lambda _: f"<title>{title}</title>", page, count=1)
    head = f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return page.replace('<meta charset="utf-8">', head, 1).replace("</body>", "\n".join([*data, "</body>"]), 1)


def bundled(files: dict[str, str], main: str) -> str:
    """Return a module of the page and all that it imports as one script, each module in its own function."""
    made: dict[str, str] = {}

    def add(name: str) -> None:
        if name in made:
            return
        source = files[f"{name}.js"]
        for match in _IMPORT.finditer(source):
            add(INSTEAD.get(match[3], match[3]))

        def taken(match: re.Match[str]) -> str:
            names = match[1] or match[2].replace(" as ", ": ")
            return f"const {names} = {INSTEAD.get(match[3], match[3])}Module;\n"

        exported = [match[2] for match in _EXPORT.finditer(source)]
        plain = _EXPORT.sub(r"\1 \2", _IMPORT.sub(taken, source))
        assert not re.search(r"^\s*(import|export)\b", plain, re.MULTILINE), (
            f"{name}.js imports or exports in other ways"
        )
        made[name] = f"const {name}Module = (() => {{\n{plain}\nreturn {{ {', '.join(exported)} }};\n}})();\n"

    add(main)
    return "\n".join(made.values())


def _map_parts(explorer: Explorer, links: Sequence[str] | None) -> tuple[dict[str, Any], Arrays]:
    """Return the facts and arrays that the page needs to start."""
    documents, own = explorer.documents, explorer.landscape
    shares = own.topics.transform([documents.block()])
    shares[~own.topics.vectors([documents.block()]).any(axis=1)] = 0  # of texts without known words
    likely = np.argsort(-shares, axis=1, kind="stable")[:, :SHOWN_TOPICS]
    best = np.take_along_axis(shares, likely, axis=1)
    lacking = [(0, 0), (0, SHOWN_TOPICS - likely.shape[1])]  # where there are fewer topics
    arrays: Arrays = {
        "points": np.rint(own.points * POINTS).astype(np.int16), "topic": own.topic,
        "certainty": np.rint(own.certainty * CERTAINTIES).astype(np.uint16),
        "likely": np.pad(likely, lacking).astype(np.uint16),
        "shares": np.pad(np.rint(np.where(best < LEAST_SHARE, 0, best) * SHARES), lacking).astype(np.uint8),
        **string_arrays("ids", documents.ids),
    }  # fmt: skip
    if links is not None:
        arrays |= string_arrays("links", Strings.of(_checked_links(links, len(documents))))
    for i, facet in enumerate(documents.facets):
        codes = np.where(np.isnan(facet.values), -1, facet.values)
        arrays[f"facet{i}"] = codes.astype(np.int32) if facet.kind == "words" else facet.values
    facets = [{"name": facet.name, "kind": facet.kind, "names": facet.names} for facet in documents.facets]
    return {"about": explorer.about(), "facets": facets, "most": VALUES, "parts": [POINTS, CERTAINTIES, SHARES]}, arrays


def _checked_links(links: Sequence[str], n: int) -> Sequence[str]:
    """Return links; raise unless there is one per text, relative or with the scheme http or https."""
    if len(links) != n:
        raise ParasphereError(f"there are {len(links):,} links for {n:,} texts; give one per text")
    for link in links:
        if not _is_page(link):
            raise ParasphereError(
                f"{link!r} is not a link to a page; links must be relative, or begin with http: or https:"
            )
    return links


def _is_page(link: Any) -> bool:
    try:
        return isinstance(link, str) and urlsplit(link).scheme in ("", "http", "https")
    except ValueError:  # such as "//["
        return False


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
