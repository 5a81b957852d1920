"""The compiled loops, src/kernels. A ValueError is raised unless all arrays are of the types and sizes that are due."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bools: TypeAlias = NDArray[np.bool_]
_Bytes: TypeAlias = NDArray[np.uint8]
_I4: TypeAlias = NDArray[np.int32]
_I8: TypeAlias = NDArray[np.int64]
_U4: TypeAlias = NDArray[np.uint32]
_U8: TypeAlias = NDArray[np.uint64]
_F4: TypeAlias = NDArray[np.float32]
_F8: TypeAlias = NDArray[np.float64]
_Floats: TypeAlias = NDArray[Any]  # float32 or float64

# directions

# duplicates

# exact

# layout

# learning

# neighbours

# pieces

# ranking

# rows
def count_ids(ids: _I4, counts: _F8) -> None: ...

# scanning

# solver

# vector_files

# words
