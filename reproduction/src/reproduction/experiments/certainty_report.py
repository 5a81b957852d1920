"""The study of certainty on several corpora, as tables and figures."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from parasphere.storage import write_file
from parasphere.vectors import WordVectors

from ..datasets import Dataset, load
from . import published
from .certainty import HALF, KERNEL, MEASURES, REFERENCE, Ranking, areas, growth, rank, risk_coverage
from .curves import Curve, draw_curves
from .page import unbroken
from .protocol import Options
from .run import PAPER_DATASETS

KINDS = {"whole": "Whole texts", "cut": "Texts cut to a random number of their words"}
COVERAGES = np.arange(2, 101, 2) / 100  # at fewer texts the risk is mostly noise
# Visible on white, distinct for protan and deutan viewers; what the classifier says, and chance, are no candidates.
COLOURS = {
    "margin": "#8a8a8a", "typicality": "#dd6600", "information": "#0077aa", "words": "#009977", "offset": "#cc77aa",
    "concentration": "#443300", "chance": "#8a8a8a",
}  # fmt: skip
DASHES: dict[str, Any] = {"margin": "--", "chance": ":", "offset": "-.", "concentration": "-."}


def investigate(
    vectors: WordVectors,
    datasets: Iterable[str | Dataset] = PAPER_DATASETS,
    options: Options | None = None,
    *,
    command: str = "reproduction.experiments.certainty_report.investigate(...)",
) -> dict[str, Any]:
    """Rank the test texts of each corpus by each measure, and measure how information grows.

    Parameters
    ----------
    vectors : WordVectors
    datasets : iterable of str or Dataset, default: the six corpora of the paper
    options : Options, default=None
        Of the protocol.
    command : str
        Command line to record in the results.

    Returns
    -------
    dict
        "command", "date", "vectors", and "corpora": areas, curves and growth of each. JSON-able.
    """
    corpora = {}
    for given in datasets:
        corpus = load(given) if isinstance(given, str) else given
        found: dict[str, Any] = {kind: _ranked(rank(corpus, vectors, options, cut=kind == "cut")) for kind in KINDS}
        corpora[corpus.name] = {**found, "growth": growth(corpus, vectors, options)._asdict()}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"command": command, "date": now, "vectors": vectors.name, "corpora": corpora}


def _ranked(ranking: Ranking) -> dict[str, Any]:
    found = areas(ranking)
    places = np.maximum(1, np.round(COVERAGES * len(ranking.wrong)).astype(int)) - 1
    risks = {name: risk_coverage(values, ranking.wrong)[places] for name, values in ranking.certainty.items()}
    return {
        "n": len(ranking.wrong),
        "areas": {name: area._asdict() for name, area in found.items()},
        "risks": {name: risk.round(5).tolist() for name, risk in risks.items()},
    }


def write(study: Mapping[str, Any], folder: str | Path) -> None:
    """Write ``certainty.json``, ``certainty.md`` and the figures ``certainty.png`` and ``information.png``."""
    folder, corpora = Path(folder), study["corpora"]
    write_file(folder / "certainty.json", (json.dumps(study, indent=1) + "\n").encode())
    write_file(folder / "certainty.md", _page(study).encode())
    risks = {_title(name): _risks(found["whole"]) for name, found in corpora.items()}
    picture = draw_curves(risks, x_label="most certain texts, %", y_label="error among them, %")
    write_file(folder / "certainty.png", picture)
    grown = {_title(name): _grown(found["growth"]) for name, found in corpora.items()}
    scales = {"x_scale": "log", "y_scale": "log"}
    picture = draw_curves(grown, x_label="known words", y_label="information, nats", **scales)
    write_file(folder / "information.png", picture)


def _title(name: str) -> str:
    title = published.DATASETS.get(name, name)
    return f"20 Newsgroups, {title}" if name.startswith("20news-") else title


def _risks(found: Mapping[str, Any]) -> dict[str, Curve]:
    x = (100 * COVERAGES).tolist()
    return {
        MEASURES[name]: Curve(x, [100 * risk for risk in risks], COLOURS[name], DASHES.get(name, "-"))
        for name, risks in found["risks"].items()
    }


def _grown(found: Mapping[str, Any]) -> dict[str, Curve]:
    words, texts = found["words"], [value for value in found["texts"] if value is not None]
    return {
        "texts of the corpus": Curve(words[: len(texts)], texts, COLOURS["information"]),
        "words drawn from all texts": Curve(words, found["drawn"], COLOURS["typicality"], "--"),
        "expected by the model": Curve(words, found["expected"], "#222222", ":"),
    }


def _page(study: Mapping[str, Any]) -> str:
    corpora = study["corpora"]
    lines = [
        "# Certainty",
        "",
        "Test texts are ranked by measures of certainty that do not see their labels. The area under the risk-coverage "
        "curve (AURC) is the mean error of the classifier among the most certain texts, over all coverages, in per "
        "cent: lower is better, and chance is the error of all texts. In brackets are 95 % intervals by the bootstrap "
        f"over test texts. ▲ better and ▼ worse than the {MEASURES[REFERENCE]}, if the 95 % interval of the paired "
        "difference excludes 0. **Bold**: the best measure without the classifier.",
        "",
        "* *margin*: the margin of the classifier itself, for comparison; it was trained with labels.",
        f"* *typicality*: log mean exp({KERNEL:g} l/(l+{HALF:g}) cos) over the offsets of the training texts, l being "
        "the number of known words; its two constants were chosen by cross-validation within training texts.",
        "* *information*: divergence of the posterior from the prior, in nats. *offset*, *concentration*: the "
        "length of the offset and the concentration of the posterior.",
        "",
        "![Risk-coverage curves](certainty.png)",
    ]
    for kind, title in KINDS.items():
        lines += ["", f"## {title}", "", *_table({name: found[kind] for name, found in corpora.items()})]
        lines += ["", *_verdicts({name: found[kind]["areas"] for name, found in corpora.items()})]
    lines += [
        "",
        "## How information grows",
        "",
        "Mean information, in nats, of texts cut to their first known words (and its standard deviation), of as many "
        "words drawn from all texts, and what the model expects, (K-1)/2 log((A(k0)/k0) / (A(k')/k')) with "
        "k' = k0 + n k rho. It is exactly 0 for an empty text.",
        "",
        *_growth({name: found["growth"] for name, found in corpora.items()}),
        "",
        "![Information by number of words](information.png)",
        "",
        f"Word vectors: {study['vectors']}. Made by `{study['command']}` on {study['date'][:10]}.",
        "",
    ]
    return "\n".join(lines)


def _table(corpora: Mapping[str, Any]) -> list[str]:
    lines = _head("AURC, %", [f"{_title(name)} ({found['n']:,})" for name, found in corpora.items()])
    best = {
        name: min((area["value"], measure) for measure, area in found["areas"].items() if measure != "margin")[1]
        for name, found in corpora.items()
    }
    for measure, title in MEASURES.items():
        cells = [_cell(found["areas"][measure], measure == best[name]) for name, found in corpora.items()]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def _cell(area: Mapping[str, Any], best: bool) -> str:
    value, low, high = (f"{100 * area[end]:.1f}" for end in ("value", "low", "high"))
    return unbroken(f"{f'**{value}**' if best else value}{_mark(area)} [{low}, {high}]")


def _mark(area: Mapping[str, Any]) -> str:
    low, high = area["difference"]
    return " ▲" if high < 0 else " ▼" if low > 0 else ""


def _verdicts(corpora: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say for each measure of the posterior on how many corpora it is better or worse than the reference."""
    lines = []
    for measure in ("typicality", "information", "offset", "concentration"):
        marks = [_mark(found[measure]) for found in corpora.values()]
        lines.append(
            f"* {MEASURES[measure].capitalize()}: better than the {MEASURES[REFERENCE]} on {marks.count(' ▲')} of "
            f"{len(marks)} corpora, worse on {marks.count(' ▼')}, not significantly different on {marks.count('')}."
        )
    return lines


def _growth(corpora: Mapping[str, Mapping[str, Any]]) -> list[str]:
    words = next(iter(corpora.values()))["words"]
    lines = _head("nats", ["of", *(f"{size} word{'s' * (size > 1)}" for size in words)])
    for name, found in corpora.items():
        stds = zip(found["texts"], found["texts_std"], strict=True)
        rows = {
            "texts": ["–" if mean is None else f"{mean:.1f} ± {std:.1f}" for mean, std in stds],
            "drawn words": [f"{drawn:.1f}" for drawn in found["drawn"]],
            "the model": [f"{expected:.1f}" for expected in found["expected"]],
        }
        for of, cells in rows.items():
            lines.append(f"| {' | '.join(map(unbroken, [_title(name), of, *cells]))} |")
    return lines


def _head(first: str, others: Sequence[str]) -> list[str]:
    return [f"| {first} | " + " | ".join(others) + " |", "|---|" + "--:|" * len(others)]
