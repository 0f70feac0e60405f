class CompactRings:
    stride: int
    held: int
    def __init__(self, stride: int) -> None: ...
