#!/usr/bin/env bash
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Two histories of one partition with three replicas and min.insync.replicas 2, on stock Kafka, after which a ranking of logs loses committed records.
# A consumer has read them before.
#
#   KAFKA_HOME=/opt/kafka_2.13-4.3.0 ./lost_by_ranking.sh fork       the longest log is the wrong one
#   KAFKA_HOME=/opt/kafka_2.13-4.3.0 ./lost_by_ranking.sh figure_8   the log with the latest leader epoch is the wrong one
#
# It starts a controller and three brokers below a temporary folder, on ports from $FIRST_PORT (19092) on, and ends them. It takes two minutes.
# Ends with 0 if committed records were lost, as the page docs/ranking.md says, with 1 if not.
set -euo pipefail

history=${1:-}
case $history in
fork | figure_8) ;;
*)
  echo "usage: KAFKA_HOME=FOLDER $0 fork|figure_8" >&2
  exit 2
  ;;
esac
bin=${KAFKA_HOME:?name the folder of Kafka in KAFKA_HOME}/bin
first=${FIRST_PORT:-19092}
export KAFKA_HEAP_OPTS="-Xmx256m"
folder=$(mktemp -d)
declare -A pids
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT

port() { echo $((first + $1)); }
servers() { echo "127.0.0.1:$(port "$1")"; }
say() { printf '\n# %s\n' "$*"; }

configure() { # NODE ROLE
  cat >"$folder/$1.properties" <<EOF
process.roles=$2
node.id=$1
controller.quorum.bootstrap.servers=127.0.0.1:$(port 0)
controller.quorum.voters=100@127.0.0.1:$(port 0)
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
listeners=$([ "$2" = controller ] && echo "CONTROLLER://127.0.0.1:$(port 0)" || echo "PLAINTEXT://127.0.0.1:$(port "$1")")
log.dirs=$folder/data-$1
offsets.topic.replication.factor=1
broker.session.timeout.ms=12000
EOF
}
start() { # NODE
  "$bin/kafka-server-start.sh" "$folder/$1.properties" >>"$folder/$1.log" 2>&1 &
  pids[$1]=$!
  disown # the shell reports nothing when it is killed
}
crash() { # NODE: as by a power cut of the machine, but nothing that was written is lost
  kill -9 "${pids[$1]}"
  while kill -0 "${pids[$1]}" 2>/dev/null; do sleep 0.1; done
}
hang() { kill -STOP "${pids[$1]}"; }
go_on() { kill -CONT "${pids[$1]}"; }
topics() { "$bin/kafka-topics.sh" --bootstrap-server "$(servers "$1")" "${@:2}"; }
await() { # BROKER PATTERN WHAT: until the description of the partition, as this broker gives it, has the pattern
  for _ in $(seq 60); do
    if topics "$1" --describe --topic t 2>/dev/null | tr '\t' ' ' | grep -qE "$2"; then return; fi
    sleep 1
  done
  echo "not seen: $3" >&2
  topics "$1" --describe --topic t >&2
  exit 3
}
write() { # BROKER WHAT MANY ACKS
  seq -f "$2 %g" "$3" | "$bin/kafka-console-producer.sh" --bootstrap-server "$(servers "$1")" --topic t \
    --producer-property acks="$4" --producer-property enable.idempotence=false
}
read_all() { # BROKER FILE: what a consumer reads, which gets committed records only
  "$bin/kafka-console-consumer.sh" --bootstrap-server "$(servers "$1")" --topic t --partition 0 --offset earliest --timeout-ms 8000 2>/dev/null >"$2" || true
}
log_of() { # BROKER: where its log ends, and the leader epoch of its last batch
  "$bin/kafka-dump-log.sh" --files "$folder/data-$1/t-0/00000000000000000000.log" | grep baseOffset: | tail -n 1 |
    sed -E 's/.*lastOffset: ([0-9]+).*partitionLeaderEpoch: ([0-9]+).*/last offset \1, last written in leader epoch \2/'
}

configure 100 controller
for node in 1 2 3; do configure $node broker; done
id=$("$bin/kafka-storage.sh" random-uuid)
for node in 100 1 2 3; do
  "$bin/kafka-storage.sh" format --cluster-id "$id" --config "$folder/$node.properties" >/dev/null
  start $node
done
order=3:1:2
[ "$history" = fork ] || order=1:3:2
for _ in $(seq 60); do
  topics 1 --create --topic t --replica-assignment $order --config min.insync.replicas=2 >/dev/null 2>&1 && break
  sleep 1
done
await 1 'Isr: [123],[123],[123]' "three replicas in sync"
say "broker ${order%%:*} leads. 10 records are written, and copied to all brokers"
write "${order%%:*}" everywhere 10 all

if [ "$history" = figure_8 ]; then
  # Broker 3 comes first from now on: stock Kafka takes the first live replica.
  echo '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[3,1,2]}]}' >"$folder/order.json"
  "$bin/kafka-reassign-partitions.sh" --bootstrap-server "$(servers 1)" --reassignment-json-file "$folder/order.json" --execute >/dev/null
  say "broker 3 hangs. Broker 1 writes 5 records, which broker 2 copies, and dies"
  hang 3
  sleep 2
  write 1 older 5 1
  sleep 2
  crash 1
  go_on 3
  say "broker 3 leads after it. Broker 2 hangs, broker 3 writes 3 records that no broker copies, and dies"
  sleep 6
  hang 2
  await 3 'Leader: 3' "broker 3 leads"
  many=3
else
  say "broker 1 dies and broker 2 hangs. Broker 3 writes 80 records that no broker copies, and dies"
  crash 1
  hang 2
  sleep 2
  many=80
fi
write 3 "never copied" $many 1
crash 3
go_on 2

say "broker 2 leads after it, and broker 1 comes back and is in sync"
await 2 'Leader: 2' "broker 2 leads"
start 1
await 2 'Isr: (1,2|2,1)( |$)' "brokers 1 and 2 in sync"
if [ "$history" = fork ]; then
  write 2 newer 20 all
fi
sleep 2
read_all 2 "$folder/before"
echo "a consumer reads $(wc -l <"$folder/before") records"

say "broker 1 leaves, broker 2 is lost for good, brokers 1 and 3 come back"
crash 1
await 2 'Isr: 2( |$)' "broker 2 alone in sync"
crash 2
start 1
start 3
await 1 'Leader: (none|-1)' "no leader"
sleep 15 # until broker 3 is unfenced, and broker 2 is fenced
echo "broker 1: $(log_of 1)"
echo "broker 3: $(log_of 3)"

say "stock Kafka: kafka-leader-election.sh --election-type unclean"
"$bin/kafka-leader-election.sh" --bootstrap-server "$(servers 1)" --election-type unclean --topic t --partition 0
await 1 'Isr: (1,3|3,1)( |$)' "brokers 1 and 3 in sync"
topics 1 --describe --topic t | tail -n 1
sleep 2
read_all 1 "$folder/after"
lost=$(grep -vxFf "$folder/after" "$folder/before" | sort -u | wc -l || true)
echo "a consumer reads $(wc -l <"$folder/after") records. Of those that were read before, $lost are gone:"
grep -vxFf "$folder/after" "$folder/before" | sort -u | head -n 3 || true
[ "$lost" -gt 0 ]
