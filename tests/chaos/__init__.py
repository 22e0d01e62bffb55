"""Chaos: random histories on real clusters, recoveries under faults, and judges that do not believe what the recovery says of itself."""
