"""Maps: where documents lie, and what is in the files."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from parasphere.errors import MissingExtraError, ParasphereError
from parasphere.plots.colours import text_colour, topic_colours
from parasphere.plots.layout import _in_cells, neighbour_map
from parasphere.plots.maps import draw_map
from parasphere.plots.picture import placed_names
from parasphere.plots.scene import make_scene, wrapped

DIM = 12


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def planted(rng: np.random.Generator, n_labels: int = 3, each: int = 40, noise: float = 0.05) -> Any:
    """Return documents around n_labels directions, their labels, and certainties."""
    centres = unit(np.eye(DIM)[0] + 0.6 * unit(rng.normal(size=(n_labels, DIM))))
    directions = unit(np.repeat(centres, each, axis=0) + noise * rng.normal(size=(n_labels * each, DIM)))
    labels = [f"label {i}" for i in range(n_labels) for _ in range(each)]
    return directions, labels, rng.uniform(0.3, 0.9, len(directions))


def islands(rng: np.random.Generator, n_islands: int = 30, each: int = 60) -> tuple[np.ndarray, list[str], list[str]]:
    """Return points on a plane in islands with stray points among them, their topics and large topics."""
    centres = rng.uniform(0, 100, (n_islands, 2))
    topics = np.repeat(np.arange(n_islands), each)
    points = centres[topics] + rng.normal(scale=1.5, size=(len(topics), 2))
    points = np.vstack([points, rng.uniform(0, 100, (50, 2))])
    names = [f"topic {topic} · and more words" for topic in topics] + [""] * 50
    return points, names, [f"large {topic % 7}" for topic in topics] + [""] * 50


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True])
def test_names_lie_on_free_ground(rng: np.random.Generator, dark: bool) -> None:
    pytest.importorskip("matplotlib")
    scene = make_scene(*islands(rng), dark=dark)
    low, high, lines = placed_names(scene)
    assert len(low) == len(scene.names) >= 37
    apart = np.maximum(low[:, None] - high, low - high[:, None]).max(axis=-1) >= 0
    assert apart[~np.eye(len(low), dtype=bool)].all()
    covered = (scene.points > low[:, None]) & (scene.points < high[:, None])
    assert not covered.all(axis=-1).any()
    for name, line in zip(scene.names, lines, strict=True):  # each leads to a text of its island
        assert (name.core == line[1]).all(axis=1).any()


def test_every_topic_is_named_and_large_ones_stand_out(rng: np.random.Generator) -> None:
    points, topics, large = islands(rng)
    scene = make_scene(points, topics, large)
    sizes: dict[str, set[float]] = {}
    for name in scene.names:
        sizes.setdefault(name.text.replace("\n", " "), set()).add(name.size)
    assert set(sizes) == {*topics, *large} - {""}
    assert min(min(sizes[name]) for name in set(large) - {""}) > max(max(sizes[name]) for name in set(topics) - {""})
    assert len(set(scene.colours)) == 31
    assert {name.text for name in make_scene(points, large).names} == set(large) - {""}


def test_a_topic_in_two_places_is_named_at_both(rng: np.random.Generator) -> None:
    points = np.repeat([[0, 0], [40, 0], [20, 30]], 40, axis=0) + rng.normal(size=(120, 2))
    scene = make_scene(points, ["split"] * 80 + ["other"] * 40)
    assert sorted(name.text for name in scene.names) == ["other", "split", "split"]
    assert len(make_scene(points, ["one"] * 120).names) == 1


def test_names_are_wrapped_between_phrases() -> None:
    assert wrapped("God · Jesus Christ · Bible", 22) == "God · Jesus Christ\nBible"
    assert wrapped("government", 22) == "government"
    assert len(wrapped("word " * 40, 22).split("\n")) == 4
    assert max(map(len, wrapped("l" * 300, 22).split("\n"))) <= 22


# -- the files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("n_labels", [0, 1, 24])
def test_a_png_shows_its_colours(tmp_path: Path, rng: np.random.Generator, n_labels: int, theme: str) -> None:
    image = pytest.importorskip("matplotlib.image")
    x, labels, certainty = planted(rng, max(1, n_labels))
    path = tmp_path / "map.png"
    draw_map(path, x, labels if n_labels else None, certainty=certainty, title="A $title_", theme=theme)
    picture = image.imread(path)[..., :3]
    assert 50 < len(np.unique(picture.reshape(-1, 3), axis=0)) <= 256
    assert (picture[0, 0].mean() > 0.5) == (theme == "light")
    assert [file.name for file in tmp_path.iterdir()] == ["map.png"]


@pytest.mark.parametrize("kind", ["svg", "pdf", "PNG"])
def test_the_same_map_is_the_same_file(tmp_path: Path, rng: np.random.Generator, kind: str) -> None:
    x, labels, certainty = planted(rng)
    for name in ("one", "two"):
        draw_map(tmp_path / "folder" / f"{name}.{kind}", x, labels, certainty=certainty)
    one, two = ((tmp_path / "folder" / f"{name}.{kind}").read_bytes() for name in ("one", "two"))
    assert one == two
    assert len(one) > 5000


def test_drawing_leaves_pyplot_alone(tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it would fail
    x, labels, _ = planted(rng)
    draw_map(tmp_path / "map.png", x, labels)


def test_odd_labels_are_drawn_as_they_are(tmp_path: Path, rng: np.random.Generator) -> None:
    x, _, _ = planted(rng, 4, 4)
    odd = ["$x_", "_hidden", "", "a\nb", "</text>", "l" * 300, "50 %", r"\alpha^{", "{}", "&amp;"]
    draw_map(tmp_path / "map.svg", x, (odd * 2)[:16], title=r"$\frac{")
    assert "</svg>" in (tmp_path / "map.svg").read_text("utf-8")


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_and_equal_texts_are_drawn(tmp_path: Path, n: int) -> None:
    draw_map(tmp_path / "map.png", np.zeros((n, 3)), [*"abcde"][:n], large=[*"xxyyy"][:n])
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_the_fading_spans_the_certainties_present(rng: np.random.Generator) -> None:
    points, _, labels = rng.normal(size=(120, 2)), None, ["a", "b", "c"] * 40
    scene = make_scene(points, labels, certainty=np.linspace(0.99, 0.991, 120))
    assert (scene.strength.min(), scene.strength.max()) == (0, 1)
    assert np.all(np.diff(scene.strength) >= 0)
    assert scene.caption.endswith("from 0.99002 to 0.99098.")
    scene = make_scene(points, labels, certainty=np.full(120, 0.7))
    assert set(scene.strength) == {1}
    assert "certain" not in scene.caption


@pytest.mark.parametrize("name", ["map.jpg", "map", "map.html"])
def test_an_unknown_extension_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParasphereError, match=r"must end in one of \.png, \.svg, \.pdf"):
        draw_map(tmp_path / name, [[1, 0, 0]])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"topics": ["a"] * 3}, "there are 3 topics for 10 rows"),
        ({"topics": ["a"] * 10, "large": ["a"]}, "there are 1 large topics for 10 rows"),
        ({"large": ["a"] * 10}, "large topics need topics"),
        ({"certainty": np.ones(9)}, "10 finite numbers"),
        ({"certainty": np.full(10, np.nan)}, "10 finite numbers"),
        ({"theme": "blue"}, "the theme must be one of light, dark, not 'blue'"),
    ],
)
def test_mistakes_are_told_and_leave_no_file(tmp_path: Path, mistake: dict[str, Any], message: str) -> None:
    rows, _ = crowd(2, 5)
    with pytest.raises(ParasphereError, match=message):
        draw_map(tmp_path / "map.png", rows, **mistake)
    assert not list(tmp_path.iterdir())


def test_no_rows_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ParasphereError, match="is a folder"):
        draw_map(tmp_path / "folder.png", [[1, 0, 0]])
    with pytest.raises(ParasphereError, match="at least one row"):
        draw_map(tmp_path / "map.png", np.empty((0, 3)))


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"drawing a map needs matplotlib.*parasphere\[plots\]"):
        draw_map(tmp_path / "map.png", [[1, 0, 0]])


# -- colours ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True])
def test_topics_differ_in_colour(dark: bool) -> None:
    groups = np.repeat(np.arange(12), 4)
    colours = np.array([[int(c[at : at + 2], 16) for at in (1, 3, 5)] for c in topic_colours(groups, dark=dark)])
    assert len(np.unique(colours, axis=0)) == 48
    assert topic_colours([3, -1, -1], dark=dark)[1] == topic_colours([-1], dark=dark)[0]
    assert len(set(topic_colours(np.arange(24), dark=dark))) == 24
    assert topic_colours([], dark=dark) == []


def test_text_can_be_read() -> None:
    def luminance(colour: str) -> float:
        screen = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
        linear = np.where(screen <= 0.04045, screen / 12.92, ((screen + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for colour in topic_colours(np.repeat(np.arange(12), 3)):
        assert 1.05 / (luminance(text_colour(colour)) + 0.05) > 4.5  # on white, the least that WCAG asks for
    for colour in topic_colours(np.repeat(np.arange(12), 3), dark=True):
        assert (luminance(text_colour(colour, dark=True)) + 0.05) / (luminance("#12151b") + 0.05) > 7


def test_groups_are_whole_numbers() -> None:
    with pytest.raises(ParasphereError, match="groups must be whole numbers"):
        topic_colours([0.5])


# -- the map of neighbours ----------------------------------------------------------------------------------------


def crowd(n_groups: int = 12, each: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Groups in 30 dimensions, and which document belongs to which."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(n_groups), each)
    return unit(unit(rng.normal(size=(n_groups, 30)))[groups] + 0.12 * rng.normal(size=(len(groups), 30))), groups


def test_neighbours_are_kept_far_better_than_by_two_axes() -> None:
    rows, _ = crowd()
    points = neighbour_map(rows)
    two = PCA(2, random_state=0).fit_transform(rows)
    assert trustworthiness(rows, points, n_neighbors=10, metric="cosine") > 0.97
    assert trustworthiness(rows, two, n_neighbors=10, metric="cosine") < 0.87
    near = np.linalg.norm(points[:, None] - points, axis=-1).argsort(axis=1)[:, 1:11]
    groups = crowd()[1]
    assert (groups[near] == groups[:, None]).mean() > 0.95


def test_the_same_seed_is_the_same_layout() -> None:
    rows, _ = crowd(4, 30)
    assert (neighbour_map(rows, 1) == neighbour_map(rows, 1)).all()
    assert (neighbour_map(rows, 1) != neighbour_map(rows, 2)).any()


def test_neighbours_in_cells_are_nearly_the_nearest() -> None:
    rows = crowd(20, 600)[0].astype(np.float32)
    exact = np.argsort(-(rows[::40] @ rows.T), axis=1)[:, :11]
    found = _in_cells(rows, 11, 0)[::40]
    assert np.mean([len(set(one) & set(other)) for one, other in zip(exact, found, strict=True)]) > 8.5


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_layouts_of_few_documents(n: int) -> None:
    points = neighbour_map(np.eye(6)[:n] if n else np.empty((0, 6)))
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()
    assert len(np.unique(points, axis=0)) == n


def test_equal_and_empty_documents_have_places() -> None:
    points = neighbour_map(np.vstack([np.ones((30, 4)), np.zeros((2, 4)), -np.ones((5, 4))]))
    assert np.isfinite(points).all()
    with pytest.raises(ParasphereError, match="finite rows"):
        neighbour_map([[np.nan, 1.0]])
