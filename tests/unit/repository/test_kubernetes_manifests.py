# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests for Kubernetes: valid by its schemas, with the ACLs that a recovery needs, and with everything that their Jobs and inventory name.

Strimzi's schemas are no package: its generator of them needs Java 21 and 40 MB from Maven Central. So of its kind KafkaUser the fields are checked here.
"""

from __future__ import annotations

import copy
import re
import shlex
from pathlib import PurePosixPath
from typing import Any

import kubernetes_validate
import pytest
import yaml
from ansible.cli.playbook import PlaybookCLI
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.vars.manager import VariableManager
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import acls
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import documented_variables, variable_names

FOLDER = ROOT / "extensions/kubernetes"
MANIFESTS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yml"))}
USER = MANIFESTS["kafka-user"]
JOBS = ["recovery-job", "rescue-job"]
PODS = {name: MANIFESTS[name]["spec"]["template"]["spec"] for name in JOBS}
CONTAINERS = {name: pod["containers"][0] for name, pod in PODS.items()}
# Strimzi 1.2: the fields of an ACL, with its names of Kafka's resource types.
RESOURCE_TYPES = {"cluster": "CLUSTER", "topic": "TOPIC", "group": "GROUP", "transactionalId": "TRANSACTIONAL_ID"}
CLUSTER = USER["metadata"]["labels"]["strimzi.io/cluster"]
PREFIX = "streamops.kafka_recovery."
# The oldest release of Kubernetes that Strimzi 1.2 works with, and the newest of which the package has the schemas.
RELEASES = ["1.30", "1.37"]

Acl = tuple[str, str, str]  # operation, resource type, name


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", sorted(MANIFESTS.keys() - {"kafka-user"}))
def test_a_manifest_is_valid(name: str, release: str) -> None:
    kubernetes_validate.validate(MANIFESTS[name], release, strict=True)


@pytest.mark.parametrize("release", RELEASES)
def test_a_field_that_kubernetes_does_not_have_is_noticed(release: str) -> None:
    wrong = copy.deepcopy(MANIFESTS["recovery-job"])
    wrong["spec"]["template"]["spec"]["containers"][0]["volumeMount"] = []
    with pytest.raises(kubernetes_validate.ValidationError, match="volumeMount"):
        kubernetes_validate.validate(wrong, release, strict=True)


def test_all_are_in_one_namespace() -> None:
    assert {manifest["metadata"]["namespace"] for manifest in MANIFESTS.values()} == {USER["metadata"]["namespace"]}


def test_the_user_is_one_of_strimzi() -> None:
    assert (USER["apiVersion"], USER["kind"], USER.keys()) == (
        "kafka.strimzi.io/v1",
        "KafkaUser",
        {"apiVersion", "kind", "metadata", "spec"},
    )
    assert USER["spec"].keys() == {"authentication", "authorization"} and USER["spec"]["authorization"].keys() == {"type", "acls"}
    assert (USER["spec"]["authentication"], USER["spec"]["authorization"]["type"]) == ({"type": "scram-sha-512"}, "simple")
    for rule in USER["spec"]["authorization"]["acls"]:
        resource = rule["resource"]
        assert rule.keys() == {"resource", "operations"} and resource["type"] in RESOURCE_TYPES
        assert resource.keys() == ({"type"} if resource["type"] == "cluster" else {"type", "name", "patternType"})
        assert resource.get("patternType", "literal") == "literal"


def in_kafka(operation: str) -> str:
    """Return the name of an operation as Kafka has it: DESCRIBE_CONFIGS for DescribeConfigs."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation).upper()


def granted() -> set[Acl]:
    """Return the ACLs of the manifest, with Kafka's names."""
    rules = USER["spec"]["authorization"]["acls"]
    return {
        (in_kafka(operation), RESOURCE_TYPES[rule["resource"]["type"]], rule["resource"].get("name", ""))
        for rule in rules
        for operation in rule["operations"]
    }


