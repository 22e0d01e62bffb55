package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

// Operation is one of a history of a partition. Call and Return are of one monotonic clock.
//
//	append   Value was acknowledged with acks=all, at Offset
//	read     a consumer has read Records, from the log start to the end that it was told first
//	recover  a leader was elected whose log ends at Offset, and at most MostLost committed records were to be lost (null: unknown)
type Operation struct {
	Client   int            `json:"client"`
	Kind     string         `json:"kind"`
	Call     int64          `json:"call"`
	Return   int64          `json:"return"`
	Offset   int64          `json:"offset"`
	Value    string         `json:"value"`
	Records  []OffsetRecord `json:"records"`
	MostLost *int           `json:"most_lost"`
}

// OffsetRecord is a record that was read.
type OffsetRecord struct {
	Offset int64  `json:"offset"`
	Value  string `json:"value"`
}

// Committed is the state of the model: values that no later read may miss or change, by offset. Offsets between them hold records that were never
// acknowledged by all in-sync replicas, until they are read: that commits them.
type Committed map[int64]string

func (committed Committed) end() int64 {
	end := int64(0)
	for offset := range committed {
		end = max(end, offset+1)
	}
	return end
}

func (committed Committed) append(offset int64, value string) (bool, Committed) {
	if offset < committed.end() {
		return false, committed
	}
	next := maps.Clone(committed)
	next[offset] = value
	return true, next
}

func (committed Committed) read(records []OffsetRecord) (bool, Committed) {
	next := make(Committed, len(records))
	for _, record := range records {
		next[record.Offset] = record.Value
	}
	for offset, value := range committed {
		if seen, ok := next[offset]; !ok || seen != value {
			return false, committed
		}
	}
	return true, next
}

func (committed Committed) recover(end int64, mostLost *int) (bool, Committed) {
	next := maps.Clone(committed)
	maps.DeleteFunc(next, func(offset int64, _ string) bool { return offset >= end })
	if mostLost != nil && len(committed)-len(next) > *mostLost {
		return false, committed
	}
	return true, next
}

// partitionLog is a log whose records are committed in the order of their offsets. A recovery on evidence `prefix` loses what lies beyond the new
// leader's end, and nothing else.
var partitionLog = porcupine.Model{
	Init: func() any { return Committed{} },
	Step: func(state, input, _ any) (bool, any) {
		committed, operation := state.(Committed), input.(Operation)
		switch operation.Kind {
		case "append":
			return committed.append(operation.Offset, operation.Value)
		case "read":
			return committed.read(operation.Records)
		default:
			return committed.recover(operation.Offset, operation.MostLost)
		}
	},
	Equal: func(one, other any) bool { return maps.Equal(one.(Committed), other.(Committed)) },
	Hash:  func(state any) uint64 { return uint64(state.(Committed).end()) },
}

// checkHistory says whether the operations on stdin can have happened one after the other: "Ok", "Illegal", or "Unknown" after the time limit.
func checkHistory(limit time.Duration) (porcupine.CheckResult, error) {
	var operations []Operation
	if err := json.NewDecoder(os.Stdin).Decode(&operations); err != nil {
		return porcupine.Unknown, fmt.Errorf("stdin: %w", err)
	}
	history := make([]porcupine.Operation, len(operations))
	for number, row := range operations {
		switch row.Kind {
		case "append", "read", "recover":
			history[number] = porcupine.Operation{ClientId: row.Client, Input: row, Call: row.Call, Return: row.Return}
		default:
			return porcupine.Unknown, fmt.Errorf("%q is not a kind of operation", row.Kind)
		}
	}
	return porcupine.CheckOperationsTimeout(partitionLog, history, limit), nil
}
