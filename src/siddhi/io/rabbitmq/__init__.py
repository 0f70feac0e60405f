"""RabbitMQ: messages of AMQP 0-9-1."""
