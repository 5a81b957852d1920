"""Messages of the library name parameters; on the command line they name options instead."""

import re

# Parameters whose option has another name.
_RENAMED = {
    "n_jobs": "threads", "n_topics": "topics", "text": "text-column", "label": "label-column", "id": "id-column",
}  # fmt: skip
_SAME = (
    "batch_size carry checkpoint checkpoint_minutes device dim encoding epochs facets format jobs k learning_rate "
    "max_iter max_length member min_count minutes null precision prior_strength seed threshold tol vectors "
    "weight word_dim"
).split()
PARAMETERS = {name: "--" + _RENAMED.get(name, name).replace("_", "-") for name in [*_RENAMED, *_SAME]} | {"k": "-k"}
_CONVERT = "'parasphere vectors convert"
PHRASES = (
    ("errors='skip' leaves out such rows and reports them", f"{_CONVERT} --skip-bad-rows' leaves out such rows"),
    ("pass member= one of", f"{_CONVERT} --member ...' takes one of"),
    (" See `.skipped`.", ""),
    ("load(folder, vectors=...)", "--vectors ..."),
    ("pass trust=True", "open it in Python, with WordVectors.load(path, trust=True)"),
    ("JointVectors learns them from the texts", "'parasphere fit --learn-vectors' learns them from the texts"),
    (", or gensim's KeyedVectors", ""),
    ("a folder of WordVectors.save, model2vec or", "or a folder of 'parasphere vectors', model2vec or"),
    (", and a tokenizer of your own decides what a word is", ""),
    (", or pass a tokenizer that finds them, tokenizer=SegmentingTokenizer()", ", or fit with --tokenizer segmenting"),
    ("tokenizer=SegmentingTokenizer()", "--tokenizer segmenting"),
    ("made with words=False", "made with --no-words"),
    (": pass it again to load.", ", so the model can be used from Python only."),
    (
        "so label, id and carry cannot name one; pass the labels or ids themselves",
        "so --label-column, --id-column and --carry need another format, such as .csv or .jsonl",
    ),
    ("Allow more iterations or a larger tol.", "Allow more iterations or a larger --tol."),
)
# The same of messages that are put together, by storage and by scikit-learn.
COMPOSED = (
    ("not 'index'.", "not an index, which 'parasphere index' makes."),
    (", a int among {-1} or None.", " or -1."),
)
_NAMES = "|".join(PARAMETERS)
_LONG = "|".join(name for name in PARAMETERS if "_" in name)  # cannot be words of a sentence, so they need no "="
_VALUE = r"""(?:"([^"]*)"|'([^']*)'|([\w.+-]*\w))?"""
# Only after a blank or a bracket: text in quotes or in a path is no hint.
_REFUSED = re.compile(rf"The '({_NAMES})' parameter of \w+ must")  # scikit-learn's wording
_BAD = re.compile(rf"^({_NAMES})(?= must )")  # ours
_HINT = re.compile(rf"(?:(?<=[ (])|^)(?:({_NAMES})= ?{_VALUE}|`({_NAMES})`|({_LONG})\b(?!\.\w))")


def as_typed(message: str) -> str:
    """Replace the parameters in the hints of a message by options.

    Examples
    --------
    >>> as_typed('it is not UTF-8; perhaps encoding="latin-1"')
    'it is not UTF-8; perhaps --encoding latin-1'
    >>> as_typed("EM stopped after max_iter=5 iterations; n_jobs must be positive")
    'EM stopped after --max-iter 5 iterations; --threads must be positive'
    >>> as_typed("The 'n_jobs' parameter of SphericalParagraphModel must be an int. Got 0 instead.")
    '--threads must be an int. Got 0 instead.'
    >>> as_typed("threshold must be above 0 and at most 1, not 2")
    '--threshold must be above 0 and at most 1, not 2'
    """
    for phrase, instead in PHRASES + COMPOSED:
        message = message.replace(phrase, instead)
    message = _BAD.sub(lambda bad: PARAMETERS[bad[1]], message)
    message = _REFUSED.sub(lambda refused: f"{PARAMETERS[refused[1]]} must", message)
    return _HINT.sub(_spelled, message)


def _spelled(hint: re.Match[str]) -> str:
    option = PARAMETERS[hint[1] or hint[5] or hint[6]]
    value = hint[2] or hint[3] or hint[4]
    return f"{option} {value}" if value else option
