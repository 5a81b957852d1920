"""The command that fits a model."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from ..errors import ParasphereError
from ..places import ENGLISH, GLOVE
from . import options
from .common import documents, load_model, model_facts, quiet, reading, say

NONE = "none"  # no word vectors to start from


def add_fit_command(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(fit)


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
    adapt: Annotated[
        bool,
        Option("--adapt/--no-adapt", help=f"Adapt '{ENGLISH}' to these texts; the default, except with --cluster."),
    ] = True,
    learn: Annotated[
        bool, Option("--learn-vectors", help="Learn word vectors from these texts, starting from --vectors.")
    ] = False,
    update: Annotated[
        Path | None,
        Option("--from", metavar="MODEL", help="Learn from these texts on: start from the word vectors of a model."),
    ] = None,
    epochs: Annotated[
        int | None, Option(min=1, help="Passes over the texts with --learn-vectors. (default: by the number of words)")
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
    seed: Annotated[int, Option(min=0, help="Seed of --paper and --learn-vectors.")] = 0,
    threads: options.Threads = 1,
    embed_vectors: Annotated[
        bool, Option("--embed-vectors", help="Copy the word vectors into the folder of the model.")
    ] = False,
    checkpoint: Annotated[
        Path | None, Option(help="Folder for the state of --learn-vectors; the same command resumes from it.")
    ] = None,
    cluster: options.Cluster = None,
    work: Annotated[
        Path | None,
        Option(help="Folder for the state of --cluster, which all workers see; the same command resumes from it."),
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
        parasphere fit more.txt --learn-vectors --from model --out newer
        zcat texts.txt.gz | parasphere fit - --out model
        parasphere fit 'texts/*.parquet' --cluster local:4 --out model
    """
    from ..corpus import blocks
    from ..estimator import SphericalParagraphModel
    from ..storage import check_target, checkpoints_kept

    check_target(model, SphericalParagraphModel.kind())  # before the work rather than after it
    learn = learn or vectors == NONE
    learning = {
        "--epochs": epochs, "--checkpoint": checkpoint, "--dim": dim, "--min-count": min_count, "--from": update,
    }  # fmt: skip
    for name, given in learning.items():
        if given is not None and not learn:
            raise ParasphereError(f"{name} needs --learn-vectors.")
    if work is not None and cluster is None:
        raise ParasphereError("--work needs --cluster.")
    if paper and (stop_words is False or prior_strength != 10.0 or learn or tokenizer):
        raise ParasphereError(
            "--paper has its own tokenizer, stop words, prior strength and vectors: omit these options."
        )
    settings: dict[str, Any] = {
        "max_iter": max_iter, "tol": tol, "n_jobs": threads, "random_state": seed, "verbose": not quiet.get(),
    }  # fmt: skip
    if not paper:
        words = options.tokenizer_named(tokenizer, stop_words)
        settings |= {"tokenizer": words, "prior_strength": prior_strength}
    source = _given_vectors(vectors or (GLOVE if paper else ENGLISH), update, vectors)
    if learn:
        source = _learner(
            source, dim=dim, min_count=min_count, epochs=epochs, updating=update is not None, random_state=seed,
            n_jobs=threads, checkpoint=checkpoint,
        )  # fmt: skip
    adapt = adapt and not paper and getattr(source, "source", None) == ENGLISH
    settings["adapt"] = adapt
    make = SphericalParagraphModel.paper if paper else SphericalParagraphModel
    estimator = make(source, **settings)
    columns: dict[str, Any] = {"text": text_column, "encoding": encoding, "format": format, "null": null}
    if cluster is not None:
        from .cluster import fit_on_cluster

        work = work or model.with_name(f"{model.name}-work")
        count = fit_on_cluster(estimator, corpus, cluster, work, columns)
        estimator.save(model, embed_vectors=embed_vectors)
        say({"documents": count, **model_facts(estimator), "model": str(model)}, as_json)
        return
    material: Any = _Texts(corpus, columns)
    if not (adapt and (corpus.is_file() or corpus.is_dir())):
        with reading("reading", corpus) as at:
            texts = blocks(documents(corpus), progress=at, **columns)
            material = list(texts) if learn or adapt else estimator.read(texts)
    with checkpoints_kept():
        estimator.fit(material)
        estimator.save(model, embed_vectors=embed_vectors)
    bags = estimator.read(material) if learn or adapt else material
    counted = "known_words" if bags.reader is None or bags.reader.weights is None else "weight_of_known_words"
    facts = {"documents": len(bags), counted: int(bags.lengths.sum()), "unknown_words": int(bags.unknown.sum())}
    say({**facts, **model_facts(estimator), "model": str(model)}, as_json)


class _Texts:
    """The texts of a corpus, read again each time, so that they need not be held in memory."""

    def __init__(self, corpus: Path, columns: dict[str, Any]) -> None:
        self.corpus, self.columns = corpus, columns

    def __iter__(self) -> Any:
        from ..corpus import blocks

        return blocks(self.corpus, **self.columns)


def _given_vectors(name: str, update: Path | None, given: str | None) -> Any:
    """Return the word vectors to use or to start from; None for none."""
    from ..vectors import WordVectors

    if update is None:
        return None if name == NONE else WordVectors.load(name, verbose=not quiet.get())
    if given is not None:
        raise ParasphereError("--from takes the word vectors of a model: omit --vectors.")
    return load_model(update).vectors_


def _learner(start: Any, *, epochs: int | None, min_count: int | None, updating: bool, **settings: Any) -> Any:
    """Return what learns word vectors from the texts; an option that is not given is left to the learner."""
    from ..vectors import UPDATING, JointVectors

    if min_count is not None:
        settings["min_count"] = min_count
    return JointVectors(
        start=start, start_strength=UPDATING if updating else 0.0, epochs=epochs, verbose=not quiet.get(), **settings
    )
