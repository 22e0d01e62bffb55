"""Recoveries in a simulated Kafka: the real code, virtual time, one seed for all that happens."""
