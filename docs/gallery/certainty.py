# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # How much information does a text carry?
#
# A vector always has a direction. The model also measures its certainty: the posterior of a text with many words
# that agree is narrow; the posterior of an empty text is the prior.

# %%
from parasphere import SphericalParagraphModel, datasets

corpus = datasets.load("docstrings")
model = SphericalParagraphModel().fit(corpus.texts)
texts = [
    "",
    "See also.",
    "Eigenvalues.",
    "Eigenvalues of a symmetric matrix.",
    "Compute the eigenvalues and eigenvectors of a real symmetric or complex Hermitian matrix.",
    "Eigenvalues of a symmetric matrix. The weather in Paris was mild, and the trains were late.",
]
for text, nats in zip(texts, model.posterior(texts).information):
    print(f"{nats:6.1f} nats  {text}")

# %% [markdown]
# ## Information grows with the number of words, and levels off
#
# Texts of the corpus, cut to their first words:

# %%
import matplotlib.pyplot as plt
import numpy as np

lengths = [1, 2, 4, 8, 16, 32, 64]
words = [text.split() for text in corpus.texts if len(text.split()) >= max(lengths)][:300]
spread = [model.posterior([" ".join(text[:n]) for text in words]).information for n in lengths]
middle = [np.median(nats) for nats in spread]
low, high = np.transpose([np.quantile(nats, [0.1, 0.9]) for nats in spread])

figure, axes = plt.subplots(figsize=(6, 3.2))
axes.fill_between(lengths, low, high, alpha=0.2, label="the middle 80 %")
axes.plot(lengths, middle, marker="o", label="median")
axes.set(xscale="log", xlabel="words", ylabel="information, nats")
axes.set_xticks(lengths, map(str, lengths))
axes.legend()
figure.tight_layout()

# %% [markdown]
# ## The uncertainty of similarities
#
# Two short texts may be similar by chance. `compare` also returns the standard deviation of a similarity:

# %%
pairs = [
    ("Smooth a signal.", "Filter noise."),
    ("Smooth a noisy signal with a low-pass filter.", "Filter the noise out of measured data, by a moving window."),
    ("Smooth a signal.", "Solve a differential equation."),
]
for a, b in pairs:
    similarity, std = model.compare(a, b, return_std=True)
    print(f"{similarity:+.2f} ± {std:.2f}  {a} / {b}")

# %% [markdown]
# How well these measures predict the errors of a classifier:
# [How texts are compared](../similarity.md#which-texts-to-trust).
