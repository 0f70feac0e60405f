"""Files: ``@source(type = 'file')`` and ``@sink(type = 'file')``."""
