# Numbers and objects as Java writes them. Doubles and floats: the shortest digits that identify the value, at least one
# digit after the point, `d.dddEn` from 10^7 up and below 10^-3.

cdef str text_of_double(double value)
cdef str text_of_float(float value)
cdef str text_of_object(object value)      # nested lists, sets and maps; exceptions as `message : ...`
