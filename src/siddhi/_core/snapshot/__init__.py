"""The format of snapshots, and what operators write into it."""
