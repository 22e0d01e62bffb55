# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One folder of an object store, read and written through obstore: every request with the time that it may take, and with the meaning of its error."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

with suppress(ImportError):  # `mount.mounted` names what is missing
    import obstore
    from obstore import exceptions
    from obstore.store import from_url

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.environment import check_environment

T = TypeVar("T")

# How long a store that does not answer, or answers that it cannot now, gets a request again.
PATIENCE = 90.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
CONNECT_SECONDS, SMALL_SECONDS, BULK_SECONDS = 5, 20, 900
SMALL_BYTES = 1 << 20  # more takes the time of a slow line
# Far more than any journal, and any folder of a workdir has: who may write to the store must not decide how much memory and time a task takes.
MOST_BYTES, MOST_OBJECTS = 1 << 30, 1_000_000
STATUS, CODE = re.compile(r"status code: (\d{3})"), re.compile(r"<Code>(\w{1,60})</Code>")
NO_BUCKET = re.compile("NoSuchBucket|ContainerNotFound")  # the second one is Azure's
EXPIRED = re.compile("ExpiredToken|InvalidToken")  # S3 answers these with status 400
# By the scheme of URLs: which variables of the environment say where the store is.
ADDRESS = {
    "s3": "AWS_ENDPOINT_URL, AWS_REGION",
    "gs": "GOOGLE_BASE_URL",
    "az": "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ENDPOINT",
}
CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY",
}
# 408, 409 and 429 go away: S3 answers 409 if two conditional writes meet.
TRANSIENT = {408, 409, 429}
NOT_IMPLEMENTED = 501
# What obstore says of an answer without a status of its own.
OTHER_REGION, NO_ETAG, NO_PATH = "redirect without LOCATION", "ETag Header missing", "object with invalid path"


class Stored(NamedTuple):
    """An object as the store lists it."""

    etag: str | None
    size: int
    modified: float  # seconds since 1970 of the store's clock


class Etag(str):
    """The ETag of an object that was read or written, with its generation: Google Cloud Storage compares that one when an object is replaced."""

    __slots__ = ("generation",)

    def __new__(cls, meta: Any) -> Etag:
        etag = super().__new__(cls, meta["e_tag"])
        etag.generation = meta.get("version")
        return etag

    generation: str | None


class ConflictError(FileError):
    """The condition of a write is not met: another run has written the object."""


