"""Errors and warnings are worded for Python; on the command line their hints name options instead."""

import re

# Parameters whose option has another name; that of the others is their own.
_RENAMED = {"n_jobs": "threads", "text": "text-column", "label": "label-column", "id": "id-column"}
_SAME = (
    "batch_size checkpoint checkpoint_minutes dim encoding epochs facets format jobs k learning_rate max_iter "
    "max_length member min_count minutes precision prior_strength seed tol vectors word_dim"
).split()
PARAMETERS = {name: "--" + _RENAMED.get(name, name).replace("_", "-") for name in [*_RENAMED, *_SAME]} | {"k": "-k"}
_CONVERT = "'parasphere vectors convert"  # which any command can take its vectors from
PHRASES = (
    ("errors='skip' leaves such rows out and reports them", f"{_CONVERT} --skip-bad-rows' leaves such rows out"),
    ("pass member= one of", f"{_CONVERT} --member ...' takes one of"),
    (" See `.skipped`.", ""),
    ("load(folder, vectors=...)", "--vectors ..."),
    ("pass trust=True", "open it in Python, with WordVectors.load(path, trust=True)"),
    ("JointSphericalModel learns them from the texts", "'parasphere fit --learn-vectors' learns them from the texts"),
    (", a folder that WordVectors.save wrote, or gensim's KeyedVectors", ", or a folder of 'parasphere vectors'"),
    (", and a tokenizer of your own decides what a word is", ""),
    (", or give a tokenizer that finds them, such as tokenizer=jieba.lcut", " first"),
    (": name it again.", ", so that the model can be used from Python only."),
)
_NAMES = "|".join(PARAMETERS)
_LONG = "|".join(name for name in PARAMETERS if "_" in name)  # is no word of a sentence, and so needs no "="
_VALUE = r"""(?:"([^"]*)"|'([^']*)'|([\w.+-]*\w))?"""
# After a blank or a bracket only: what stands in quotes or in a path is no hint.
_HINT = re.compile(rf"(?:(?<=[ (])|^)(?:({_NAMES})= ?{_VALUE}|`({_NAMES})`|({_LONG})\b(?!\.\w))")


def as_typed(message: str) -> str:
    """Spell the hints of a message as options.

    Examples
    --------
    >>> as_typed('it is not UTF-8; perhaps encoding="latin-1"')
    'it is not UTF-8; perhaps --encoding latin-1'
    >>> as_typed("EM stopped after max_iter=5 iterations; n_jobs must be positive")
    'EM stopped after --max-iter 5 iterations; --threads must be positive'
    """
    for phrase, instead in PHRASES:
        message = message.replace(phrase, instead)
    return _HINT.sub(_spelled, message)


def _spelled(found: re.Match[str]) -> str:
    option = PARAMETERS[found[1] or found[5] or found[6]]
    value = found[2] or found[3] or found[4]
    return f"{option} {value}" if value else option
