"""Writing words and rows as a static model: one folder that model2vec and sentence-transformers load.

The folder has the format of model2vec: a table of rows, a tokenizer of whole words in the format of Hugging Face, and
the list of modules that sentence-transformers needs. Both compute a text vector as the mean of the rows of its words,
scaled to unit length. Neither library is needed for writing.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import VectorsError
from ..storage import Tensors, path_of, replacing, write_file
from ..text import PIECE, AnyTokenizer, DividingTokenizer, Tokenizer
from .pieces import CONFIG, TENSORS, TOKENIZER

UNKNOWN = "[UNK]"  # has a row of zeros; no word is spelled like it
PRIOR = "\ue000"  # the pseudo-word before every text: a private-use character, which is not a letter
_MODULES = [
    {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"},
    {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
]


def write_static(
    folder: str | Path,
    words: list[str],
    rows: NDArray[np.floating[Any]],
    tokenizer: AnyTokenizer,
    prior: NDArray[np.floating[Any]] | None = None,
) -> None:
    """Write words and rows, of any length, to a folder that model2vec and sentence-transformers load.

    Parameters
    ----------
    folder : path
        Created if necessary. Files of the same names are replaced, others are not changed.
    words : list of str
        One word per row. Words that the tokenizer never returns (such as stop words) are left out.
    rows : (n_words, dim) array
        The rows, times their weights.
    tokenizer : Tokenizer
        Splits texts into words.
    prior : (dim,) array, default=None
        A row that is added to every text that is not empty.
    """
    tokenizer = writable(tokenizer)
    kept = [i for i, word in enumerate(words) if _is_word(word, tokenizer)]
    spelled = [UNKNOWN, *([] if prior is None else [PRIOR]), *(words[i] for i in kept)]
    first = np.zeros((1, rows.shape[1])) if prior is None else np.stack([np.zeros(len(prior)), prior])
    table = np.concatenate([first, rows[kept]]).astype(np.float32)
    folder = path_of(folder)
    with replacing(folder / TENSORS) as part:
        Tensors({"embeddings": table}).write(part, "wb")
    vocabulary = {word: row for row, word in enumerate(spelled)}
    facts: dict[str, Any] = {
        TOKENIZER: _tokenizer_json(vocabulary, tokenizer, prior is not None),
        CONFIG: {"model_type": "model2vec", "normalize": True, "embedding_dtype": "float32", "max_length": None},
        "modules.json": _MODULES,
    }
    for name, content in facts.items():
        write_file(folder / name, json.dumps(content, ensure_ascii=False).encode())


def writable(tokenizer: AnyTokenizer) -> Tokenizer:
    """Return the part of a tokenizer that can be written as a tokenizer.json, without pieces; raise for others."""
    if isinstance(tokenizer, DividingTokenizer):
        tokenizer = tokenizer.words
    if not isinstance(tokenizer, Tokenizer):
        raise VectorsError(
            f"a static model can be written with a Tokenizer of this library only, not {type(tokenizer).__name__}; "
            "other tokenizers cannot be written as a tokenizer.json."
        )
    return tokenizer


def _is_word(word: str, tokenizer: Tokenizer) -> bool:
    blank = any(character.isspace() for character in word)
    if blank or word.startswith(PIECE):
        return False
    return len(word) >= tokenizer.min_length and word not in tokenizer.stop_words


def _tokenizer_json(vocabulary: dict[str, int], tokenizer: Tokenizer, prior: bool) -> dict[str, Any]:
    """Return the tokenizer.json of a tokenizer that splits texts as :class:`parasphere.Tokenizer` does."""
    steps: list[dict[str, Any]] = []
    if tokenizer.lowercase:
        steps.append({"type": "Lowercase"})
    if prior:
        steps.append({"type": "Prepend", "prepend": f"{PRIOR} "})
    pattern = f"{PRIOR}|{_pattern(tokenizer)}" if prior else _pattern(tokenizer)
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": steps} if steps else None,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True},
        "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN},
    }  # fmt: skip


def _pattern(tokenizer: Tokenizer) -> str:
    """Return the regular expression of a word: a letter (or digit), then letters and the marks that continue them."""
    if tokenizer.english:
        return "[a-zA-Z0-9]+" if tokenizer.digits else "[a-zA-Z]+"
    letters = r"\p{L}\p{Nd}" if tokenizer.digits else r"\p{L}"
    return rf"[{letters}][{letters}\p{{M}}]*"
