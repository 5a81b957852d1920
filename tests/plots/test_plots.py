"""Maps: where documents lie, and what is in the files."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from parasphere.errors import MissingExtraError, ParasphereError
from parasphere.plots.layout import _in_cells, neighbour_map
from parasphere.plots.maps import draw_map
from parasphere.plots.scene import COLOURS, apart, make_scene, uncovered

DIM = 12


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def planted(rng: np.random.Generator, n_labels: int = 3, each: int = 40, noise: float = 0.05) -> Any:
    """Return documents around n_labels directions, certainties and labels."""
    centres = unit(np.eye(DIM)[0] + 0.6 * unit(rng.normal(size=(n_labels, DIM))))
    directions = unit(np.repeat(centres, each, axis=0) + noise * rng.normal(size=(n_labels * each, DIM)))
    labels = [f"label {i}" for i in range(n_labels) for _ in range(each)]
    return directions, rng.uniform(0.3, 0.9, len(directions)), labels


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_do_not_overlap(rng: np.random.Generator) -> None:
    sizes = np.column_stack([rng.uniform(60, 150, 20), np.full(20, 18.0)])
    low, high = np.array([10.0, 20.0]), np.array([800.0, 600.0])
    places = apart(rng.normal([400, 300], 30, (20, 2)), sizes, low, high)
    gaps = np.abs(places[:, None] - places) - (sizes[:, None] + sizes) / 2
    assert (gaps.max(axis=-1) >= 0)[~np.eye(20, dtype=bool)].all()
    assert (places - sizes / 2 >= low).all()
    assert (places + sizes / 2 <= high).all()


# -- the files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_labels", [0, 1, 3, 13, 24])
def test_a_png_shows_its_colours(tmp_path: Path, rng: np.random.Generator, n_labels: int) -> None:
    from matplotlib.image import imread

    x, certainty, labels = planted(rng, max(1, n_labels))
    draw_map(tmp_path / "map.png", x, certainty, labels if n_labels else None, title="A $title_")
    picture = (imread(tmp_path / "map.png")[..., :3] * 255).round().astype(np.int32)
    colours = np.unique(picture @ [1 << 16, 1 << 8, 1])
    assert len(colours) > 100
    if n_labels > 6:  # in the legend each colour is seen unfaded
        assert np.isin([int(colour[1:], 16) for colour in COLOURS[:n_labels]], colours).all()
    assert [file.name for file in tmp_path.iterdir()] == ["map.png"]


@pytest.mark.parametrize("kind", ["svg", "pdf", "PNG"])
def test_the_same_map_is_the_same_file(tmp_path: Path, rng: np.random.Generator, kind: str) -> None:
    scene = planted(rng)
    for name in ("one", "two"):
        draw_map(tmp_path / "folder" / f"{name}.{kind}", *scene)
    one, two = ((tmp_path / "folder" / f"{name}.{kind}").read_bytes() for name in ("one", "two"))
    assert one == two
    assert len(one) > 5000


def test_drawing_leaves_pyplot_alone(tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it would fail
    x, certainty, labels = planted(rng)
    draw_map(tmp_path / "map.png", x, certainty, labels)


def test_odd_labels_are_drawn_as_they_are(tmp_path: Path, rng: np.random.Generator) -> None:
    x, certainty, _ = planted(rng, 4, 4)
    odd = ["$x_", "_hidden", "", "a\nb", "</text>", "l" * 300, "50 %", r"\alpha^{", "{}", "&amp;"]
    draw_map(tmp_path / "map.svg", x, certainty, (odd * 2)[:16], title=r"$\frac{")
    assert "</svg>" in (tmp_path / "map.svg").read_text("utf-8")


def test_the_fading_spans_the_certainties_present(rng: np.random.Generator) -> None:
    points, _, labels = planted(rng)
    certainty = np.linspace(0.99, 0.991, len(points))
    scene = make_scene(points, certainty, labels, None, title=None, caption="")
    assert (scene.strength.min(), scene.strength.max()) == (0, 1)
    assert np.all(np.diff(scene.strength) >= 0)
    assert scene.ends == ("0.99002", "0.99098")
    scene = make_scene(points, np.full(len(points), 0.7), labels, None, title=None, caption="")
    assert set(scene.strength) == {1}


def test_more_labels_than_colours(rng: np.random.Generator) -> None:
    points, certainty, labels = planted(rng, 25, 4)
    scene = make_scene(points, certainty, labels, None, title=None, caption="")
    assert len({group.colour for group in scene.groups}) == 21
    assert (scene.groups[-1].name, len(scene.groups[-1].rows)) == ("5 rarer labels", 20)
    assert "5 rarer labels" not in {name.name for name in scene.names}
    assert len(scene.names) == 20


@pytest.mark.parametrize("name", ["map.jpg", "map", "map.html"])
def test_an_unknown_extension_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParasphereError, match=r"must end in one of \.png, \.svg, \.pdf"):
        draw_map(tmp_path / name, [[1, 0, 0]], [1])
    assert not list(tmp_path.iterdir())


def test_other_mistakes_leave_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ParasphereError, match="is a folder"):
        draw_map(tmp_path / "folder.png", [[1, 0, 0]], [1])
    with pytest.raises(ParasphereError, match="2 labels for 1 documents"):
        draw_map(tmp_path / "map.png", [[1, 0, 0]], [1], ["a", "b"])
    assert [file.name for file in tmp_path.iterdir()] == ["folder.png"]


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"drawing a map needs matplotlib.*parasphere\[plots\]"):
        draw_map(tmp_path / "map.png", [[1, 0, 0]], [1])


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


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_topics_are_named_on_the_map(tmp_path: Path, kind: str) -> None:
    rows, groups = crowd(5, 30)
    topics = ["" if group == 4 else f"topic {group}" for group in groups]
    for name in ("one", "two"):
        draw_map(tmp_path / f"{name}.{kind}", rows, np.ones(len(rows)), topics=topics)
    assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()
    scene = make_scene(rows, np.ones(len(rows)), None, topics, title=None, caption="")
    assert {name.name for name in scene.names} == {f"topic {group}" for group in range(4)}


def test_no_name_covers_another() -> None:
    rng = np.random.default_rng(0)
    sizes = np.tile([80.0, 14.0], (60, 1))
    places = apart(rng.uniform(0, 300, (60, 2)), sizes, np.zeros(2), np.full(2, 300.0))  # more than there is room for
    shown = uncovered(places, sizes)
    kept = places[shown]
    overlap = (np.abs(kept[:, None] - kept) < [80, 14]).all(axis=-1)
    assert overlap.sum() == shown.sum()
    assert shown[0]
    assert shown.sum() > 20


def test_columns_of_neighbours_are_compared(tmp_path: Path) -> None:
    rows, _ = crowd(2, 5)
    with pytest.raises(ParasphereError, match="there are 3 topics for 10 documents"):
        draw_map(tmp_path / "map.png", rows, np.ones(10), topics=["a"] * 3)
    with pytest.raises(ParasphereError, match="10 finite numbers"):
        draw_map(tmp_path / "map.png", rows, np.ones(9))
