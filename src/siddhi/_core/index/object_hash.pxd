# Hashes of values of object attributes, which may be anything.

from libc.stdint cimport int32_t

cdef Py_hash_t object_hash(object value) except? -1        # of a key; what has no hash of its own gets one by its content
cdef int32_t java_hash(object value) except? -1            # Java's hashCode of the like value
