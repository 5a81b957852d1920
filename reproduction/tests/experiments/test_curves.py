"""Curves: what is in the picture, and what cannot be drawn."""

import io
from typing import Any

import numpy as np
import pytest

from parasphere.errors import ParasphereError
from reproduction.experiments.curves import Curve, draw_curves


def drawn(panels: dict[str, dict[str, Curve]], **labels: Any) -> np.ndarray:
    """Return the picture as rows of pixels, (height, width, 3), from 0 to 255."""
    image = pytest.importorskip("matplotlib.image")
    picture = draw_curves(panels, **{"x_label": "x", "y_label": "y", **labels})
    return np.round(255 * image.imread(io.BytesIO(picture))[:, :, :3]).astype(int)


def places(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    return np.argwhere((picture == colour).all(axis=2))


def test_each_curve_rises_or_falls_in_its_panel_and_is_in_the_key() -> None:
    rise, fall = Curve([0, 1], [0, 1], "#ff0000"), Curve([0, 1], [1, 0], "#0000ff")
    picture = drawn({"first": {"rise": rise}, "second $": {"fall": fall}})
    height, width = picture.shape[:2]
    for colour, left, sign in (((255, 0, 0), True, -1), ((0, 0, 255), False, 1)):
        points = places(picture, colour)
        curve = points[(points[:, 1] < width / 2) == left]
        curve = curve[curve[:, 0] < 0.8 * height]
        assert np.sign(np.corrcoef(curve.T)[0, 1]) == sign  # rows are counted from above
        assert (points[:, 0] > 0.85 * height).any()  # the key


def test_scales_and_bands_change_the_picture() -> None:
    plain = {"one": {"a": Curve([1, 10, 100], [1, 2, 3], "#ff0000")}}
    banded = {"one": {"a": Curve([1, 10, 100], [1, 2, 3], "#ff0000", spread=[0.5, 0.5, 0.5])}}
    bent, straight = (places(drawn(plain, x_scale=scale), (255, 0, 0)) for scale in ("linear", "log"))
    bent, straight = (points[points[:, 0] < 0.75 * len(drawn(plain))] for points in (bent, straight))
    assert -np.corrcoef(bent.T)[0, 1] < 0.95 < -np.corrcoef(straight.T)[0, 1]  # the logarithm makes it a line
    assert drawn(banded)[:, :, 1].sum() < drawn(plain)[:, :, 1].sum()  # more of the picture is reddish


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ParasphereError, match="one, a: a curve needs as many x as y, not 2 and 1"):
        draw_curves({"one": {"a": Curve([0, 1], [0], "#ff0000")}}, x_label="", y_label="")
    with pytest.raises(ParasphereError, match="no panels"):
        draw_curves({}, x_label="", y_label="")
