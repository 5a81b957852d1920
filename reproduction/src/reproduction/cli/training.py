"""``reproduce train-encoder``: train sentence encoders on ordered text."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from parasphere.errors import ParasphereError

from .console import AsJson, Commands, out, print_json

training_app = typer.Typer(cls=Commands, help="Train sentence encoders on ordered text.", no_args_is_help=True)
_POINTS = 20  # of a loss curve that is printed
_WIDTH = 40  # of its longest bar

Text = Annotated[
    Path,
    Option(
        "--text",
        help="Ordered text: one sentence or paragraph per line, blank lines between documents; .txt, also in .gz, .xz "
        "or .bz2.",
    ),
]
OutFile = Annotated[
    Path | None, Option("--out", "-o", help="OutFile to write. (default: where 'reproduce run' looks for it)")
]
MinCount = Annotated[int, Option(min=1, help="Ignore words with fewer occurrences.")]
Epochs = Annotated[int, Option(min=1, help="Passes over the text.")]
Split = Annotated[
    bool, Option("--split-sentences/--no-split-sentences", help="Split lines into sentences, or take each line as one.")
]
Seed = Annotated[int, Option(min=0, help="Seed; the same seed gives the same vectors.")]


@training_app.command()
def fastsent(
    text: Text,
    path: OutFile = None,
    dim: Annotated[int, Option(min=1, help="Dimension of the vectors.")] = 100,
    epochs: Epochs = 5,
    autoencode: Annotated[bool, Option("--autoencode", help="Predict the words of the sentence itself too.")] = False,
    min_count: MinCount = 5,
    sample: Annotated[float, Option(min=0, help="Frequency above which words are dropped at random.")] = 1e-3,
    negative: Annotated[int, Option(min=1, help="Noise words per predicted word.")] = 5,
    learning_rate: Annotated[float, Option(help="Initial learning rate; it falls to nearly zero.")] = 0.025,
    split_sentences: Split = True,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train FastSent: sentences as sums of word vectors that predict the words of adjacent sentences.

    It takes minutes on a laptop: about 300,000 words per second on one core.

    \b
    Examples:
        reproduce train-encoder fastsent --text books.txt
        reproduce train-encoder fastsent --text books.txt --dim 50 --out fastsent.safetensors
        reproduce run --encoders fastsent --datasets mr
    """
    from ..baselines.fastsent import FastSent
    from ..experiments.encoders import trained_file

    model = FastSent(
        dim, autoencode=autoencode, min_count=min_count, sample=sample, negative=negative, epochs=epochs,
        learning_rate=learning_rate, split_sentences=split_sentences, random_state=seed,
    )  # fmt: skip
    _train(model, text, path or trained_file("fastsent"), as_json)


@training_app.command("skip-thought")
def skip_thought(
    text: Text,
    path: OutFile = None,
    dim: Annotated[int, Option(min=1, help="Dimension of the state.")] = 2400,
    word_dim: Annotated[int, Option(min=1, help="Dimension of the word embeddings.")] = 620,
    words: Annotated[int, Option(min=1, help="Number of words, the most frequent ones.")] = 20_000,
    epochs: Annotated[
        int | None, Option(min=1, help="Passes over the text. (default: 5, unless --minutes is given)")
    ] = None,
    minutes: Annotated[
        float | None, Option(help="Minutes to train for; the learning rate reaches zero at the end.")
    ] = None,
    batch_size: Annotated[int, Option(min=1, help="Sentences per step.")] = 256,
    learning_rate: Annotated[
        float, Option(help="Largest learning rate of Adam; smaller states tolerate larger ones.")
    ] = 5e-4,
    max_length: Annotated[int, Option(min=1, help="Words per sentence; longer sentences are cut.")] = 30,
    vectors: Annotated[
        str | None,
        Option("--vectors", "-v", help="Word vectors from which the embeddings of other words are inferred."),
    ] = None,
    device: Annotated[str, Option(help="Device: cpu, cuda, cuda:1, ...")] = "cpu",
    checkpoint: Annotated[Path | None, Option(help="File for the state; the same command resumes from it.")] = None,
    checkpoint_minutes: Annotated[float, Option(min=0, help="Minutes between checkpoints.")] = 5.0,
    precision: Annotated[str, Option(help="float32, or float16 for half the size on disk.")] = "float32",
    split_sentences: Split = True,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train skip-thought: a recurrent network whose state after a sentence predicts the adjacent sentences.

    2,400 dimensions need a GPU; on a CPU, start with --dim 128 --word-dim 64.
    Ctrl-C writes the checkpoint, if one is named. Needs the extra 'neural'.

    \b
    Examples:
        reproduce train-encoder skip-thought --text books.txt --device cuda
        reproduce train-encoder skip-thought --text books.txt --dim 128 --word-dim 64
    """
    from ..baselines.skipthought import SkipThought
    from ..experiments.encoders import trained_file

    model = SkipThought(
        dim, word_dim, words, max_length, epochs, minutes, batch_size, learning_rate, vectors=vectors,
        split_sentences=split_sentences, device=device, checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes,
        precision=precision, random_state=seed,
    )  # fmt: skip
    _train(model, text, path or trained_file("skip-thought"), as_json)


@training_app.command()
def losses(
    path: Annotated[Path, Argument(metavar="FILE", help="File written by one of the other commands.")],
    as_json: AsJson = False,
) -> None:
    """Print the losses of the training: the means of twenty parts, or all of them as JSON.

    \b
    Examples:
        reproduce train-encoder losses fastsent.safetensors
    """
    from ..baselines.pretrained import load_encoder

    model = load_encoder(path)
    if as_json:
        print_json({"losses": [round(float(loss), 5) for loss in model.losses_]})
        return
    parts = _mean_losses(model)
    for i, loss in enumerate(parts):
        bar = "█" * max(1, round(_WIDTH * loss / max(parts)))
        out.print(f"{(i + 1) / len(parts):4.0%}  {loss:8.4f}  {bar}")


def _mean_losses(model: Any) -> list[float]:
    """Return the mean losses of twenty parts of a training, or of fewer if there were fewer steps."""
    import numpy as np

    parts = np.array_split(model.losses_, max(1, min(_POINTS, len(model.losses_))))
    return [float(part.mean()) for part in parts if len(part)]


def _train(model: Any, text: Path, path: Path, as_json: bool) -> None:
    """Train an encoder, save it, and print the results."""
    from parasphere.storage import check_target

    check_target(path, type(model).__name__)  # before the work rather than after it
    if not text.exists():
        raise ParasphereError(f"{text}: there is no such file; give ordered text, one sentence or paragraph per line")
    model.set_params(verbose=True).fit(text)
    model.save(path)
    losses = _mean_losses(model)
    facts = {
        "sentences": model.n_sentences_,
        "vocabulary": len(model.vocabulary_),
        "words_seen": model.words_seen_,
        "seconds": round(model.seconds_, 2),
        "words_per_second": round(model.words_seen_ / max(model.seconds_, 1e-9)),
        "first_loss": round(losses[0], 4) if losses else None,
        "final_loss": round(losses[-1], 4) if losses else None,
        "out": str(path),
    }
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        shown = f"{value:,}" if isinstance(value, int | float) else str(value)
        out.print(f"{name.replace('_', ' '):16}  {shown}")