class Client:
    """A folder of a store. `url`: for messages.

    Requests are not tried again by obstore: it would do that without a look at signals, and only here it is known whether an own write has arrived.
    """

    def __init__(self, url: str, seconds: float = SMALL_SECONDS) -> None:
        """`seconds`: maximum of a request that transfers little."""
        self.url, self._patience, self._variables = url, PATIENCE, ADDRESS[url.partition(":")[0]]
        check_environment(url, os.environ)
        self._small, self._bulk = self._opened(seconds), self._opened(BULK_SECONDS)

    def _opened(self, seconds: float) -> Any:
        options: Any = {"timeout": f"{seconds:g}s", "connect_timeout": f"{min(seconds, CONNECT_SECONDS):g}s"}
        if os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true", "yes"):
            options["allow_http"] = True
        retries: Any = {"max_retries": 0, "retry_timeout": timedelta(seconds=seconds)}
        try:
            return from_url(self.url, client_options=options, retry_config=retries)
        except (exceptions.BaseError, ValueError) as error:
            raise FileError(
                f"{self.url} cannot be used ({_text(error)}): check kafka_recovery_workdir, and the variables of the environment (docs/stores.md)"
            ) from error

    # --- reading ---------------------------------------------------------------------------------------------------

    def get(self, key: str, patience: float | None = None, most: int | None = None) -> tuple[bytes, str]:
        """Return content and ETag of a small object. Raises FileNotFoundError if it does not exist.

        Raises FileError without reading it if it has more than `most` bytes, by default MOST_BYTES.
        """
        return self._ask(key, lambda: self._read(key, MOST_BYTES if most is None else most), patience)

    def _read(self, key: str, most: int) -> tuple[bytes, str]:
        found = obstore.get(self._small, key)
        if (size := found.meta["size"]) > most:
            raise FileError(
                f"{self.url}/{key} has {size} bytes: this collection has not written it; make sure that no run works there, then remove it"
            )
        return bytes(found.bytes()), self._etag(found.meta)

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """Return the bytes of an object from `start` to `end`. Raises FileNotFoundError if it does not exist."""
        return self._ask(key, lambda: bytes(obstore.get_range(self._small, key, start=start, end=end)) if end > start else b"")

    def download(self, key: str, target: Path, known: str | None = None) -> str | None:
        """Write the content of an object to a file, and return its ETag, None if that is `known`. The file gets the time of the object.

        Raises FileNotFoundError as `get`, FileError without reading it if the disk has no room for it.
        """

        def write() -> str:
            found = obstore.get(self._bulk, key, options={} if known is None else {"if_none_match": known})
            if (size := found.meta["size"]) > (free := free_bytes(target.parent)):
                raise FileError(
                    f"{self.url}/{key} has {size} bytes, and {target.parent} has room for {free}: make room there (TMPDIR names another place), or remove "
                    "the object if this collection has not written it"
                )
            with target.open("wb") as stream:
                for chunk in found.stream():
                    stream.write(chunk)
            modified = found.meta["last_modified"].timestamp()
            os.utime(target, (modified, modified))
            return self._etag(found.meta)

        try:
            return self._ask(key, write)
        except exceptions.NotModifiedError:
            return None

    def list(self, prefix: str) -> dict[str, Stored]:
        """Return the objects below a folder, by key. `prefix`: the folder, empty for all."""

        def listed() -> dict[str, Stored]:
            found: dict[str, Stored] = {}
            for rows in obstore.list(self._small, prefix or None):
                found |= {row["path"]: _stored(row) for row in rows}
                if len(found) > MOST_OBJECTS:
                    raise FileError(
                        f"{self.url}/{prefix} has more than {MOST_OBJECTS} objects: remove the folders of old runs (docs/stores.md), and what this collection "
                        "has not written"
                    )
            return found

        return self._ask(prefix, listed)

    def list_top(self) -> tuple[dict[str, Stored], tuple[str, ...]]:
        """Return the objects of the folder itself, by key, and the names of the folders in it."""
        rows = self._ask("", lambda: obstore.list_with_delimiter(self._small))
        return {row["path"]: _stored(row) for row in rows["objects"]}, tuple(rows["common_prefixes"])

    # --- writing ---------------------------------------------------------------------------------------------------

    def put(self, key: str, content: bytes | Path, patience: float | None = None) -> str:
        """Write an object, whatever was there, and return its ETag. A large file goes in parts."""
        return self._ask(key, lambda: self._etag(obstore.put(self._for(content), key, content)), patience)

    def create(self, key: str, content: bytes) -> str:
        """Write an object that does not exist, and return its ETag. ConflictError if it exists with another content."""
        return self._put_if(key, content, "create", None)

    def replace(self, key: str, content: bytes, etag: str, patience: float | None = None) -> str:
        """Replace an object that has this ETag, and return the new one. ConflictError if it has another one, or is gone.

        Two writes with the same content have the same ETag: contents that decide who holds something must be different ones.
        """
        condition = {"e_tag": etag} if (generation := getattr(etag, "generation", None)) is None else {"e_tag": etag, "version": generation}
        return self._put_if(key, content, condition, patience)

    def _put_if(self, key: str, content: bytes, mode: Any, patience: float | None) -> str:
        def write() -> str:
            try:
                return self._etag(obstore.put(self._for(content), key, content, mode=mode, use_multipart=False))
            except (exceptions.NotFoundError, FileNotFoundError) as error:
                if NO_BUCKET.search(str(error)):
                    raise
                raise ConflictError(f"{self.url}/{key} was removed meanwhile by another run: run again when that has ended") from error
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError, exceptions.GenericError) as error:
                # The answer to a write that has arrived may be lost, and the same write be refused the next time. If the object cannot be read now, that is
                # not known, and both are tried again.
                if (arrived := self._has(key, content)) is not None:
                    return arrived
                if isinstance(error, exceptions.GenericError):
                    raise
                raise ConflictError(f"{self.url}/{key} was written meanwhile by another run: run again when that has ended") from error

        return self._ask(key, write, patience)

    def _has(self, key: str, content: bytes) -> str | None:
        """Return the ETag of an object that has this content, None if it has another one or does not exist. Raises obstore's errors."""
        with suppress(exceptions.NotFoundError, FileNotFoundError):
            found = obstore.get(self._for(content), key)
            if found.meta["size"] == len(content) and bytes(found.bytes()) == content:
                return self._etag(found.meta)
        return None

    def copy(self, key: str, target: str) -> None:
        """Copy an object in the store. Raises FileNotFoundError if it does not exist."""
        self._ask(key, lambda: obstore.copy(self._bulk, key, target))

    def remove(self, key: str) -> None:
        """Remove an object, if it exists."""
        with suppress(FileNotFoundError):
            self._ask(key, lambda: obstore.delete(self._small, key))

    def _for(self, content: bytes | Path) -> Any:
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        return self._small if size <= SMALL_BYTES else self._bulk

    # --- errors ----------------------------------------------------------------------------------------------------

    def _ask(self, key: str, request: Callable[[], T], patience: float | None = None) -> T:
        """Return what a request returns, tried again while the store cannot answer. Raises FileError with the remedy, ConflictError, FileNotFoundError."""
        deadline = time.monotonic() + (self._patience if patience is None else patience)
        pause = FIRST_PAUSE
        while True:
            try:
                return request()
            except (exceptions.NotFoundError, FileNotFoundError) as error:
                if NO_BUCKET.search(str(error)):
                    raise self._no_bucket() from error
                raise FileNotFoundError(2, os.strerror(2), f"{self.url}/{key}") from error
            except exceptions.NotModifiedError:
                raise
            except exceptions.BaseError as error:
                if (lasting := self._lasting(key, error)) is not None:
                    raise lasting from error
                if time.monotonic() + pause > deadline:
                    raise FileError(
                        f"{self.url} has not answered the request for {key or 'its list'} in time ({_text(error)}): run again when the store answers, or check "
                        f"its address ({self._variables})"
                    ) from error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _lasting(self, key: str, error: exceptions.BaseError) -> FileError | None:
        """Return the error for the operator, None if it may go away by itself. Only the text of an error of obstore has its status."""
        text = str(error)
        if NO_BUCKET.search(text):
            return self._no_bucket()
        if "builder error" in text:
            return FileError(f"{self.url} cannot be used: its address has no TLS, which needs AWS_ALLOW_HTTP=true in the environment")
        if OTHER_REGION in text:
            return FileError(f"{self.url} cannot be used: its bucket is in another region; name that in AWS_REGION")
        if NO_ETAG in text:
            return self._without_etag()
        if NO_PATH in text:
            return FileError(
                f"{self.url}/{key} cannot be listed: an object in it has a name that no path has ({_text(error)}), which this collection has not written; "
                "remove that object"
            )
        found = STATUS.search(text)
        status = int(found[1]) if found else 500
        denied = (
            isinstance(error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError))
            or status in (401, 403)
            or EXPIRED.search(text)
        )
        if denied:
            return FileError(
                f"{self.url} refuses the request for {key or 'its list'} ({_text(error)}): check the credentials in the environment "
                f"({CREDENTIALS[self.url.partition(':')[0]]}, or a role of this machine), and that they may read, write, list and remove there (docs/stores.md)"
            )
        if status == NOT_IMPLEMENTED:
            return FileError(
                f"{self.url} cannot be used: its store does not have conditional writes, or another request that is needed here ({_text(error)}); name one "
                "that does, such as S3, in kafka_recovery_workdir"
            )
        if status < 500 and status not in TRANSIENT:
            return FileError(
                f"{self.url} cannot be used ({_text(error)}): correct kafka_recovery_workdir, or the address of the store "
                f"({self._variables})"
            )
        return None

    def _etag(self, meta: Any) -> str:
        """Return the ETag of an answer. A store without ETags cannot say whether an object has changed."""
        if not meta["e_tag"]:
            raise self._without_etag()
        return Etag(meta)

    def _without_etag(self) -> FileError:
        return FileError(
            f"{self.url} cannot be used: its server answers without an ETag, so it cannot be known who writes; name another store in "
            "kafka_recovery_workdir, or correct AWS_ENDPOINT_URL"
        )

    def _no_bucket(self) -> FileError:
        return FileError(f"{self.url} cannot be used: its bucket or container does not exist; create it, or correct kafka_recovery_workdir")


def free_bytes(folder: Path) -> int:
    """Return how many bytes can be written to a folder."""
    return shutil.disk_usage(folder).free


def _stored(row: Any) -> Stored:
    return Stored(row["e_tag"], row["size"], row["last_modified"].timestamp())


def _text(error: Exception) -> str:
    """Return what an error of obstore says, without URLs, whose queries may have signatures."""
    status, code = STATUS.search(str(error)), CODE.search(str(error))
    if status is not None:
        return f"status {status[1]}" + (f", {code[1]}" if code is not None else "")
    return re.sub(r"\S+://\S+", "…", str(error).partition("\n")[0])[:300]