def documented() -> set[Acl]:
    """Return the ACLs of the commands in the guide, for a principal that plans and elects."""
    text = (ROOT / "docs/security.md").read_text().partition("For a principal that plans and elects:")[2].partition("The first two")[0]
    found = set()
    for line in filter(None, map(str.strip, text.splitlines())):
        arguments = shlex.split(line)
        options = arguments[arguments.index("--operation") + 1 :]
        kind = options[1].removeprefix("--").replace("-", "_").upper()
        found.add((in_kafka(options[0]), kind, options[2] if kind != "CLUSTER" else ""))
    return found


def test_the_user_has_the_acls_of_a_recovery_and_no_others() -> None:
    nothing = acls.Permissions(cluster=frozenset(), any_topic=False, any_group=False)
    needed = {
        (row.need.operation, row.need.resource_type, row.name): row.need.required
        for row in acls.missing(nothing, {acls.COLLECT, acls.ELECT}, cluster_name="")
    }
    required = {acl for acl, is_required in needed.items() if is_required}
    assert required and required < needed.keys() <= granted()
    # The code does not ask for what modules read beside a recovery, such as configs of topics. The guide has these ACLs, too.
    assert granted() == documented()


@pytest.fixture(scope="module")
def inventory(tmp_path_factory: pytest.TempPathFactory) -> InventoryManager:
    """The inventory of the ConfigMap, as Ansible reads it."""
    ((name, text),) = MANIFESTS["inventory"]["data"].items()
    path = tmp_path_factory.mktemp("inventory") / name
    path.write_text(text)
    return InventoryManager(loader=DataLoader(), sources=[str(path)])


def variables(inventory: InventoryManager, name: str) -> dict[str, Any]:
    """Return the variables that the inventory gives a host, with templates unresolved."""
    host = inventory.get_host(name)
    known = VariableManager(loader=DataLoader(), inventory=inventory).get_vars(host=host, include_hostvars=False)
    of_file = {"inventory_file", "inventory_dir"}
    return {key: known[key] for key in {*host.vars, *(key for group in host.get_groups() for key in group.vars)} - of_file}


def test_the_variables_of_clusters_are_those_of_the_collection(inventory: InventoryManager) -> None:
    known = documented_variables.names()
    for host in inventory.groups["kafka_clusters"].get_hosts():
        assert variables(inventory, host.name).keys() <= known.options | known.connection
        assert not variable_names.misspelled_variables(known, variables(inventory, host.name))


def test_the_variables_of_disks_are_those_of_the_role_rescue(inventory: InventoryManager) -> None:
    known = set(re.findall(r"C\((kafka_\w+)\)", (ROOT / "roles/rescue/meta/argument_specs.yml").read_text()))
    hosts = inventory.groups["kafka_brokers"].get_hosts()
    assert len({variables(inventory, host.name)["kafka_broker_id"] for host in hosts}) == len(hosts)
    for host in hosts:
        assert variables(inventory, host.name).keys() <= known | {"ansible_connection", "ansible_python_interpreter"}
        assert variables(inventory, host.name)["kafka_cluster"] in inventory.hosts


def mounts(name: str) -> dict[PurePosixPath, dict[str, Any]]:
    """Return the mounts of a Job by their paths, each with its volume."""
    volumes = {volume["name"]: volume for volume in PODS[name]["volumes"]}
    assert sorted(volumes) == sorted(mount["name"] for mount in CONTAINERS[name]["volumeMounts"])
    return {PurePosixPath(mount["mountPath"]): mount | {"volume": volumes[mount["name"]]} for mount in CONTAINERS[name]["volumeMounts"]}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_mounts_what_is_there(name: str) -> None:
    for mount in mounts(name).values():
        volume = mount["volume"]
        if "configMap" in volume:
            assert volume["configMap"] == {"name": MANIFESTS["inventory"]["metadata"]["name"]}
        elif "secret" in volume:
            # Strimzi makes it for each cluster.
            assert volume["secret"]["secretName"] == f"{CLUSTER}-cluster-ca-cert" and volume["secret"]["items"][0]["key"] == "ca.crt"
        elif "persistentVolumeClaim" in volume and not volume["name"].startswith("data-"):
            assert volume["persistentVolumeClaim"] == {"claimName": MANIFESTS["workdir"]["metadata"]["name"]}
            assert not mount.get("readOnly")
        else:
            assert volume.get("emptyDir") == {} or name == "rescue-job"


