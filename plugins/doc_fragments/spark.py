# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that say where Spark runs, as documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that select where Spark runs."""

    DOCUMENTATION = r"""
options:
  spark_master:
    description:
      - Master URL, such as V(spark://host:7077). By default Spark runs embedded, on all cores of this host.
      - A driver for V(spark://) is refused without V(spark.authenticate=true) in O(spark_conf) and V(spark.authenticate.secret) in O(spark_secret_conf).
        If only trusted users reach the driver and the cluster, V(spark.authenticate=false) in O(spark_conf) accepts that.
      - Mutually exclusive with O(spark_remote).
    type: str
  spark_remote:
    description:
      - Address of a Spark Connect server, such as V(sc://host:15002).
      - A running server is several times faster than starting Spark, and this host needs no Java.
      - A loopback address without TLS is refused if another user than this one or root listens there.
      - A server that requires a token gets the one in the environment variable E(SPARK_CONNECT_AUTHENTICATE_TOKEN).
    type: str
  spark_conf:
    description:
      - Spark settings. They override the module's own.
      - A setting that looks like a secret is refused. Put it into O(spark_secret_conf).
    type: dict
    default: {}
  spark_secret_conf:
    description:
      - Spark settings that are secrets, such as V(spark.hadoop.fs.s3a.secret.key). They override O(spark_conf).
      - No output, log or command line shows them. An embedded Spark reads them from a private file.
      - A server in O(spark_remote) gets them only through TLS (V(sc://host:15002/;use_ssl=true)).
    type: dict
    default: {}
requirements:
  - pyspark[connect] >= 4.3
  - pandas >= 2.2, < 3
  - Java 17 or newer, unless O(spark_remote) is given
"""
