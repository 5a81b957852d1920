"""Draw the plate diagram of the model: ``docs/plate.svg``.

Run with ``python scripts/draw_plate.py [FILE]``; a name that ends in ``.png`` makes a PNG file.
"""

import sys
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

PLATE = Path(__file__).parent.parent / "docs" / "plate.svg"
RADIUS = 0.34
INK, SHADE, LINE = "#222222", "#d9e6ef", "#777777"
# Name: position, symbol, whether it is observed, and whether it is a variable (not a parameter).
NODES = {
    "mu0": ((0.7, 2.55), r"$\mu_0$", False, False),
    "kappa0": ((0.7, 1.05), r"$\kappa_0$", False, False),
    "d": ((2.75, 1.8), r"$d_n$", False, True),
    "w": ((4.9, 1.8), r"$w_{ni}$", True, True),
    "kappa": ((2.75, 0.42), r"$\kappa_n$", False, False),
}
ARROWS = [("mu0", "d"), ("kappa0", "d"), ("d", "w"), ("kappa", "w")]
# Left, bottom, width and height of a plate, and the text in its corner.
PLATES = [((1.85, -0.25, 4.55, 3.0), "documents $n = 1 … N$"), ((4.2, 0.92, 1.95, 1.55), "words $i = 1 … l_n$")]


def draw() -> Figure:
    """Return the diagram."""
    figure = Figure(figsize=(6.7, 3.3), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, 6.7)
    axes.set_ylim(-0.45, 2.95)
    axes.set_aspect("equal")
    axes.axis("off")
    for (left, bottom, width, height), text in PLATES:
        box = FancyBboxPatch(
            (left, bottom), width, height, "round,pad=0,rounding_size=0.12", fill=False, ec=LINE, lw=1.1
        )
        axes.add_patch(box)
        axes.text(left + width - 0.1, bottom + 0.1, text, ha="right", va="bottom", fontsize=8.5, color=INK)
    for begin, end in ARROWS:
        (x, y), (u, v) = NODES[begin][0], NODES[end][0]
        length = ((u - x) ** 2 + (v - y) ** 2) ** 0.5
        gap = (RADIUS + 0.03) / length
        ends = [(x + share * (u - x), y + share * (v - y)) for share in (gap, 1 - gap)]
        axes.add_patch(
            FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=12, color=INK, lw=1.1, shrinkA=0, shrinkB=0)
        )
    for (x, y), symbol, observed, variable in NODES.values():
        style = {"ec": INK, "lw": 1.1} if variable else {"ec": LINE, "lw": 1.0, "ls": (0, (3, 2))}
        axes.add_patch(Circle((x, y), RADIUS, fc=SHADE if observed else "white", **style))
        axes.text(x, y, symbol, ha="center", va="center", fontsize=14, color=INK)
    return figure


def main(path: Path) -> None:
    """Draw the diagram to a file."""
    metadata = {"Date": None} if path.suffix == ".svg" else None
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "parasphere", "mathtext.fontset": "cm"}):
        draw().savefig(path, dpi=150, metadata=metadata)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PLATE)
