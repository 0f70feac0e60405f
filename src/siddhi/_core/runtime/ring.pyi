from typing_extensions import Self

class CompactRings:
    stride: int
    size: int
    def __new__(cls, stride: int) -> Self: ...
