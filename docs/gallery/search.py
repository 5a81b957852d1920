# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # A search engine for docstrings
#
# 2,004 docstrings of numpy, scipy and scikit-learn come with the package. We index them, compare the results of searching by
# meaning and by words, and explain them.

# %%
from parasphere import SphericalParagraphModel, datasets

corpus = datasets.load("docstrings")
model = SphericalParagraphModel().fit(corpus.texts)
index = model.index(corpus.texts, corpus.ids)
index

# %% [markdown]
# A query can match documents without sharing words with them:

# %%
query = "remove noise from a recording"
for match in index.search(query, k=5):
    print(f"{match.score:.2f}  similarity {match.similarity:+.2f}  {match.id}")

# %% [markdown]
# The score is a weighted sum of the similarity of meaning and BM25, which compares the words themselves. The weight was
# estimated from the texts, without labels. Here are the results of each alone:

# %%
print("the weight of words:", round(index.fusion.weight, 2))
for weight, name in ((0, "by meaning"), (1, "by words")):
    print(f"{name:>10}:", ", ".join(match.id for match in index.search(query, k=4, weight=weight)))

# %% [markdown]
# ## Why does a document match?
#
# The similarity is exactly a sum over words. These are the contributions of the words of the query:

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
# A list of queries returns a list of matches per query, in a fraction of the time of separate calls.

# %%
queries = ["roots of a polynomial", "draw random numbers", "area under a curve", "group similar points"]
for asked, matches in zip(queries, index.search(queries, k=3)):
    print(f"{asked:24}", ", ".join(match.id for match in matches))

# %% [markdown]
# `index.save("index.safetensors")` saves the index with its model; `Index.load` opens it in milliseconds, in any number of
# processes. More on the page [Search](../search.md).
