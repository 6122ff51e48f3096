"""Both stores pass the whole suite that ships with the package."""

from amber.testing import (
    CONFORMANCE,
    AddConformance,
    BadInputConformance,
    ClosedConformance,
    CommitConformance,
    ExpectationConformance,
    ImmutableConformance,
    LogConformance,
    LookupConformance,
    MoveConformance,
    NetEffectConformance,
    PurgeConformance,
    QueueConformance,
    ReachConformance,
    RetentionConformance,
    RuleConformance,
    ScanConformance,
    SearchConformance,
    SpaceConformance,
    TextsConformance,
    UnchangedConformance,
    UniqueConformance,
    VerifyConformance,
    WaitConformance,
)


class TestCommit(CommitConformance):
    pass


class TestClosed(ClosedConformance):
    pass


class TestNetEffect(NetEffectConformance):
    pass


class TestBadInput(BadInputConformance):
    pass


class TestExpectation(ExpectationConformance):
    pass


class TestUnchanged(UnchangedConformance):
    pass


class TestUnique(UniqueConformance):
    pass


class TestRule(RuleConformance):
    pass


class TestImmutable(ImmutableConformance):
    pass


class TestAdd(AddConformance):
    pass


class TestScan(ScanConformance):
    pass


class TestLookup(LookupConformance):
    pass


class TestLog(LogConformance):
    pass


class TestQueue(QueueConformance):
    pass


class TestSearch(SearchConformance):
    pass


class TestTexts(TextsConformance):
    pass


class TestPurge(PurgeConformance):
    pass


class TestReach(ReachConformance):
    pass


class TestRetention(RetentionConformance):
    pass


class TestMove(MoveConformance):
    pass


class TestSpace(SpaceConformance):
    pass


class TestVerify(VerifyConformance):
    pass


class TestWait(WaitConformance):
    pass


def test_no_class_of_the_suite_is_left_out() -> None:
    here = {base for each in globals().values() if isinstance(each, type) for base in each.__bases__}
    assert here >= set(CONFORMANCE)
