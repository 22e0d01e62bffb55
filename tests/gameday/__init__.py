"""The game day: a rehearsal on a local fleet of real Kafka, and a score of how it went."""
