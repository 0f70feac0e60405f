# Hashes of values of object attributes, which may be of any type.

from libc.stdint cimport int32_t

cdef Py_hash_t object_hash(object value) except? -1        # of a key; unhashable values are hashed by content
cdef int32_t java_hash(object value) except? -1            # Java's hashCode of the corresponding value
