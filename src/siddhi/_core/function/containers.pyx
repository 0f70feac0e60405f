"""The functions of the namespaces ``map`` and ``list``, over Python's dict and list. None is null.

Functions that change a map or list change the given one and return it, as in Siddhi.
"""

from siddhi.errors import shown


cdef dict map_of(value, str function):
    if type(value) is not dict:
        raise TypeError(f"map:{function}() got {shown(value)}: expected a map")
    return <dict> value


cdef list list_of(value, str function):
    if type(value) is not list:
        raise TypeError(f"list:{function}() got {shown(value)}: expected a list")
    return <list> value


cdef Py_ssize_t place_of(list values, index, str function, Py_ssize_t last) except -1:
    if index is None or not 0 <= index <= last:
        raise IndexError(f"list:{function}() got index {index}: the list has {len(values)} values")
    return index


cdef bint equal(one, other) except -1:
    """Return whether two values are equal; true is not 1, as in Java."""
    return one is other or ((type(one) is bool) == (type(other) is bool) and one == other)


cdef Py_ssize_t find(list values, value) except -2:
    cdef Py_ssize_t i
    for i in range(len(values)):
        if equal(values[i], value):
            return i
    return -1


# --- map

def map_clear(map):
    map_of(map, "clear").clear()
    return map


def map_clone(map):
    return map_of(map, "clone").copy()


def map_combine_by_key(*maps):
    combined = {}
    for each in maps:
        for key, value in map_of(each, "combineByKey").items():
            combined.setdefault(key, []).append(value)
    return combined


def map_contains_key(map, key):
    return key in map_of(map, "containsKey")


def map_contains_value(map, value):
    return find(list(map_of(map, "containsValue").values()), value) >= 0


def map_create(*pairs):
    cdef Py_ssize_t i
    created = {}
    for i in range(0, len(pairs), 2):
        created[pairs[i]] = pairs[i + 1]
    return created


def map_get(map, key, default=None):
    return map_of(map, "get").get(key, default)


def map_is_empty(map):
    return not map_of(map, "isEmpty")


def map_is_map(value):
    return type(value) is dict


def map_keys(map):
    return list(map_of(map, "keys"))


def map_put(map, key, value):
    map_of(map, "put")[key] = value
    return map


def map_put_all(map, other):
    map_of(map, "putAll").update(map_of(other, "putAll"))
    return map


def map_put_if_absent(map, key, value):
    map_of(map, "putIfAbsent").setdefault(key, value)
    return map


def map_remove(map, key):
    map_of(map, "remove").pop(key, None)
    return map


def map_replace(map, key, value):
    if key in map_of(map, "replace"):
        map[key] = value
    return map


def map_replace_all(map, other):
    found = map_of(map, "replaceAll")
    for key, value in map_of(other, "replaceAll").items():
        if key in found:
            found[key] = value
    return map


def map_size(map):
    return len(map_of(map, "size"))


def map_values(map):
    return list(map_of(map, "values").values())


# --- list

def list_add(values, value, *index):
    found = list_of(values, "add")
    if index:
        found.insert(place_of(found, index[0], "add", len(found)), value)
    else:
        found.append(value)
    return values


def list_add_all(values, others, distinct=False):
    found = list_of(values, "addAll")
    for other in list(list_of(others, "addAll")):
        if not distinct or find(found, other) < 0:
            found.append(other)
    return values


def list_clear(values):
    list_of(values, "clear").clear()
    return values


def list_clone(values):
    return list_of(values, "clone").copy()


def list_contains(values, value):
    return find(list_of(values, "contains"), value) >= 0


def list_contains_all(values, others):
    found = list_of(values, "containsAll")
    return all([find(found, other) >= 0 for other in list_of(others, "containsAll")])


def list_contains_any(values, others):
    found = list_of(values, "containsAny")
    return any([find(found, other) >= 0 for other in list_of(others, "containsAny")])


def list_create(*values):
    return list(values)


def list_get(values, index):
    found = list_of(values, "get")
    return found[index] if index is not None and 0 <= index < len(found) else None


def list_index_of(values, value):
    return find(list_of(values, "indexOf"), value)


def list_is_empty(values):
    return not list_of(values, "isEmpty")


def list_is_list(value):
    return type(value) is list


def list_last_index_of(values, value):
    found = list_of(values, "lastIndexOf")
    position = find(found[::-1], value)
    return position if position < 0 else len(found) - 1 - position


def list_remove(values, value):
    cdef Py_ssize_t position = find(list_of(values, "remove"), value)
    if position >= 0:
        del values[position]
    return values


def list_remove_all(values, others):
    found, removed = list_of(values, "removeAll"), list_of(others, "removeAll")
    found[:] = [value for value in found if find(removed, value) < 0]
    return values


def list_remove_by_index(values, index):
    found = list_of(values, "removeByIndex")
    del found[place_of(found, index, "removeByIndex", len(found) - 1)]
    return values


def list_retain_all(values, others):
    found, kept = list_of(values, "retainAll"), list_of(others, "retainAll")
    found[:] = [value for value in found if find(kept, value) >= 0]
    return values


def list_set_value(values, index, value):
    found = list_of(values, "setValue")
    found[place_of(found, index, "setValue", len(found) - 1)] = value
    return values


def list_size(values):
    return len(list_of(values, "size"))


def list_sort(values, order="REV"):
    found = list_of(values, "sort")
    order = "" if order is None else order.upper()
    if order == "REV":
        found.reverse()
    elif order in ("ASC", "DESC"):
        try:
            found.sort(reverse=order == "DESC")
        except TypeError as error:
            raise TypeError(f"list:sort() got values that have no order: {error}") from None
    else:
        raise ValueError(f"list:sort() got the order {shown(order)}: expected ASC, DESC or REV")
    return values
