"""The commands around a model: fit, transform, explain, info, plot."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from ..errors import ParasphereError
from ..places import ENGLISH, GLOVE
from . import options
from .common import documents, out, print_json, quiet, reading, say, styled

NONE = "none"  # no word vectors to start from

if TYPE_CHECKING:
    from ..model import Explanation, SphericalParagraphModel


def add_model_commands(app: typer.Typer) -> None:
    """Register every command of this module."""
    for command in (fit, transform, export, explain, info, plot):
        app.command()(command)


def fit(
    corpus: options.Corpus,
    model: Annotated[Path, Option("--out", "-o", metavar="MODEL", help="Folder to write.")],
    vectors: Annotated[
        str | None,
        Option(
            "--vectors",
            "-v",
            help=f"Word vectors: '{ENGLISH}' (the default), '{GLOVE}' (the default with --paper), a file or a folder; "
            "'none' learns them from these texts alone.",
        ),
    ] = None,
    text_column: options.TextColumn = "text",
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    null: options.Null = "error",
    paper: Annotated[bool, Option("--paper", help="The model of the paper, instead of our defaults.")] = False,
    tokenizer: options.Tokens = None,
    stop_words: Annotated[
        bool | None,
        Option(
            "--stop-words/--no-stop-words",
            help="Drop English stop words; the default, except with word vectors that have weights.",
        ),
    ] = None,
    facets: Annotated[int, Option(min=1, help="Number of directions per document, one per region of words.")] = 1,
    learn: Annotated[
        bool, Option("--learn-vectors", help="Learn word vectors from these texts, starting from --vectors.")
    ] = False,
    epochs: Annotated[
        int | None, Option(min=1, help="Passes over the texts with --learn-vectors. (default: 40)")
    ] = None,
    dim: Annotated[
        int | None, Option(min=2, help="Dimension of learned vectors. (default: of --vectors, or 100)")
    ] = None,
    min_count: Annotated[
        int | None, Option(min=1, help="Learn no vectors of words with fewer occurrences. (default: 2)")
    ] = None,
    prior_strength: Annotated[
        float, Option(min=0.0, help="Number of words that the mean cosine counts for in each text; may be inf.")
    ] = 10.0,
    max_iter: Annotated[int, Option(min=1, help="Maximum number of EM iterations.")] = 500,
    tol: Annotated[float, Option(help="Stop when an iteration gains less, in nats per word.")] = 1e-6,
    seed: Annotated[int, Option(min=0, help="Seed of --paper, --facets and --learn-vectors.")] = 0,
    threads: options.Threads = 1,
    embed_vectors: Annotated[
        bool, Option("--embed-vectors", help="Copy the word vectors into the folder of the model.")
    ] = False,
    checkpoint: Annotated[
        Path | None, Option(help="Folder for the state of --learn-vectors; the same command resumes from it.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Fit a model to a corpus and save it.

    \b
    Examples:
        parasphere fit texts.txt --out model
        parasphere fit news.csv --text-column body --out model
        parasphere fit texts.txt --learn-vectors --out model
        parasphere fit texts.txt --vectors none --dim 50 --min-count 1 --out model
        zcat texts.txt.gz | parasphere fit - --facets 10 --out model
    """  # noqa: D301
    from ..corpus import blocks
    from ..model import SphericalParagraphModel
    from ..storage import check_target
    from ..vectors import JointVectors, WordVectors

    check_target(model, SphericalParagraphModel._kind())  # before the work rather than after it
    learn = learn or vectors == NONE
    learning = {"--epochs": epochs, "--checkpoint": checkpoint, "--dim": dim, "--min-count": min_count}
    for name, given in learning.items():
        if given is not None and not learn:
            raise ParasphereError(f"{name} needs --learn-vectors.")
    if paper and (stop_words is False or prior_strength != 10.0 or facets > 1 or learn or tokenizer):
        raise ParasphereError("--paper has its own stop words, prior strength, facets and vectors: omit these options.")
    settings: dict[str, Any] = {
        "max_iter": max_iter, "tol": tol, "n_jobs": threads, "random_state": seed, "verbose": not quiet.get(),
    }  # fmt: skip
    if not paper:
        settings |= {
            "tokenizer": options.tokenizer_named(tokenizer, stop_words),
            "facets": facets,
            "prior_strength": prior_strength,
        }
    vectors = vectors or (GLOVE if paper else ENGLISH)
    source: Any = None if vectors == NONE else WordVectors.load(vectors, verbose=not quiet.get())
    if learn:
        source = JointVectors(
            dim, start=source, epochs=epochs or 40, min_count=min_count or 2, random_state=seed, checkpoint=checkpoint,
            verbose=not quiet.get(),
        )  # fmt: skip
    make = SphericalParagraphModel.paper if paper else SphericalParagraphModel
    estimator = make(source, **settings)
    with reading("reading", corpus) as at:
        texts = blocks(documents(corpus), progress=at, text=text_column, encoding=encoding, format=format, null=null)
        material: Any = list(texts) if learn else estimator.read(texts)
    estimator.fit(material)
    estimator.save(model, embed_vectors=embed_vectors)
    bags = estimator.read(material) if learn else material
    counted = "known_words" if bags.reader is None or bags.reader.weights is None else "weight_of_known_words"
    facts = {"documents": len(bags), counted: int(bags.lengths.sum()), "unknown_words": int(bags.unknown.sum())}
    say({**facts, **_facts(estimator), "model": str(model)}, as_json)


