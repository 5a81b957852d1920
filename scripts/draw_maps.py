"""Draw the maps of the documentation: ``docs/map.png``, ``docs/map-dark.png`` and ``docs/tutorial-map.png``.

Run with ``python scripts/draw_maps.py``. The messages are those of 20 Newsgroups, without headers, footers and quotes;
scikit-learn downloads them to ``SCIKIT_LEARN_DATA``.
"""

from pathlib import Path

from sklearn.datasets import fetch_20newsgroups

from parasphere import JointVectors, SphericalParagraphModel, SphericalTopics, datasets
from parasphere.plots import draw_map

DOCS = Path(__file__).parent.parent / "docs"


def draw_newsgroups() -> None:
    """Draw the map of the first page, in the light and the dark theme."""
    texts = fetch_20newsgroups(subset="all", remove=("headers", "footers", "quotes")).data
    topics = SphericalTopics(random_state=0).fit(texts)
    rows, large = topics.vectors(texts), topics.at(topics.levels_[0]).text_names()
    title = f"{len(texts):,} messages of 20 Newsgroups"
    for name, theme in (("map.png", "light"), ("map-dark.png", "dark")):
        draw_map(DOCS / name, rows, topics.text_names(), large=large, title=title, theme=theme)


def draw_tutorial() -> None:
    """Draw the map at the end of the tutorial."""
    corpus = datasets.load("docstrings")
    model = SphericalParagraphModel(JointVectors(epochs=10)).fit(corpus.texts)
    labels = [corpus.label_names[label] for label in corpus.labels]
    certainty = model.posterior(corpus.texts).mean_length
    title = "numpy, scipy, scikit-learn"
    draw_map(DOCS / "tutorial-map.png", model.transform(corpus.texts), labels, certainty=certainty, title=title)


if __name__ == "__main__":
    draw_newsgroups()
    draw_tutorial()
