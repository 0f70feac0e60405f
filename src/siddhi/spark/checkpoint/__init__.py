"""What a checkpoint was written for and holds: compared, looked into, split among more shards."""
