"""The demonstration: real clusters on this machine lose partitions in ways that hurt, and get them back."""
