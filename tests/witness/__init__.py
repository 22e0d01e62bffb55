"""Clients that share no code with the collection: they judge what it did to a cluster, and recover identical damage as a second administrator would.

| file | client |
|---|---|
| `franz.py` | franz-go and its kadm, through the program in `go/` |
| `kcat.py` | kcat, where it is installed |
| `librdkafka.py` | confluent-kafka |
| `scripts.py` | Kafka's own scripts |
"""
