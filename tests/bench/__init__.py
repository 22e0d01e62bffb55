"""The benchmark: what the collection needs, as a ratio to Kafka's own tool on the same cluster in the same run."""
