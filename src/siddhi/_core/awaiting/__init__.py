"""What waits: events for the results of coroutine functions, items of temporal streams for a worker."""
