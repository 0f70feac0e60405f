from typing import final

import numpy as np
import numpy.typing as npt
from typing_extensions import Never

from siddhi._core.stream.sender import EventSender

@final
class BatchSender:
    def __init__(self, sender: EventSender) -> None: ...

@final
class ReadBatch:
    def __init__(self, *args: Never) -> None: ...
    def __len__(self) -> int: ...
    @property
    def times(self) -> npt.NDArray[np.int64] | None: ...
    def send(self, start: int = 0, stop: int | None = None) -> None: ...
