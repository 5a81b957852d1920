"""What is raised when an input is at fault: a sentence that says where, what, and what would be right."""


class ParasphereError(ValueError):
    """An input that cannot be used. The message names the file, line or document at fault."""


class CorpusError(ParasphereError):
    """A document, or a file of documents, that cannot be read."""


class VectorsError(ParasphereError):
    """Word vectors that cannot be read."""


class StoreError(ParasphereError):
    """A file or folder that cannot be written, or a saved one that is missing, damaged, or of another kind."""


class ParasphereWarning(UserWarning):
    """Something that is done as asked, but may not be what was meant."""


class CoverageWarning(ParasphereWarning):
    """Few words of a corpus have a vector, so that the texts are hardly read."""


class FewDocumentsWarning(ParasphereWarning):
    """A model was taught by so few documents that its concentration says little of the corpus."""


class MissingExtraError(ImportError):
    """An optional library is needed; the message names the extra that brings it."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}, which is not installed: pip install 'parasphere[{extra}]'")
