"""Giving a principal exactly these ACLs, on every node of a cluster."""

from collections.abc import Iterable
from typing import NamedTuple

from kafka.protocol.admin.acl import (
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ACLResourceType,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
)

from rig import config
from rig.cluster import KafkaCluster
from rig.rpc import ask

SECONDS = 20.0
CLUSTER = "kafka-cluster"  # the one name that ACLs of the resource type CLUSTER have
ANY = {"resource_type_filter": ACLResourceType.ANY, "pattern_type_filter": ACLResourcePatternType.ANY}
ANYTHING = {"host_filter": None, "operation": ACLOperation.ANY, "permission_type": ACLPermissionType.ANY}


class Acl(NamedTuple):
    """Kafka's names: an operation (READ), a resource type (TOPIC) and a resource's name ("*" is all of them)."""

    operation: str
    resource_type: str
    name: str


def replace_acls(cluster: KafkaCluster, user: str, acls: Iterable[Acl]) -> None:
    """Let User:`user` do this and nothing else, and wait until every live broker knows it."""
    principal, wanted = f"User:{user}", set(acls)
    creation, wiping = CreateAclsRequest.AclCreation, DeleteAclsRequest.DeleteAclsFilter
    rows = [
        creation(
            resource_type=ACLResourceType[acl.resource_type],
            resource_name=acl.name,
            resource_pattern_type=ACLResourcePatternType.LITERAL,
            principal=principal,
            host="*",
            operation=ACLOperation[acl.operation],
            permission_type=ACLPermissionType.ALLOW,
        )
        for acl in wanted
    ]
    mine = wiping(**ANY, **ANYTHING, resource_name_filter=None, principal_filter=principal)
    cluster.ask(lambda node: ask(node, DeleteAclsRequest[2](filters=[mine]), SECONDS))
    cluster.ask(lambda node: ask(node, CreateAclsRequest[2](creations=rows), SECONDS))

    def behind() -> str:
        late = [node.name for node in cluster.answering() if _known((config.HOST, node.replication_port or 0), principal) != wanted]
        return ", ".join(late)

    cluster.wait_until(behind, "old ACLs", SECONDS)


def _known(address: tuple[str, int], principal: str) -> set[Acl]:
    request = DescribeAclsRequest[2](**ANY, **ANYTHING, resource_name_filter=None, principal_filter=principal)
    answer = ask(address, request, SECONDS)
    return {
        Acl(ACLOperation(row.operation).name, ACLResourceType(resource.resource_type).name, resource.resource_name)
        for resource in answer.resources
        for row in resource.acls
    }
