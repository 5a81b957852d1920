"""Write tests/model/translated.json: short texts in Chinese, Japanese and Thai, from permissively licensed programs.

Run with ``python scripts/make_translated.py MAN CATALOGUES``. MAN is a folder with ``zh_CN`` and ``ja``, as in
``/usr/share/man`` of the Debian packages ``passwd`` and ``login`` (``apt-get download passwd login``, ``dpkg-deb -x``):
the manual pages of shadow-utils, under the BSD-3-Clause licence. CATALOGUES is the folder ``django`` of Django's wheel,
whose Thai messages are under the BSD-3-Clause licence too.

Of a page, only the translated paragraphs are kept, not the English ones.
"""

import gettext
import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

from parasphere.text import share_without_spaces

LONGEST = 600  # most characters of a page
SHARE = 0.3  # least share of letters of the script in a paragraph, which may have Latin names of commands
SOURCES = {
    "zh": (
        "shadow-utils, manual pages in Chinese",
        "Copyright 1989-1994 Julianne Frances Haugh, 2016-2022 Serge Hallyn",
    ),
    "ja": (
        "shadow-utils, manual pages in Japanese",
        "Copyright 1989-1994 Julianne Frances Haugh, 1996 Rafal Maszkowski, 1997 Kazuyoshi Furutaka, 2001 Maki KURODA, "
        "2001 Yuichi SATO, 2016-2022 Serge Hallyn",
    ),
    "th": ("Django, messages in Thai", "Copyright Django Software Foundation and individual contributors"),
}  # fmt: skip


def page(path: Path) -> str:
    """Return the paragraphs of a manual page in a script without spaces, one per line."""
    source = gzip.decompress(path.read_bytes()).decode("utf-8")
    body = source[source.index("\n.SH") :]
    body = re.sub(r"^\.\\\".*\n", "", body, flags=re.MULTILINE)  # comments
    found = []
    for paragraph in re.split(r"^\.(?:PP|SH|RS|RE|TP|HP|sp|IP)\b.*\n", body, flags=re.MULTILINE):
        lines = [re.sub(r"^\.[A-Za-z]+ *", "", line).strip('"') for line in paragraph.splitlines()]
        text = re.sub(r"\\f.|\\&|\\,|\\/|\.?\\\}", "", " ".join(lines)).replace("\\-", "-").replace("\\(aq", "'")
        text = " ".join(re.sub(r"\\\*?\(..|\\[a-zA-Z]'[^']*'", " ", text).split())
        if share_without_spaces([text]) > SHARE and len(text) > 8:
            found.append(text)
    return "\n".join(found)[:LONGEST]


def pages(folder: Path) -> dict[str, str]:
    """Return the pages of a language by name, as in ``passwd(1)``; those without translated text are left out."""
    found = {}
    for path in sorted(folder.glob("man*/*.gz")):
        name, section, _ = path.name.rsplit(".", 2)
        text = page(path)
        if text and text not in found.values():  # links have the text of another page
            found[f"{name}({section})"] = text
    return found


def messages(folder: Path, language: str) -> dict[str, str]:
    """Return the translated messages of the catalogues of a language by their English originals."""
    found = {}
    for path in sorted(folder.rglob(f"{language}/LC_MESSAGES/*.mo")):
        with path.open("rb") as file:
            catalogue: dict[Any, str] = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        for english, text in catalogue.items():
            if isinstance(english, str) and len(text) >= 20 and share_without_spaces([text]) > 0.7:
                found[english.rpartition("\x04")[2]] = text
    return dict(sorted(found.items()))


def main(man: Path, catalogues: Path) -> None:
    """Write the file."""
    texts = {"zh": pages(man / "zh_CN"), "ja": pages(man / "ja"), "th": messages(catalogues, "th")}
    made = {
        language: {"source": name, "copyright": owners, "licence": "BSD-3-Clause", "texts": texts[language]}
        for language, (name, owners) in SOURCES.items()
    }
    target = Path(__file__).parent.parent / "tests" / "model" / "translated.json"
    target.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print({language: len(found) for language, found in texts.items()}, target.stat().st_size)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
