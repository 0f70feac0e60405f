"""Events as C structs: pooled records of one layout, chunks of them, and the frame that operators share."""