def transform(
    model: options.Model,
    corpus: options.Corpus,
    vectors_file: Annotated[
        Path,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write: .parquet, .npy or .csv, one row per document; or - for CSV to standard output.",
        ),
    ],
    text_column: options.TextColumn = "text",
    id_column: options.IdColumn = None,
    label_column: options.LabelColumn = None,
    carry: Annotated[str | None, Option(help="Names of further columns to write along, separated by commas.")] = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    null: options.Null = "error",
    space: options.OfVectors = "offset",
    threads: options.Threads = 1,
    vectors: options.LoadVectors = None,
    as_json: options.AsJson = False,
) -> None:
    """Write the vectors of texts to a file, in constant memory.

    \b
    Examples:
        parasphere transform model texts.txt --out vectors.npy
        parasphere transform model news.csv --id-column id --carry topic --out vectors.parquet
        parasphere transform model texts.txt --out - | head
    """  # noqa: D301
    from ..model.exports import writer

    estimator = _load(model, vectors)
    estimator.n_jobs = threads
    columns = _columns(text_column, encoding, format, null=null, id=id_column, label=label_column)
    columns["carry"] = [] if carry is None else [name.strip() for name in carry.split(",")]
    count = 0
    with reading("transforming", corpus) as at, writer(vectors_file, estimator._n_features_out, space) as write:
        for block, posterior in estimator.stream(documents(corpus), progress=at, **columns):
            write(block, posterior)
            count += len(block)
    if str(vectors_file) == "-":
        return
    facts = {"documents": count, "dim": estimator._n_features_out, "file": str(vectors_file)}
    say(facts, as_json, f"{count:,} vectors of {estimator._n_features_out} dimensions written to {vectors_file}")


