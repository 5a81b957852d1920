# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Topics and a map
#
# What are two thousand texts about? No labels are used.

# %%
from parasphere import SphericalTopics, datasets

corpus = datasets.load("docstrings")
topics = SphericalTopics(n_topics=12).fit(corpus.texts)  # "auto", the default, finds the number
for topic in topics.topics_:
    print(f"{topic['size']:5}  {topic['name']}")

# %% [markdown]
# The most typical texts of a topic describe it better than its name:

# %%
for text in topics.topics_[0]["texts"]:
    print("-", " ".join(text.split())[:100])

# %% [markdown]
# ## New texts
#
# `transform` returns the probability of every topic, `predict` the most probable one, or -1 for texts without a topic.

# %%
asked = ["the roots of a polynomial", "draw numbers from a normal distribution", ""]
names = topics.text_names(topics.predict(asked))
for text, name, share in zip(asked, names, topics.transform(asked).max(axis=1)):
    print(f"{text!r:44} {share:.2f}  {name}")

# %% [markdown]
# ## Topics over another column
#
# Count texts per topic and library; years work as well.

# %%
topics.over([name.split(".")[0] for name in corpus.ids])

# %% [markdown]
# ## The map
#
# Similar texts are close together. Topics within a large topic have shades of one colour. [A page](../page.md) shows the
# map in the browser.

# %%
from IPython.display import Image

from parasphere.plots import draw_map

large = topics.at(topics.levels_[0]).text_names()
draw_map("map.png", topics.vectors(corpus.texts), topics.text_names(), large=large)
Image("map.png")

# %% [markdown]
# The page [Topics](../topics.md) explains how topics and their number are found.
