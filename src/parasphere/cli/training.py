"""``parasphere train-encoder``: sentence encoders that learn from ordered text, once, for every experiment after."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ParasphereError
from .common import AsJson, Commands, facts_table, out, say

training_app = typer.Typer(
    cls=Commands, help="Train sentence encoders on ordered text: what stands next to what.", no_args_is_help=True
)
_POINTS = 20  # of a loss curve that is printed
_WIDTH = 40  # of its longest bar

Text = Annotated[
    Path,
    typer.Option(
        "--text",
        help="Ordered text: a sentence or a paragraph a line, a blank line between documents; .txt, also in .gz, .xz, "
        ".bz2 or .zip.",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The folder to write; by default where 'parasphere reproduce' looks for it."),
]
Epochs = Annotated[int, typer.Option(min=1, help="Passes over the text.")]
Split = Annotated[
    bool,
    typer.Option("--split-sentences/--no-split-sentences", help="Split lines into sentences, or take them as such."),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same vectors.")]


def add_training_commands(app: typer.Typer) -> None:
    """Register every command of this module."""
    app.add_typer(training_app, name="train-encoder")


@training_app.command()
def fastsent(
    text: Text,
    folder: Folder = None,
    dim: Annotated[int, typer.Option(min=1, help="Dimensions.")] = 100,
    epochs: Epochs = 5,
    autoencode: Annotated[bool, typer.Option("--autoencode", help="Foretell a sentence's own words too.")] = False,
    min_count: Annotated[int, typer.Option(min=1, help="Drop words that are rarer.")] = 5,
    sample: Annotated[float, typer.Option(min=0, help="Drop some of the words that are more frequent.")] = 1e-3,
    negative: Annotated[int, typer.Option(min=1, help="Noise words for each word that is foretold.")] = 5,
    learning_rate: Annotated[float, typer.Option(help="At first; falls to nearly zero.")] = 0.025,
    split_sentences: Split = True,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train FastSent: a sentence is the sum of its words, and foretells the words of its neighbours.

    Minutes on a laptop: some 300,000 words a second, one core. Use the folder with FastSent.load, or in experiments
    with Pretrained.
    """
    from ..baselines.fastsent import FastSent
    from ..experiments.encoders import trained_folder

    model = FastSent(
        dim, autoencode=autoencode, min_count=min_count, sample=sample, negative=negative, epochs=epochs,
        learning_rate=learning_rate, split_sentences=split_sentences, random_state=seed,
    )  # fmt: skip
    _train(model, text, folder or trained_folder("fastsent"), as_json)


@training_app.command("skip-thought")
def skip_thought(
    text: Text,
    folder: Folder = None,
    dim: Annotated[int, typer.Option(min=1, help="Dimensions of the state.")] = 2400,
    word_dim: Annotated[int, typer.Option(min=1, help="Dimensions of word embeddings.")] = 620,
    words: Annotated[int, typer.Option(min=1, help="How many words are learned, the most frequent.")] = 20_000,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the text; 5 if no minutes are given.")] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Time to train for; the learning rate reaches zero at its end.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Sentences a step.")] = 256,
    learning_rate: Annotated[float, typer.Option(help="Adam's, at its largest; smaller states bear more.")] = 5e-4,
    max_length: Annotated[int, typer.Option(min=1, help="Words of a sentence that are looked at.")] = 30,
    vectors: Annotated[
        str | None,
        typer.Option("--vectors", "-v", help="Word vectors, by which words that were not learned are understood."),
    ] = None,
    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:1, ...")] = "cpu",
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A folder to go on from after an interruption: give the same command again."),
    ] = None,
    checkpoint_minutes: Annotated[float, typer.Option(min=0, help="How often it is written.")] = 5.0,
    precision: Annotated[str, typer.Option(help="float32, or float16 for a folder of half the size.")] = "float32",
    split_sentences: Split = True,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train skip-thought: a recurrent network whose state after a sentence foretells the sentences around it.

    At 2,400 dimensions this wants a GPU (--device cuda --minutes 20); on a CPU, try --dim 128 --word-dim 64 first. An
    interruption (Ctrl-C) writes the checkpoint, if one is named. Needs the extra 'neural'.
    """
    from ..baselines.skipthought import SkipThought
    from ..experiments.encoders import trained_folder

    model = SkipThought(
        dim, word_dim, words, max_length, epochs, minutes, batch_size, learning_rate, vectors=vectors,
        split_sentences=split_sentences, device=device, checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes,
        precision=precision, random_state=seed,
    )  # fmt: skip
    _train(model, text, folder or trained_folder("skip-thought"), as_json)


@training_app.command()
def losses(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What one of the other commands wrote.")],
    as_json: AsJson = False,
) -> None:
    """Print how the loss fell in training, in twenty parts (or all of it, as JSON)."""
    from ..baselines.pretrained import load_encoder

    model = load_encoder(folder)
    if as_json:
        say({"losses": [round(float(loss), 5) for loss in model.losses_]}, "", True)
        return
    parts = _mean_losses(model)
    for i, loss in enumerate(parts):
        bar = "█" * max(1, round(_WIDTH * loss / max(parts)))
        out.print(f"{(i + 1) / len(parts):4.0%}  {loss:8.4f}  {bar}")


def _mean_losses(model: Any) -> list[float]:
    """Return the mean losses of twenty parts of a training; fewer if there were fewer steps, none if no losses."""
    import numpy as np

    parts = np.array_split(model.losses_, max(1, min(_POINTS, len(model.losses_))))
    return [float(part.mean()) for part in parts if len(part)]


def _train(model: Any, text: Path, folder: Path, as_json: bool) -> None:
    """Train an encoder, save it, and tell what came of it."""
    from ..storage import check_target

    check_target(folder, model._kind())  # before the work rather than after it
    if not text.exists():
        raise ParasphereError(f"{text}: there is no such file; ordered text is needed, a sentence or paragraph a line")
    model.set_params(verbose=True).fit(text)
    model.save(folder)
    losses = _mean_losses(model)
    facts = {
        "sentences": model.n_sentences_,
        "vocabulary": len(model.vocabulary_),
        "words_seen": model.words_seen_,
        "seconds": round(model.seconds_, 2),
        "words_per_second": round(model.words_seen_ / max(model.seconds_, 1e-9)),
        "first_loss": None if not len(losses) else round(float(losses[0]), 4),
        "final_loss": None if not len(losses) else round(float(losses[-1]), 4),
        "out": str(folder),
    }
    if as_json:
        say(facts, "", True)
    else:
        facts_table(facts)
