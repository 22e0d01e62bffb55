// Command witness reads and changes a Kafka cluster through franz-go, as a client that shares no code with the collection.
//
// It prints JSON. Its last argument is a command:
//
//	state       partitions of the named topics (default all), their end offsets, and reassignments in progress
//	records     every record of the partitions on stdin that consumers can read
//	preferred   elect the preferred replica of each partition on stdin (KIP-183)
//	unclean     elect a live replica of each partition on stdin that has no leader (KIP-460)
//	reassign    move the partitions on stdin to their `replicas` (KIP-455); without `replicas` their reassignment is cancelled
//	history     check with porcupine that the operations on stdin are those of a log that a recovery has cut once (no cluster is asked)
//
// Partitions on stdin are a JSON list of {"topic", "partition"}.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Partition is what stdin names. Replicas are read by the command reassign alone.
type Partition struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Replicas  []int32 `json:"replicas"`
}

func main() {
	servers := flag.String("bootstrap-servers", "", "addresses of brokers, comma-separated")
	topics := flag.String("topics", "", "topics of the command state, comma-separated; default all")
	seconds := flag.Duration("timeout", 30*time.Second, "time limit of the command")
	flag.Parse()
	answer, err := run(flag.Arg(0), strings.Split(*servers, ","), split(*topics), *seconds)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(command string, servers, topics []string, limit time.Duration) (any, error) {
	if command == "history" {
		return checkHistory(limit)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(servers...))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if command == "state" {
		return readState(ctx, admin, topics)
	}
	var partitions []Partition
	if err := json.NewDecoder(os.Stdin).Decode(&partitions); err != nil {
		return nil, fmt.Errorf("stdin: %w", err)
	}
	switch command {
	case "records":
		return readRecords(ctx, admin, servers, partitions)
	case "preferred":
		return elect(ctx, admin, kadm.ElectPreferredReplica, partitions)
	case "unclean":
		return elect(ctx, admin, kadm.ElectLiveReplica, partitions)
	case "reassign":
		return reassign(ctx, admin, partitions)
	}
	return nil, fmt.Errorf("%q is not a command", command)
}

func split(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, ",")
}
