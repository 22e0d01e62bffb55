package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Outcome is what the controller answered for one partition. Error is Kafka's name of the error, or null.
type Outcome struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Error     *string `json:"error"`
}

func elect(ctx context.Context, admin *kadm.Client, how kadm.ElectLeadersHow, partitions []Partition) ([]Outcome, error) {
	results, err := admin.ElectLeaders(ctx, how, topicsSet(partitions))
	if err != nil {
		return nil, err
	}
	outcomes := []Outcome{}
	for topic, rows := range results {
		for partition, row := range rows {
			outcomes = append(outcomes, Outcome{topic, partition, errorName(row.Err)})
		}
	}
	return outcomes, nil
}

func reassign(ctx context.Context, admin *kadm.Client, partitions []Partition) ([]Outcome, error) {
	var request kadm.AlterPartitionAssignmentsReq
	for _, row := range partitions {
		request.Assign(row.Topic, row.Partition, row.Replicas)
	}
	results, err := admin.AlterPartitionAssignments(ctx, request)
	if err != nil {
		return nil, err
	}
	outcomes := []Outcome{}
	for _, row := range results.Sorted() {
		outcomes = append(outcomes, Outcome{row.Topic, row.Partition, errorName(row.Err)})
	}
	return outcomes, nil
}

func topicsSet(partitions []Partition) kadm.TopicsSet {
	set := make(kadm.TopicsSet)
	for _, row := range partitions {
		set.Add(row.Topic, row.Partition)
	}
	return set
}

func errorName(err error) *string {
	if err == nil {
		return nil
	}
	name := err.Error()
	if known := (*kerr.Error)(nil); errors.As(err, &known) {
		name = known.Message
	}
	return &name
}
