"""The command that fits a model."""

from pathlib import Path
from typing import Any

import click

from ..errors import ParasphereError
from ..places import ENGLISH
from . import options
from .common import documents, encoder_facts, load_encoder, quiet, reading, say

NONE = "none"  # no word vectors to start from


@click.command()
@options.corpus
@options.out("MODEL", "Folder to write.")
@click.option(
    "--vectors",
    "-v",
    metavar="VECTORS",
    help="Word vectors: a name, a file or a folder; 'none' learns them from these texts alone.",
    show_default=ENGLISH,
)
@click.option("--adapt/--no-adapt", default=True, help="Adapt the vectors to these texts.")
@options.flag("--learn-vectors", "learn", help="Learn word vectors from these texts, starting from --vectors.")
@click.option(
    "--from",
    "update",
    metavar="MODEL",
    type=options.PATH,
    help="With --learn-vectors, continue from the word vectors of this model.",
)
@options.reading()
@options.tokenizer
@options.threads
@options.as_json
def fit(
    corpus: Path,
    out: Path,
    vectors: str | None,
    learn: bool,
    adapt: bool,
    update: Path | None,
    tokenizer: str | None,
    threads: int,
    as_json: bool,
    **columns: Any,
) -> None:
    """Fit a model to a corpus and save it.

    \b
    Examples:
        parasphere fit texts.txt --out model
        parasphere fit news.csv --text-column body --out model
        parasphere fit texts.txt --learn-vectors --out model
        parasphere fit texts.txt --vectors none --out model
        parasphere fit more.txt --learn-vectors --from model --out newer
        zcat texts.txt.gz | parasphere fit - --out model

    SphericalParagraphModel in Python has all other settings, and fits on a cluster too.
    """
    from ..corpus import Corpus, blocks
    from ..model.estimator import SphericalParagraphModel
    from ..storage import check_target

    check_target(out, SphericalParagraphModel.kind())  # fail before the work, not after it
    learn = learn or vectors == NONE
    if update is not None and not learn:
        raise ParasphereError("--from needs --learn-vectors.")
    source = _given_vectors(vectors, update)
    if learn:
        source = _learner(source, updating=update is not None, threads=threads)
    adapt = adapt and not learn  # a learner learns from the texts itself
    words, verbose = options.tokenizer_named(tokenizer), not quiet.get()
    estimator = SphericalParagraphModel(
        source, adapt=adapt, tokenizer=words, n_jobs=threads, random_state=0, verbose=verbose
    )
    material: Any = Corpus(corpus, **columns)
    if not (adapt and (corpus.is_file() or corpus.is_dir())):
        with reading("reading", corpus) as at:
            texts = blocks(documents(corpus), progress=at, **columns)
            material = list(texts) if learn or adapt else estimator.read(texts)
    estimator.fit(material)
    estimator.save(out)
    bags = estimator.read(material) if learn or adapt else material
    counted = "known_words" if bags.reader is None or bags.reader.weights is None else "weight_of_known_words"
    facts = {"documents": len(bags), counted: int(bags.lengths.sum()), "unknown_words": int(bags.unknown.sum())}
    facts |= encoder_facts(estimator.encoder_) | {"iterations": int(estimator.n_iter_)}
    say({**facts, "converged": bool(estimator.converged_), "model": str(out)}, as_json)


def _given_vectors(name: str | None, update: Path | None) -> Any:
    """Return the word vectors to use or to start from; None if there are none."""
    from ..vectors import WordVectors

    if update is None:
        return None if name == NONE else WordVectors.load(name or ENGLISH, verbose=not quiet.get())
    if name is not None:
        raise ParasphereError("--from takes the word vectors of a model: omit --vectors.")
    return load_encoder(update).text_reader.vectors


def _learner(start: Any, *, updating: bool, threads: int) -> Any:
    """Return the estimator that learns word vectors from the texts."""
    from ..vectors import UPDATING, JointVectors

    strength = UPDATING if updating else 0.0
    return JointVectors(start=start, start_strength=strength, random_state=0, n_jobs=threads, verbose=not quiet.get())
