"""Apache Kafka: ``@source(type = 'kafka')`` and ``@sink(type = 'kafka')``, through librdkafka."""
