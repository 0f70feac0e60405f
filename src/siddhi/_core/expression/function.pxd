# The number in a text, as cast() and math:parseInt() and its kin read it.

from siddhi._core.expression.executor cimport Executor

# Return an executor of a number of a type in the text of `operand`; evaluation raises ValueError, which names `call`, if the
# text holds none.
cdef Executor make_number_of_text(Executor operand, int type, str call, str description)
