from collections.abc import Callable
from enum import IntEnum

class BucketLength(IntEnum):
    SECOND = 0
    MINUTE = 1
    HOUR = 2
    DAY = 3
    MONTH = 4
    YEAR = 5

class Calendar:
    def __init__(self, bounds_in_zone: Callable[[int, int], tuple[int, int]] | None = None) -> None: ...
    def bucket(self, length: int, time: int) -> tuple[int, int]: ...

def parse_time_text(text: str) -> int: ...
