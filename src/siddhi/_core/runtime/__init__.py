"""What operators share: the app's context, its lock, the operator interface, metrics."""
