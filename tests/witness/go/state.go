package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

// State is what a cluster says of its partitions.
type State struct {
	Partitions    []PartitionState `json:"partitions"`
	Reassignments []Reassignment   `json:"reassignments"`
}

// PartitionState is one partition. Leader is -1 if it has none. EndOffset is null if a partition of its topic has no leader.
type PartitionState struct {
	Topic           string  `json:"topic"`
	TopicID         string  `json:"topic_id"`
	Partition       int32   `json:"partition"`
	Leader          int32   `json:"leader"`
	LeaderEpoch     int32   `json:"leader_epoch"`
	Replicas        []int32 `json:"replicas"`
	ISR             []int32 `json:"isr"`
	OfflineReplicas []int32 `json:"offline_replicas"`
	EndOffset       *int64  `json:"end_offset"`
}

// Reassignment is one that is in progress.
type Reassignment struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Replicas  []int32 `json:"replicas"`
	Adding    []int32 `json:"adding_replicas"`
	Removing  []int32 `json:"removing_replicas"`
}

func readState(ctx context.Context, admin *kadm.Client, names []string) (*State, error) {
	topics, err := admin.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return nil, err
	}
	if err := topics.Error(); err != nil {
		return nil, err
	}
	ends, err := readEndOffsets(ctx, admin, topics)
	if err != nil {
		return nil, err
	}
	reassignments, err := admin.ListPartitionReassignments(ctx, topics.TopicsSet())
	if err != nil {
		return nil, err
	}
	state := &State{Partitions: []PartitionState{}, Reassignments: []Reassignment{}}
	for _, topic := range topics.Sorted() {
		for _, row := range topic.Partitions.Sorted() {
			partition := PartitionState{
				Topic: topic.Topic, TopicID: topic.ID.String(), Partition: row.Partition, Leader: row.Leader, LeaderEpoch: row.LeaderEpoch,
				Replicas: row.Replicas, ISR: row.ISR, OfflineReplicas: row.OfflineReplicas,
			}
			if end, ok := ends.Lookup(topic.Topic, row.Partition); ok {
				partition.EndOffset = &end.Offset
			}
			state.Partitions = append(state.Partitions, partition)
		}
	}
	for _, row := range reassignments.Sorted() {
		state.Reassignments = append(state.Reassignments, Reassignment{row.Topic, row.Partition, row.Replicas, row.AddingReplicas, row.RemovingReplicas})
	}
	return state, nil
}

// readEndOffsets asks the leaders of topics whose partitions all have one. kadm retries a partition without a leader until the time limit.
func readEndOffsets(ctx context.Context, admin *kadm.Client, topics kadm.TopicDetails) (kadm.ListedOffsets, error) {
	var online []string
	for _, topic := range topics {
		if len(topic.Partitions) > 0 && !hasOffline(topic.Partitions) {
			online = append(online, topic.Topic)
		}
	}
	if len(online) == 0 {
		return kadm.ListedOffsets{}, nil
	}
	ends, err := admin.ListEndOffsets(ctx, online...)
	if err != nil {
		return nil, err
	}
	return ends, ends.Error()
}

func hasOffline(partitions kadm.PartitionDetails) bool {
	for _, partition := range partitions {
		if partition.Leader < 0 {
			return true
		}
	}
	return false
}
