# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Directions on a sphere
#
# The von Mises-Fisher distribution is the normal distribution of directions: a mean direction, and a concentration
# κ. `parasphere.vmf` computes with it in 2 to 10,000 dimensions.

# %%
import matplotlib.pyplot as plt
import numpy as np

from parasphere import MovMF, vmf

north = np.array([0.0, 0.0, 1.0])
figure = plt.figure(figsize=(8, 2.8))
for place, kappa in enumerate((2.0, 20.0, 200.0), 1):
    points = vmf.sample(north, kappa, 400, rng=0)
    axes = figure.add_subplot(1, 3, place, projection="3d")
    axes.scatter(*points.T, s=3)
    axes.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1), title=f"κ = {kappa:g}", xticks=[], yticks=[], zticks=[])
figure.tight_layout()

# %% [markdown]
# ## No overflow
#
# The mean length of such vectors is a ratio of Bessel functions, $A(\kappa) = I_{K/2}(\kappa) / I_{K/2-1}(\kappa)$. In many
# dimensions both are smaller than any floating-point number; their ratio is not.

# %%
from scipy.special import ive

dim = 1000
for kappa in (1.0, 100.0, 10_000.0):
    with np.errstate(all="ignore"):
        naive = ive(dim / 2, kappa) / ive(dim / 2 - 1, kappa)
    ours = float(vmf.mean_length(kappa, dim))
    print(f"κ = {kappa:>8,.0f}   ratio of scipy's: {naive:<22} ours: {ours}")
    assert abs(float(vmf.concentration(ours, dim)) / kappa - 1) < 1e-10  # and back again

# %% [markdown]
# ## A mixture
#
# A mixture recovers three groups of directions from their points:

# %%
centres = np.eye(3)
points = np.concatenate([vmf.sample(centre, 30.0, 200, rng=i) for i, centre in enumerate(centres)])
mixture = MovMF(3, random_state=0).fit(points)
order = mixture.mean_directions_.argmax(axis=1).argsort()
print("directions", mixture.mean_directions_[order].round(2).tolist())
print("concentrations", np.round(mixture.concentrations_, 1).tolist(), "where 30 was planted")
