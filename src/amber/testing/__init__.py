"""The conformance suite that every store passes, and what tests of agents' memories need.

A backend of somebody else's runs the suite by giving one fixture and subclassing what it wants to be held to::

    import pytest
    from amber.testing import CommitConformance, words
    from my_backend import MyStore

    @pytest.fixture
    def make_store(tmp_path):
        stores = []

        def make(collections):
            stores.append(MyStore(tmp_path / f"{len(stores)}", collections, analyze=words))
            return stores[-1]

        yield make
        for store in stores:
            store.close()

    class TestCommit(CommitConformance):
        pass

``CONFORMANCE`` lists all classes. Each call of ``make_store`` gives a new, empty store.
"""

from amber.errors import MissingExtra

try:
    import pytest
except ImportError as error:
    raise MissingExtra("amber.testing needs pytest: run pip install pytest.", package="pytest") from error

_CONCERNS = (
    "commit",
    "net_effect",
    "bad_input",
    "expectations",
    "unique",
    "rules",
    "add",
    "scan",
    "lookup",
    "log",
    "queue",
    "search",
    "texts",
    "purge",
    "reach",
    "retention",
    "move",
    "wait",
    "whole",
)
# before they are imported, so that a failing assertion shows its values
pytest.register_assert_rewrite(
    *(f"{__name__}.conformance_{concern}" for concern in _CONCERNS), f"{__name__}.conformance", f"{__name__}.samples"
)

from amber.testing.clock import FakeClock  # noqa: E402
from amber.testing.conformance import Conformance  # noqa: E402
from amber.testing.conformance_add import AddConformance  # noqa: E402
from amber.testing.conformance_bad_input import BadInputConformance  # noqa: E402
from amber.testing.conformance_commit import ClosedConformance, CommitConformance  # noqa: E402
from amber.testing.conformance_expectations import ExpectationConformance, UnchangedConformance  # noqa: E402
from amber.testing.conformance_log import LogConformance  # noqa: E402
from amber.testing.conformance_lookup import LookupConformance  # noqa: E402
from amber.testing.conformance_move import MoveConformance  # noqa: E402
from amber.testing.conformance_net_effect import NetEffectConformance  # noqa: E402
from amber.testing.conformance_purge import PurgeConformance  # noqa: E402
from amber.testing.conformance_queue import QueueConformance  # noqa: E402
from amber.testing.conformance_reach import ReachConformance  # noqa: E402
from amber.testing.conformance_retention import RetentionConformance  # noqa: E402
from amber.testing.conformance_rules import ImmutableConformance, RuleConformance  # noqa: E402
from amber.testing.conformance_scan import ScanConformance  # noqa: E402
from amber.testing.conformance_search import SearchConformance  # noqa: E402
from amber.testing.conformance_texts import TextsConformance  # noqa: E402
from amber.testing.conformance_unique import UniqueConformance  # noqa: E402
from amber.testing.conformance_wait import WaitConformance  # noqa: E402
from amber.testing.conformance_whole import SpaceConformance, VerifyConformance  # noqa: E402
from amber.testing.samples import COLLECTIONS, MakeStore, words  # noqa: E402

#: Every class of the suite.
CONFORMANCE: tuple[type[Conformance], ...] = (
    CommitConformance,
    ClosedConformance,
    NetEffectConformance,
    BadInputConformance,
    ExpectationConformance,
    UnchangedConformance,
    UniqueConformance,
    RuleConformance,
    ImmutableConformance,
    AddConformance,
    ScanConformance,
    LookupConformance,
    LogConformance,
    QueueConformance,
    SearchConformance,
    TextsConformance,
    PurgeConformance,
    ReachConformance,
    RetentionConformance,
    MoveConformance,
    WaitConformance,
    SpaceConformance,
    VerifyConformance,
)

__all__ = [
    "CONFORMANCE",
    "COLLECTIONS",
    "Conformance",
    "FakeClock",
    "MakeStore",
    "words",
    "CommitConformance",
    "ClosedConformance",
    "NetEffectConformance",
    "BadInputConformance",
    "ExpectationConformance",
    "UnchangedConformance",
    "UniqueConformance",
    "RuleConformance",
    "ImmutableConformance",
    "AddConformance",
    "ScanConformance",
    "LookupConformance",
    "LogConformance",
    "QueueConformance",
    "SearchConformance",
    "TextsConformance",
    "PurgeConformance",
    "ReachConformance",
    "RetentionConformance",
    "MoveConformance",
    "WaitConformance",
    "SpaceConformance",
    "VerifyConformance",
]
