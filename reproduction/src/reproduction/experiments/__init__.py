"""The paper's experiments: encoders, protocol, runs and reports."""

from .encoders import ENCODERS, Encoder
from .protocol import Options, dataset_from
from .run import PAPER_DATASETS, run_all

__all__ = ["ENCODERS", "PAPER_DATASETS", "Encoder", "Options", "dataset_from", "run_all"]
