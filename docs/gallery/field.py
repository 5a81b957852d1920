# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # The language of a field
#
# General word vectors have the meaning of *kernel* and *window* in an encyclopedia. In the documentation of a numerical
# library they mean something else. `JointVectors` learns from the texts themselves, without labels.

# %%
from parasphere import JointVectors, SphericalParagraphModel, WordVectors, datasets

texts = datasets.load("docstrings").texts
general = WordVectors.load("english-128")
learner = JointVectors(epochs=5).fit(texts)
field = learner.vectors_


def nearest(vectors, word):
    return ", ".join(other for other, _ in vectors.nearest(word, 6)) if word in vectors else "no such word"


for word in ("kernel", "window", "tree", "spline"):
    print(f"{word:8} general: {nearest(general, word)}")
    print(f"{'':8} field:   {nearest(field, word)}")

# %% [markdown]
# ## Weights
#
# Each word has a weight, which is learned with its vector: words that are common in all texts have small weights. The mean
# over the texts is 1.

# %%
weight = dict(zip(field.words, field.weights))
for word in ("the", "returns", "array", "matrix", "eigenvalues", "wavelet"):
    print(f"{weight.get(word, float('nan')):5.2f}  {word}")

# %% [markdown]
# ## Did it help?
#
# Held-out texts are predicted better after each pass over the others:

# %%
print([round(float(loss), 3) for loss in learner.held_out_losses_])

# %% [markdown]
# ## Used like any other vectors
#
# A learner that is passed to a model is fitted with it: `SphericalParagraphModel(JointVectors()).fit(texts)`. Vectors that
# were already learned can be passed as well.

# %%
model = SphericalParagraphModel(field).fit(texts)
for match in model.similar("smooth a noisy signal", texts, k=3):
    print(f"{match.similarity:.2f}", " ".join(texts[match.position].split())[:80])

# %% [markdown]
# When learning helps and when it harms: [Learned word vectors](../learning.md).