def export(
    model: options.Model,
    folder: Annotated[Path, Option("--out", "-o", metavar="FOLDER", help="Folder to write.")],
    space: options.OfVectors = "offset",
    vectors: options.LoadVectors = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a model to a folder that model2vec and sentence-transformers load too.

    There vectors are sums of words: exact for 'fit --prior-strength inf' and 'export --space direction', nearly so
    otherwise.

    \b
    Examples:
        parasphere export model --out static-model
        parasphere export model --space direction --out static-model
    """  # noqa: D301
    _load(model, vectors).write_static(folder, space=space)
    facts = {"folder": str(folder), "space": space}
    say(facts, as_json, f"written to {folder}, for model2vec.StaticModel.from_pretrained and SentenceTransformer")


def explain(
    model: options.Model,
    text: Annotated[str, Argument(help="The text to explain.")],
    vectors: options.LoadVectors = None,
    as_json: options.AsJson = False,
) -> None:
    """Show how much each word, and the corpus, contributes to the direction of a text.

    \b
    Examples:
        parasphere explain model "a short text"
    """  # noqa: D301
    import numpy as np

    estimator = _load(model, vectors)
    explanation = estimator.explain(text)
    if as_json:
        print_json(vars(explanation))
        return
    if explanation.words:
        _print_shares(explanation)
    else:
        out.print("No word of this text has a vector: its direction is that of the corpus.")
    if explanation.words and estimator.facets_ is not None:
        facets = Table("facet", "share", "words", box=None)
        for facet in np.argsort(explanation.facets)[::-1]:
            words = ", ".join(estimator.facet_words(6)[facet])
            facets.add_row(str(facet + 1), f"{explanation.facets[facet]:.1%}", words)
        out.print(facets)
    if explanation.unknown:
        out.print(f"No vector for: {', '.join(dict.fromkeys(explanation.unknown))}", soft_wrap=True)


def _print_shares(explanation: "Explanation") -> None:
    """Print the words of a text, the shares of words and corpus, and the words with the largest shares."""
    out.print(_coloured(explanation))
    out.print(
        f"\nShare of the corpus: {explanation.prior:.0%}; of the words: {1 - explanation.prior:.0%}. Certainty of the "
        f"direction: kappa' = {explanation.concentration:,.0f}; agreement of the words: kappa_n = "
        f"{explanation.word_concentration:,.1f}."
    )
    strongest: dict[str, float] = {}
    for word, share in explanation.words:
        strongest[word] = strongest.get(word, 0.0) + share
    table = Table("word", "share", "", box=None)
    largest = max(map(abs, strongest.values()), default=1.0) or 1.0
    for word, share in sorted(strongest.items(), key=lambda item: -item[1])[:15]:
        colour = "green" if share >= 0 else "red"
        table.add_row(word, f"{share:+.1%}", styled(("█" * round(30 * abs(share) / largest), colour)))
    out.print(table)


def info(model: options.Model, vectors: options.LoadVectors = None, as_json: options.AsJson = False) -> None:
    """Describe a saved model.

    \b
    Examples:
        parasphere info model
        parasphere info model --json
    """  # noqa: D301
    say(_facts(_load(model, vectors)), as_json)


def plot(
    model: options.Model,
    corpus: options.Corpus,
    picture: options.Picture,
    label_column: options.LabelColumn = None,
    text_column: options.TextColumn = "text",
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    null: options.Null = "error",
    title: Annotated[str | None, Option(help="Title of the map.")] = None,
    vectors: options.LoadVectors = None,
    as_json: options.AsJson = False,
) -> None:
    """Draw documents on a map of the sphere, coloured by label; uncertain ones are faint.

    \b
    Examples:
        parasphere plot model news.csv --label-column topic --out map.png
        parasphere plot model news.csv --label-column topic --out map.html
    """  # noqa: D301
    import numpy as np

    from ..plots import draw_map

    estimator = _load(model, vectors)
    columns = _columns(text_column, encoding, format, null=null, id=id_column, label=label_column)
    labels: list[str] = []
    ids: list[str] = []
    texts: list[str] = []
    directions, certainty = [np.empty((0, estimator._n_features_out))], [np.empty(0)]
    with reading("reading", corpus) as at:
        for block, posterior in estimator.stream(documents(corpus), progress=at, **columns):
            directions.append(posterior.direction)
            certainty.append(posterior.mean_length)
            n, given, names = len(block), block.labels, block.ids
            labels += [""] * n if given is None else ["" if one is None else str(one) for one in given.to_pylist()]
            ids += map(str, range(block.start + 1, block.start + n + 1) if names is None else names.to_pylist())
            texts += [str(text)[:300] for text in block.texts.to_pylist()]
    draw_map(
        picture, np.concatenate(directions), estimator.mean_direction_, np.concatenate(certainty),
        labels if any(labels) else None, title=title, ids=ids, texts=texts,
    )  # fmt: skip
    say({"documents": len(texts), "file": str(picture)}, as_json, f"{len(texts):,} documents drawn to {picture}")


def _columns(text: str, encoding: str, format: str | None, **more: Any) -> dict[str, Any]:
    """Return the options that say how a corpus is read."""
    return {"text": text, "encoding": encoding, "format": format, **more}


def _load(model: Path, vectors: str | None) -> "SphericalParagraphModel":
    from ..model import SphericalParagraphModel

    return SphericalParagraphModel.load(model, vectors=vectors)


def _facts(model: "SphericalParagraphModel") -> dict[str, Any]:
    import numpy as np

    vectors = model.vectors_
    facets = [] if model.facets_ is None else model.facet_words(6)
    return {
        "vectors": None if vectors is None else vectors.name,
        "dim": model._n_features_out,
        **{f"facet_{number}": words for number, words in enumerate(facets, 1)},
        "concentration_of_documents": round(model.concentration_, 3),
        "mean_cosine_of_words": round(model.word_cosine_, 4),
        "prior_strength": "inf" if np.isinf(model.prior_.strength) else float(model.prior_.strength),
        "objective_per_word": round(float(model.evidence_[-1]), 6),
        "iterations": int(model.n_iter_),
        "converged": bool(model.converged_),
    }


def _coloured(explanation: "Explanation") -> Text:
    """Return the words in the order of the text, greener the larger their share, red if it is negative."""
    parts: list[str | tuple[str, str]] = []
    largest = max((abs(share) for _, share in explanation.words), default=1.0) or 1.0
    for word, share in explanation.words:
        strength = round(90 + 165 * min(1.0, abs(share) / largest))
        colour = f"rgb(60,{strength},90)" if share >= 0 else f"rgb({strength},70,70)"
        parts += [(word, f"bold {colour}" if abs(share) > 0.6 * largest else colour), " "]
    return styled(*parts)
