"""One step in this process, as Ansible would run it in one of its own."""

import contextlib
import faulthandler
import gc
import io
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible.module_utils.testing import patch_module_args

from wire.course import Step

MODULES = "ansible_collections.streamops.kafka_recovery.plugins.modules"
# More than a hundred times the request_timeout of a disturbed step: what takes so long does not end, also on a busy machine.
HANGS_SECONDS = 30
MOST_MEGABYTES = 300


class Hang(BaseException):
    """It has not ended."""


def run(step: Step, options: Mapping[str, Any], hangs_seconds: int = HANGS_SECONDS) -> dict[str, Any]:
    """The result that the module prints. Hang, or whatever it raises, if it does not end with one."""
    module = import_module(f"{MODULES}.{step.module}")
    printed = io.StringIO()
    arguments = {**options, "_ansible_check_mode": step.check, "_ansible_diff": True}
    with _as_before(hangs_seconds), patch_module_args(arguments), contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        module.main()
    result: dict[str, Any] = json.loads(printed.getvalue().strip().splitlines()[-1])
    return result


def verdict(result: Mapping[str, Any]) -> str | None:
    """What is wrong with a result, None where it is a right one or one clear error."""
    text = json.dumps(result)
    if "exception" in result or "Traceback" in text:
        return f"a traceback: {str(result.get('exception', text))[-2000:]}"
    message = str(result.get("msg", ""))
    if result.get("failed") and not message:
        return "a failure without a message"
    if any(not (letter.isprintable()) for letter in message):
        return f"a message that is not printable: {message!r}"
    return None


@dataclass
class Peak:
    """What a process has taken more at its peak than at the beginning."""

    bytes: int = 0


@contextmanager
def peak_growth() -> Iterator[Peak]:
    """How much this process grows. It may be a large one already, because of what ran before."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak until now
    before, peak = resident_bytes(), Peak()
    try:
        yield peak
    finally:
        peak.bytes = _status_bytes("VmHWM") - before


def resident_bytes() -> int:
    """What this process takes now."""
    return _status_bytes("VmRSS")


def bare_bytes() -> int:
    """What a process takes that can run modules, and has run none. This one may be large, because of other tests."""
    program = "from wire import fuzz, run; print(run.resident_bytes())"
    return int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)


def _status_bytes(name: str) -> int:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[name].split()[0]) << 10


@contextmanager
def _as_before(hangs_seconds: int) -> Iterator[None]:
    """A module changes how its process deals with signals and garbage."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)}

    def hang(_number: int, _frame: Any) -> None:
        faulthandler.dump_traceback()
        raise Hang

    signal.signal(signal.SIGALRM, hang)
    signal.alarm(hangs_seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        gc.unfreeze()
        gc.enable()
        for thread in threading.enumerate():
            if thread is not threading.main_thread() and not thread.daemon:
                thread.join(hangs_seconds)
                if thread.is_alive():
                    raise Hang(f"thread {thread.name} does not end")
