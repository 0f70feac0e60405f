"""Events as C structs: pooled records of one layout, chunks of them, and what every operator sees beside them."""
