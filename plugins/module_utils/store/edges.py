# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options whose value is a URL in an object store: they become paths of this process, and what a module returns has the URL again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import LOCAL_PREFIX, has_url
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store import urls
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import StoreMount, check_library, mounted, shared_folder

WORKDIR = "workdir"
# What stays on this machine, too: copies of disks (`rescue/<cluster>/copy-<broker>`) on their way into the saved records.
COPIES, COPY_PREFIX = "rescue", "copy-"


def local_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have a URL in them, with paths. Mounts what they name: the workdir, and for other URLs the folder that they are in.

    Raises RecoveryError for a URL that is not valid, FileError if a store cannot be read.
    """
    found: dict[str, StoreMount] = {}
    given = options.get(WORKDIR)
    if isinstance(given, str) and has_url(given):
        url = urls.checked(WORKDIR, given)
        found[url] = mounted(url)
    return {option: _local(option, value, found) for option, value in options.items() if has_url(value)}


def _local(option: str, value: Any, found: dict[str, StoreMount]) -> Any:
    if isinstance(value, Mapping):
        return {key: _local(option, item, found) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_local(option, item, found) for item in value]
    return _path(option, value, found) if has_url(value) else value


def _path(option: str, value: str, found: dict[str, StoreMount]) -> str:
    url = value.rstrip("/")
    mount = next((mount for mount in found.values() if urls.is_below(mount.url, url)), None)
    if mount is None:
        folder = urls.checked(option, url).rpartition("/")[0]
        mount = found[folder] = mounted(urls.checked(option, folder), lists=False)  # what reads a folder lists it
    names = url.removeprefix(mount.url).strip("/").split("/")
    if not {".", ".."}.isdisjoint(names):
        urls.checked(option, url)
    return str(_place(mount.root, mount.shared, names))


def _place(root: Path, shared: Path, names: list[str]) -> Path:
    """Return where the file of these names is: in the folder of the process, or in that of the machine."""
    stays = any(name.startswith(LOCAL_PREFIX) for name in names) or (
        names[0] == COPIES and any(name.startswith(COPY_PREFIX) for name in names[2:])
    )
    return (shared if stays else root).joinpath(*names)


def machine_path(workdir: str, *names: str) -> Path:
    """Return where a file of a workdir that stays on this machine is. `workdir`: a path or a URL, as an option has it."""
    if has_url(workdir):
        return shared_folder(urls.checked(WORKDIR, workdir)).joinpath(*names)
    return Path(workdir).expanduser().absolute().joinpath(*names)


def read_url(url: str) -> bytes:
    """Return the content of a file in a store. Raises RecoveryError if the URL is not valid, OSError or FileError if the file cannot be read."""
    check_library(url)
    folder, _, name = urls.checked("the URL", url).rpartition("/")
    content, _etag = Client(folder).get(name)
    return content


@contextmanager
def local_workdir(workdir: str) -> Iterator[Path]:
    """Yield the folder of a workdir, for a reader in a process that goes on. One in a store is mounted in the block."""
    if not has_url(workdir):
        yield Path(workdir)
        return
    mount = mounted(urls.checked(WORKDIR, workdir))
    try:
        yield mount.root
    finally:
        mount.close()
