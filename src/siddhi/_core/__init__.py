"""The compiled core: typed operators over pooled records. It knows nothing of SiddhiQL or plans.

Each package imports those above it in this list. A file's header (.pxd) says what its structures hold and who owns them.

``record``      events as C structs, their pools, chunks of them, the frame that every operator sees
``snapshot``    state as bytes
``index``       hash and sorted indexes
``runtime``     the app's context (clock, timers), its lock, the operator interface, limits of keys, metrics
``expression``  expressions as typed closures, filters
``columnar``    batches: columns into records and back
``stream``      junctions, inputs, callbacks, buffers between threads, triggers
``aggregate``   aggregators and groups
``python``      operators written in Python
``window``      windows
``query``       entry, selection, output, output rates, partitions; window and selection fused into one operator
``join``        joins
``table``       tables in memory and in stores
``pattern``     patterns and sequences
``rollup``      incremental aggregations
"""
