"""NATS, core and JetStream: ``@source(type = 'nats')`` and ``@sink(type = 'nats')``."""
