"""Measure on the paper's corpora whether certainty predicts which texts are classified correctly.

Run with ``python scripts/measure_certainty.py [FOLDER]``; the corpora are in ``SCIKIT_LEARN_DATA`` and ``NLTK_DATA``.
Writes ``certainty.md``, ``certainty.json``, ``certainty.png`` and ``information.png``, by default to results/.
"""

import sys
from pathlib import Path

from reproduction.experiments.certainty_report import investigate, write

from parasphere import WordVectors
from parasphere.vectors import GLOVE

RESULTS = Path(__file__).parent.parent / "results"


def main(folder: Path) -> None:
    """Run the study and write it to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write(investigate(WordVectors.load(GLOVE), command="python scripts/measure_certainty.py"), folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS)