@pytest.mark.parametrize("name", JOBS)
def test_the_inventory_finds_its_files_and_the_password_in_a_job(name: str, inventory: InventoryManager) -> None:
    cluster, mounted = variables(inventory, CLUSTER), mounts(name)
    certificate, workdir = PurePosixPath(cluster["kafka_ca_cert"]), PurePosixPath(cluster["kafka_recovery_workdir"])
    assert certificate.name in {item["path"] for item in mounted[certificate.parent]["volume"]["secret"]["items"]}
    assert workdir not in mounted and "persistentVolumeClaim" in mounted[workdir.parent]["volume"]
    (secret,) = CONTAINERS[name]["env"]
    assert cluster["kafka_sasl_username"] == USER["metadata"]["name"]
    # The User Operator names the Secret after the user.
    assert secret["valueFrom"]["secretKeyRef"] == {"name": USER["metadata"]["name"], "key": "password"}
    assert re.findall(r"env', '(\w+)'", cluster["kafka_sasl_password"]) == [secret["name"]]


@pytest.mark.parametrize("name", JOBS)
def test_a_job_runs_a_playbook_on_hosts_of_the_inventory(name: str, inventory: InventoryManager) -> None:
    program, *arguments = CONTAINERS[name]["args"]
    parser: Any = PlaybookCLI([program])
    parser.init_parser()
    options = parser.parser.parse_args(arguments)
    (playbook,) = options.args
    assert playbook.startswith(PREFIX) and (ROOT / "playbooks" / f"{playbook.removeprefix(PREFIX)}.yml").is_file()
    (place,) = map(PurePosixPath, options.inventory)
    assert place.name in MANIFESTS["inventory"]["data"] and "configMap" in mounts(name)[place.parent]["volume"]
    assert set(options.subset.split(",")) <= set(inventory.hosts)
    assert {value.partition("=")[0] for value in options.extra_vars} <= documented_variables.names().options
    assert options.check or name == "rescue-job", "the recovery is a dry run until its user removes that"


def test_the_disk_that_is_mounted_is_that_of_the_broker(inventory: InventoryManager) -> None:
    (limit,) = (option.partition("=")[2] for option in CONTAINERS["rescue-job"]["args"] if option.startswith("--limit="))
    cluster, host = limit.split(",")
    known = variables(inventory, host)
    broker, mounted = known["kafka_broker_id"], mounts("rescue-job")
    log_dirs = set(map(PurePosixPath, Templar(loader=DataLoader(), variables=known).template(known["kafka_log_dirs"])))
    disks = {path: mount for path, mount in mounted.items() if mount["name"].startswith("data-")}
    # Every volume has its log dir, and the other way round. Strimzi's folder has the number of the broker.
    assert cluster == CLUSTER and {path / f"kafka-log{broker}" for path in disks} == log_dirs
    for mount in disks.values():
        claim = mount["volume"]["persistentVolumeClaim"]
        assert mount["readOnly"] and claim["readOnly"]
        assert re.fullmatch(rf"{mount['name']}-{CLUSTER}-[\w-]+-{broker}", claim["claimName"])


def test_strimzi_does_not_take_the_pods_of_jobs_for_its_own() -> None:
    # It deletes pods that have the labels of a StrimziPodSet and are not in it.
    for name in JOBS:
        assert MANIFESTS[name]["spec"]["template"]["metadata"]["labels"] == {"app.kubernetes.io/name": "kafka-recovery"}


def test_both_jobs_have_the_image_of_the_guide_and_the_same_user() -> None:
    (tag,) = re.findall(r"--tag (\S+)", (ROOT / "docs/execution-environments.md").read_text())
    assert {container["image"] for container in CONTAINERS.values()} == {tag}
    assert PODS["recovery-job"]["securityContext"] == PODS["rescue-job"]["securityContext"]
