"""Amazon SQS: messages of queues."""
