# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # A search engine for docstrings
#
# 2,004 docstrings of numpy, scipy and scikit-learn come with the package. We make them searchable, look at what is found by
# meaning and what by words, and ask why.

# %%
from parasphere import SphericalParagraphModel, datasets

corpus = datasets.load("docstrings")
model = SphericalParagraphModel().fit(corpus.texts)
index = model.index(corpus.texts, corpus.ids)
index

# %% [markdown]
# A query need not have the words of the answer:

# %%
query = "remove noise from a recording"
for match in index.search(query, k=5):
    print(f"{match.score:.2f}  similarity {match.similarity:+.2f}  {match.id}")

# %% [markdown]
# The score adds two things: the similarity of meaning, and BM25, which looks for the words themselves. Their weight was
# found from the texts, without labels. Here are both alone:

# %%
print("the weight of words:", round(index.fusion.weight, 2))
for weight, name in ((0, "by meaning"), (1, "by words")):
    print(f"{name:>10}:", ", ".join(match.id for match in index.search(query, k=4, weight=weight)))

# %% [markdown]
# ## Why was it found?
#
# The similarity is a sum over words, exactly. These are the parts of the words of the query:

# %%
best = index.search(query, k=1, weight=0)[0]
found = corpus.texts[corpus.ids.index(best.id)]
explained = model.explain_match(query, found)
print(best.id, f"{explained.similarity:.2f}")
for word, part in explained.words_a:
    print(f"  {part:+.2f}  {word}")

# %% [markdown]
# ## Many queries at once
#
# A list of queries gives a list of matches per query, in a fraction of the time of one call each.

# %%
queries = ["roots of a polynomial", "draw random numbers", "area under a curve", "group similar points"]
for asked, matches in zip(queries, index.search(queries, k=3)):
    print(f"{asked:24}", ", ".join(match.id for match in matches))

# %% [markdown]
# The index is saved with its model, and opened in milliseconds by as many processes as you like: `index.save("folder")`,
# `Index.load("folder")`. More on the page [Search](../search.md).
