#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start and stop a Spark Connect server on this machine, so that plans and reports need not start a Spark of their own."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_spark
short_description: Start or stop a Spark Connect server on this machine
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Runs the Spark Connect server that PySpark ships, for one workdir. M(streamops.kafka_recovery.kafka_recovery_plan) finds it there with
    O(streamops.kafka_recovery.kafka_recovery_plan#module:spark_remote=auto), and needs a few seconds then where it needs many with a Spark of its own.
  - Once it answers, one small plan is made, because the first one loads most of Spark. A client that comes meanwhile goes first.
  - It listens on the loopback interface only, and wants a token that stands in C(<workdir>/spark/token), which only the user of the task can read.
  - It ends by itself; see O(idle_timeout) and O(ends_with_playbook). On Linux its Java cannot outlive the process that looks after it.
options:
  state:
    description:
      - V(started) starts the server where none runs. One that runs is left as it is; it lives on for as long as it was asked to before, or as is
        asked for now, whichever is longer.
      - V(stopped) ends it.
      - V(archived) starts none, but has Java archive the classes of Spark that plans need, once, so that whatever starts a Spark with this workdir, a
        server or a module, does so a quarter sooner. It takes half a minute and 170 MB in the workdir, and is done anew where Java or PySpark is another.
    type: str
    choices: [started, stopped, archived]
    default: started
  workdir:
    description: Directory of all files of the recovery. What belongs to the server is in C(spark) there.
    type: path
    required: true
  port:
    description: Port of the server, V(0) for any free one.
    type: int
    default: 0
  memory:
    description: Memory of its Java at most, as Spark writes it.
    type: str
    default: 2g
  spark_master:
    description: Where the server has its work done. By default in itself, on all cores of this host.
    type: str
    default: local[*]
  spark_conf:
    description:
      - Spark settings that go over the module's own. Where the server listens, and that it wants a token, they do not change.
      - A setting that looks like a secret is refused here, and belongs in O(spark_secret_conf).
    type: dict
    default: {}
  spark_secret_conf:
    description:
      - Spark settings that are secrets, such as V(spark.hadoop.fs.s3a.secret.key). They go over O(spark_conf).
      - No output, log or command line shows them. Java reads them from a private file, which is removed once the server answers.
    type: dict
    default: {}
  wait:
    description: Whether to wait until the server answers and is warm. With V(false) the task ends as soon as Java has been started.
    type: bool
    default: true
  idle_timeout:
    description:
      - Seconds without a client after which the server ends, V(0) for never.
      - On Linux only connections of the server's own user count. On other systems those of all users of the host count.
    type: float
    default: 600
  ends_with_playbook:
    description: Whether the server also ends when the C(ansible-playbook) that started it does, however that ends.
    type: bool
    default: false
requirements:
  - pyspark[connect] >= 4.3
  - pandas >= 2.2, < 3
  - psutil >= 6
  - Java 17 or newer
extends_documentation_fragment:
  - streamops.kafka_recovery.attributes
attributes:
  check_mode:
    support: full
    details: Says whether a server would be started or stopped, or an archive made.
  diff_mode:
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Keep a server warm on an on-call machine
  streamops.kafka_recovery.kafka_recovery_spark:
    workdir: "{{ kafka_recovery_workdir }}"
    idle_timeout: 0
    memory: 4g
  register: spark

- name: Let a server come up while evidence is gathered
  streamops.kafka_recovery.kafka_recovery_spark:
    workdir: "{{ kafka_recovery_workdir }}"
    wait: false
    ends_with_playbook: true

- name: Have every later start of Spark take less time
  streamops.kafka_recovery.kafka_recovery_spark:
    workdir: "{{ kafka_recovery_workdir }}"
    state: archived

- name: End it
  streamops.kafka_recovery.kafka_recovery_spark:
    workdir: "{{ kafka_recovery_workdir }}"
    state: stopped
"""

RETURN = r"""
remote:
  description: Address of the server, without its token, for modules with the same O(workdir).
  returned: when a server runs
  type: str
  sample: sc://127.0.0.1:38211
ready:
  description: Whether it answers already.
  returned: when a server runs
  type: bool
  sample: true
pid:
  description: Process that looks after the server, and whose end is its end.
  returned: when a server runs
  type: int
  sample: 4711
log:
  description: Where the server writes what it has to say.
  returned: always
  type: str
  sample: /var/lib/kafka-recovery/spark/server.log
archive:
  description: The archive of classes.
  returned: when O(state=archived), not in check mode where it is missing
  type: str
  sample: /var/lib/kafka-recovery/spark/classes-0a1b2c3d4e5f6071-8899aabb.jsa
token_file:
  description:
    - The file with its token. Modules with the same O(workdir) read it there.
    - Do not give the token to another client of Spark on a host with other users. Such a client does not check who listens on the port.
  returned: when a server runs
  type: str
  sample: /var/lib/kafka-recovery/spark/token
"""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import numeric_options, signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, answer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import options as spark_options
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import server_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import (
    FOR_EVER,
    Folder,
    Server,
    SparkServerError,
    Until,
)


def started(module: AnsibleModule, folder: Folder) -> tuple[bool, Server | None]:
    """Whether something changed (or would, in check mode), and the server."""
    params = module.params
    if not re.fullmatch(r"[1-9][0-9]*[kmgt]", params["memory"], re.IGNORECASE):
        raise numeric_options.OptionError(f"memory is {params['memory']}: write a number and a unit, such as 1g or 768m")
    if not 0 <= params["port"] < 1 << 16:
        raise numeric_options.OptionError(f"port is {params['port']}: it has to be between 1 and 65535, or 0 for any free one")
    conf, secrets = spark_options.settings(module)
    if module.check_mode:
        server = server_state.running(folder.workdir)
        if server is None:
            need_libraries(module)
        return server is None, server
    changed = not _stays_anyway(folder) and _kept(module, folder, {**conf, **secrets})
    return changed, server_state.awaited(folder.workdir, warm=True) if params["wait"] else server_state.running(folder.workdir)


def _stays_anyway(folder: Folder) -> bool:
    """Whether a server runs here that nothing but state=stopped will end. Found out in a moment: every recovery of an on-call machine waits for it."""
    with suppress(OSError, SpokenError):  # whoever takes a closer look says what is wrong
        server = server_state.running(folder.workdir)
        return server is not None and server_state.is_here(server) and server_state.read_until(folder) == FOR_EVER
    return False


def _kept(module: AnsibleModule, folder: Folder, conf: dict[str, str]) -> bool:
    """Start the server where none runs, have it stay as long as is wanted; whether something changed."""
    need_libraries(module)
    # What starts a server brings most of the collection with it.
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import supervisor

    params = module.params
    owner = supervisor.owner() if params["ends_with_playbook"] else (0, 0.0)
    until = Until(params["idle_timeout"], *owner)
    with server_state.alone(folder.make()):
        server = server_state.running(folder.workdir)
        if server is None:
            with signals.unbroken():  # else there would be one that nobody knows
                settings = supervisor.Settings(params["port"], params["spark_master"], params["memory"], conf, lasts=until == FOR_EVER)
                supervisor.start(folder, settings, until)
            return True
        if not server_state.is_here(server):
            raise SparkServerError(f"the Spark server of {folder.workdir} runs on {server.host}: use another workdir here")
        before = server_state.read_until(folder)
        if (longer := before.longest(until)) == before:
            return False
        server_state.write_until(folder, longer)
        return True


def archived(module: AnsibleModule, folder: Folder) -> dict[str, Any]:
    """What to return of the archive of classes, made where it is missing."""
    need_libraries(module)
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import appcds
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import warmup

    path = appcds.find(folder.workdir)
    changed = path is None
    if path is None and not module.check_mode:
        path = appcds.make(folder.workdir, warmup.plan_and_end)
    return {"changed": changed, "log": str(folder.log), **({"archive": str(path)} if path else {})}


def recovery_spark(module: AnsibleModule) -> dict[str, Any]:
    """Return what RETURN documents."""
    numeric_options.check_numbers(module.params)
    folder = Folder(Path(module.params["workdir"]).absolute())
    if module.params["state"] == "stopped":
        server = server_state.running(folder.workdir) if module.check_mode else server_state.stop(folder.workdir)
        return {"changed": server is not None, "log": str(folder.log)}
    if module.params["state"] == "archived":
        return archived(module, folder)
    changed, server = started(module, folder)
    if server is None and not module.check_mode:
        raise SparkServerError(f"the Spark server ended before it answered: {server_state.last_words(folder)} (see {folder.log})")
    shown = {"remote": server.remote, "ready": server.ready, "pid": server.pid, "token_file": str(folder.token)} if server else {}
    return {"changed": changed, "log": str(folder.log), **shown}


def need_libraries(module: AnsibleModule) -> None:
    """Fail where there is no PySpark to start."""
    trace = import_error("psutil", "pyspark.sql", "pyarrow")
    if trace is not None:
        module.fail_json(msg=missing_required_lib("pyspark[connect] and psutil"), exception=trace)


def main() -> None:
    """Run the module."""
    module = PrintableModule(
        argument_spec={
            "state": {"type": "str", "choices": ["started", "stopped", "archived"], "default": "started"},
            "workdir": {"type": "path", "required": True},
            "port": {"type": "int", "default": 0},
            "memory": {"type": "str", "default": "2g"},
            "spark_master": {"type": "str", "default": "local[*]"},
            **spark_options.CONF_ARGUMENTS,
            "wait": {"type": "bool", "default": True},
            "idle_timeout": {"type": "float", "default": 600},
            "ends_with_playbook": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    answer(module, lambda: recovery_spark(module))


if __name__ == "__main__":
    main()
