from typing_extensions import Self

class CompactRings:
    stride: int
    held: int
    def __new__(cls, stride: int) -> Self: ...
