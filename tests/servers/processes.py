"""Server processes on loopback: started on free ports, as somebody who is not root, and never outliving the tests."""

from __future__ import annotations

import atexit
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

HOST = "127.0.0.1"
#: Seconds that a server has to come up or to end.
PATIENCE = 60.0
_random = random.SystemRandom()
#: PostgreSQL refuses root.
NOBODY = 65534


def free_port() -> int:
    """Give a port that nobody listens on now, below those that the system gives to clients: none of them takes it while
    its server is down."""
    while True:
        port = _random.randrange(20_000, 32_000)
        with socket.socket() as each:
            try:
                each.bind((HOST, port))
            except OSError:
                continue
        return port


def data_folder(name: str) -> Path:
    """Make a new folder with a short path (sockets have room for 107 bytes), owned by who runs the servers."""
    folder = Path(tempfile.mkdtemp(prefix=f"amber-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if is_root():
        os.chown(folder, NOBODY, NOBODY)
    return folder


def is_root() -> bool:
    """Tell whether the tests run as root, so that servers need another user."""
    return os.geteuid() == 0


def command(args: Sequence[str | Path], *, dies_with_us: int | None = None) -> list[str]:
    """Give the command that runs ``args`` as nobody when we are root; and gets a signal when this process is gone."""
    changes = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if is_root() else []
    if dies_with_us is not None:
        changes += ["--pdeathsig", signal.Signals(dies_with_us).name.removeprefix("SIG")]
    return [*(["setpriv", *changes] if changes else []), *map(str, args)]


def run(args: Sequence[str | Path], *, cwd: Path | None = None) -> str:
    """Run a program of a server to its end and give what it printed."""
    done = subprocess.run(command(args), cwd=cwd or "/", capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{args[0]} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Process:
    """A server that can be stopped, killed and started again, on the same port and data.

    :param args: its command line. :param log: the file that it prints to. :param ready: tells when it answers.
    :param death: the signal that it gets when the tests are gone.
    """

    def __init__(
        self,
        args: Sequence[str | Path],
        log: Path,
        ready: Callable[[], bool],
        *,
        quit_with: int = signal.SIGTERM,
        death: int = signal.SIGKILL,
    ) -> None:
        self._args, self._log, self._ready = args, log, ready
        self._quit_with, self._death = quit_with, death
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._running is not None, "not started"
        return self._running.pid

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self._log.open("ab") as out:
            self._running = subprocess.Popen(
                command(self._args, dies_with_us=self._death),
                cwd=self._log.parent,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                # Away from the terminal: Ctrl-C is for the tests, which end their servers themselves.
                start_new_session=True,
            )
        until = time.monotonic() + PATIENCE
        while not self._ready():
            if self._running.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{self._args[0]} did not come up: {self._log.read_text()[-3000:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it in order; nothing when it does not run."""
        self._end(self._quit_with)

    def kill(self) -> None:
        """Kill it as kill -9 does."""
        self._end(signal.SIGKILL)

    def _end(self, how: int) -> None:
        if self._running is not None and self._running.poll() is None:
            self._running.send_signal(how)
            try:
                self._running.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._running.kill()
                self._running.wait(PATIENCE)
        self._running = None


def listens(port: int) -> bool:
    """Tell whether somebody takes connections at a port."""
    try:
        with socket.create_connection((HOST, port), 1.0):
            return True
    except OSError:
        return False
