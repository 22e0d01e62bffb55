package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Record is one record of a partition, with the leader epoch of its batch.
type Record struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"`
	LeaderEpoch int32  `json:"leader_epoch"`
	Value       string `json:"value"`
}

// readRecords reads each partition from its log start to the offset that was its end when the command began.
func readRecords(ctx context.Context, admin *kadm.Client, servers []string, partitions []Partition) ([]Record, error) {
	records := []Record{}
	missing, starts, err := readRanges(ctx, admin, partitions)
	if err != nil || len(missing) == 0 {
		return records, err
	}
	consumer, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.ConsumePartitions(starts))
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	for len(missing) > 0 {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("%d partitions were not read to their end: %w", len(missing), err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			key := Key{record.Topic, record.Partition}
			if end, ok := missing[key]; ok && record.Offset < end {
				records = append(records, Record{record.Topic, record.Partition, record.Offset, record.LeaderEpoch, string(record.Value)})
				if record.Offset == end-1 {
					delete(missing, key)
				}
			}
		})
	}
	return records, nil
}

// Key names a partition.
type Key struct {
	Topic     string
	Partition int32
}

// readRanges returns the end and the first offset of each partition that has records.
func readRanges(ctx context.Context, admin *kadm.Client, partitions []Partition) (map[Key]int64, map[string]map[int32]kgo.Offset, error) {
	topics := topicsSet(partitions).Topics()
	starts, err := admin.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, topics...)
	if err != nil {
		return nil, nil, err
	}
	missing, offsets := map[Key]int64{}, map[string]map[int32]kgo.Offset{}
	for _, row := range partitions {
		start, knownStart := starts.Lookup(row.Topic, row.Partition)
		end, knownEnd := ends.Lookup(row.Topic, row.Partition)
		if !knownStart || !knownEnd || start.Err != nil || end.Err != nil {
			return nil, nil, fmt.Errorf("%s-%d has no known start or end", row.Topic, row.Partition)
		}
		if start.Offset < end.Offset {
			missing[Key{row.Topic, row.Partition}] = end.Offset
			if offsets[row.Topic] == nil {
				offsets[row.Topic] = map[int32]kgo.Offset{}
			}
			offsets[row.Topic][row.Partition] = kgo.NewOffset().At(start.Offset)
		}
	}
	return missing, offsets, nil
}
