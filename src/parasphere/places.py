"""The names of known word vectors; importing this module is cheap."""

ENGLISH = "english-128"  # the word vectors that come with the library, the default of every model
GLOVE = "glove-6b-50d"  # installed by the extra `glove`; used in place of the vectors of the paper
WORDLLAMA = "wordllama"  # the table of word pieces in the package of that name
