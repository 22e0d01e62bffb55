#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start and stop a Spark Connect server on this machine, so that plans and reports need not start their own Spark."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_spark
short_description: Start or stop a Spark Connect server on this machine
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Runs the Spark Connect server that PySpark ships, for one workdir. M(streamops.kafka_recovery.kafka_recovery_plan) uses it with
    O(streamops.kafka_recovery.kafka_recovery_plan#module:spark_remote=auto), which is several times faster than starting its own Spark.
  - When it answers, one small plan warms it up, because the first plan loads most of Spark. A client that connects meanwhile is served first.
  - It listens only on the loopback interface, and requires the token in C(<workdir>/spark/token), which only the user of the task can read.
  - It stops automatically, see O(idle_timeout) and O(ends_with_playbook). On Linux its JVM cannot outlive the supervisor process.
options:
  state:
    description:
      - V(started) starts the server if none runs. A running server keeps its settings. Its lifetime is the longer one of the earlier and the present
        options.
      - V(stopped) stops it.
      - V(archived) starts no server. It archives the Java classes that plans need, once, so that later starts of Spark with this workdir, by a server
        or a module, are a quarter shorter. It takes half a minute and 170 MB in the workdir, and is repeated for another version of Java or PySpark.
    type: str
    choices: [started, stopped, archived]
    default: started
  workdir:
    description: Directory of all files of the recovery. Files of the server are in its subdirectory C(spark).
    type: path
    required: true
  port:
    description: Port of the server, V(0) for any free one.
    type: int
    default: 0
  memory:
    description: Maximum memory of its JVM, in Spark's notation.
    type: str
    default: 2g
  spark_master:
    description: Spark master of the server. Default is the server itself, on all cores of this host.
    type: str
    default: local[*]
  spark_conf:
    description:
      - Spark settings. They override the module's own, except the address and the token of the server.
      - A setting that looks like a secret is refused. Put it into O(spark_secret_conf).
    type: dict
    default: {}
  spark_secret_conf:
    description:
      - Spark settings that are secrets, such as V(spark.hadoop.fs.s3a.secret.key). They override O(spark_conf).
      - No output, log or command line shows them. Java reads them from a private file, which is removed when the server answers.
    type: dict
    default: {}
  wait:
    description: Whether to wait until the server answers and is warm. With V(false) the task ends as soon as Java is started.
    type: bool
    default: true
  idle_timeout:
    description:
      - Seconds without a client after which the server stops, V(0) for never.
      - On Linux only connections of the server's own user count. On other systems those of all users of the host count.
    type: float
    default: 600
  ends_with_playbook:
    description: Whether the server also stops when the C(ansible-playbook) that started it ends, even if that is killed.
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
    details: Returns whether a server would be started or stopped, or an archive created.
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

- name: Start a server while evidence is collected
  streamops.kafka_recovery.kafka_recovery_spark:
    workdir: "{{ kafka_recovery_workdir }}"
    wait: false
    ends_with_playbook: true

- name: Make later starts of Spark faster
  streamops.kafka_recovery.kafka_recovery_spark:
    workdir: "{{ kafka_recovery_workdir }}"
    state: archived

- name: Stop the server
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
  description: Whether the server answers already.
  returned: when a server runs
  type: bool
  sample: true
pid:
  description: PID of the supervisor process. The server stops with it.
  returned: when a server runs
  type: int
  sample: 4711
log:
  description: Log file of the server.
  returned: always
  type: str
  sample: /var/lib/kafka-recovery/spark/server.log
archive:
  description: The archive of Java classes.
  returned: when O(state=archived), except in check mode if it is missing
  type: str
  sample: /var/lib/kafka-recovery/spark/classes-0a1b2c3d4e5f6071-8899aabb.jsa
token_file:
  description:
    - File with the token of the server. Modules with the same O(workdir) read it there.
    - Do not give the token to another client of Spark on a host with other users. Such a client does not check which user's process listens on the port.
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
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import options as spark_options
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import server_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import (
    UNLIMITED,
    Folder,
    Lifetime,
    Server,
    SparkServerError,
)


def started(module: AnsibleModule, folder: Folder) -> tuple[bool, Server | None]:
    """Start the server if none runs. Return whether anything changed (in check mode, would change), and the server.

    OptionError for an invalid memory or port, SparkServerError if the server runs on another host.
    """
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
    changed = not _runs_indefinitely(folder) and _ensure_running(module, folder, {**conf, **secrets})
    return changed, server_state.awaited(folder.workdir, warm=True) if params["wait"] else server_state.running(folder.workdir)


def _runs_indefinitely(folder: Folder) -> bool:
    """Return whether a server runs here that only state=stopped stops. Fast, because every recovery on an on-call machine waits for it."""
    with suppress(OSError, RecoveryError):  # _ensure_running reports the error
        server = server_state.running(folder.workdir)
        return server is not None and server_state.is_here(server) and server_state.read_lifetime(folder) == UNLIMITED
    return False


def _ensure_running(module: AnsibleModule, folder: Folder, conf: dict[str, str]) -> bool:
    """Start the server if none runs, and extend its lifetime to that of the options. Return whether anything changed."""
    need_libraries(module)
    # Imported late, because the supervisor imports most of the collection.
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import supervisor

    params = module.params
    owner = supervisor.owner() if params["ends_with_playbook"] else (0, 0.0)
    lifetime = Lifetime(params["idle_timeout"], *owner)
    with server_state.start_lock(folder.make()):
        server = server_state.running(folder.workdir)
        if server is None:
            with signals.critical_section():  # an interrupted start could leave a server without a state file
                settings = supervisor.Settings(params["port"], params["spark_master"], params["memory"], conf, lasts=lifetime == UNLIMITED)
                supervisor.start(folder, settings, lifetime)
            return True
        if not server_state.is_here(server):
            raise SparkServerError(f"the Spark server of {folder.workdir} runs on {server.host}: use another workdir here")
        before = server_state.read_lifetime(folder)
        if (longer := before.longest(lifetime)) == before:
            return False
        server_state.write_lifetime(folder, longer)
        return True


def archived(module: AnsibleModule, folder: Folder) -> dict[str, Any]:
    """Create the archive of Java classes if it is missing, and return the result of the module."""
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
        raise SparkServerError(f"the Spark server ended before it answered: {server_state.startup_error(folder)} (see {folder.log})")
    shown = {"remote": server.remote, "ready": server.ready, "pid": server.pid, "token_file": str(folder.token)} if server else {}
    return {"changed": changed, "log": str(folder.log), **shown}


def need_libraries(module: AnsibleModule) -> None:
    """Fail the module if PySpark or psutil cannot be imported."""
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
    run_and_exit(module, lambda: recovery_spark(module))


if __name__ == "__main__":
    main()
