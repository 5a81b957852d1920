"""Colours of topics: a hue for each large topic, and shades of it for the fine topics inside.

Colours are given by lightness, chroma and hue in Oklab (Ottosson, 2020), in which equal steps look equal.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ParasphereError

Floats = NDArray[np.float64]

GREY, DARK_GREY = "#b9bcc2", "#5c616b"  # of texts without a topic, on a light and on a dark background
SHADES = 0.09  # how much lighter and darker than its large topic a fine topic can be
# Lightness, chroma and hue of colours whose smallest distance from each other and from grey is as large as a search
# could make it, to normal, protan and deutan eyes (Machado et al., 2009).
HUES = np.array([
    (0.64, 0.19, 265), (0.76, 0.16, 75), (0.48, 0.19, 30), (0.64, 0.10, 195), (0.60, 0.16, 315), (0.78, 0.16, 145),
    (0.46, 0.10, 240), (0.66, 0.19, 10), (0.60, 0.13, 110), (0.78, 0.19, 330), (0.46, 0.19, 285), (0.46, 0.07, 0),
])  # fmt: skip
LINEAR_TO_LMS = np.array([
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
])  # fmt: skip
LMS_TO_LAB = np.array([
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
])  # fmt: skip


def topic_colours(groups: ArrayLike, *, dark: bool = False) -> list[str]:
    """Return a colour for each topic, as ``#rrggbb``: a hue per large topic, lighter and darker for its fine topics.

    Parameters
    ----------
    groups : (k,) int
        The large topic that each topic is part of, 0 for the first; -1 is grey. Beyond twelve large topics the hues
        repeat, paler.
    dark : bool, default=False
        Whether the background is dark.

    Returns
    -------
    (k,) list of str

    Examples
    --------
    >>> topic_colours([0, 0, 1, -1])
    ['#3967df', '#7da5fe', '#eba002', '#b9bcc2']
    """
    numbers = np.asarray(groups)
    if numbers.ndim != 1 or (numbers.size and not np.issubdtype(numbers.dtype, np.integer)):
        raise ParasphereError(f"groups must be whole numbers (k,), not {numbers.dtype} of shape {numbers.shape}")
    colours = [DARK_GREY if dark else GREY] * len(numbers)
    for group in np.unique(numbers[numbers >= 0]).tolist():
        members = np.flatnonzero(numbers == group)
        light, chroma, hue = HUES[group % len(HUES)]
        chroma /= 1 + group // len(HUES)
        light = 0.62 + 0.6 * (light - HUES[:, 0].min()) if dark else light
        steps = np.linspace(-SHADES, SHADES, len(members)) if len(members) > 1 else np.zeros(1)
        for member, step in zip(members.tolist(), steps, strict=True):
            colours[member] = _hex(light + step, chroma, hue)
    return colours


def text_colour(colour: str, *, dark: bool = False) -> str:
    """Return a colour made dark enough (or light enough, on a dark background) for text in it to be legible.

    Examples
    --------
    >>> text_colour("#eba002"), text_colour("#eba002", dark=True)
    ('#7e5403', '#f2a618')
    """
    light, chroma, hue = _lightness_chroma_hue(colour)
    return _hex(max(light, 0.78) if dark else min(light, 0.48), chroma, hue)


def _hex(light: float, chroma: float, hue: float) -> str:
    """Return the colour as ``#rrggbb``, with as much of the chroma as a screen can show."""
    turn, to_lms, to_linear = np.radians(hue), np.linalg.inv(LMS_TO_LAB), np.linalg.inv(LINEAR_TO_LMS)
    for part in np.linspace(1, 0, 41):
        lab = np.array([light, part * chroma * np.cos(turn), part * chroma * np.sin(turn)])
        linear = to_linear @ (to_lms @ lab) ** 3
        if linear.min() >= -1e-3 and linear.max() <= 1.001:
            break
    linear = np.clip(linear, 0, 1)
    screen = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * value):02x}" for value in screen)


def _lightness_chroma_hue(colour: str) -> tuple[float, float, float]:
    screen = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(screen <= 0.04045, screen / 12.92, ((screen + 0.055) / 1.055) ** 2.4)
    light, a, b = LMS_TO_LAB @ np.cbrt(LINEAR_TO_LMS @ linear)
    return float(light), float(np.hypot(a, b)), float(np.degrees(np.arctan2(b, a)))
