"""Whether a replica acts, and how long a failing step waits."""

from mfu_operator.errors import Retry
from mfu_operator.reconcile.conclude import Failure
from mfu_operator.runtime.backoff import Backoff
from mfu_operator.runtime.leader import Leader


class LeaseDouble:
    """A Lease that a test gives and takes; `fails` is raised instead while it is set."""

    def __init__(self) -> None:
        self.holder: str | None = None
        self.fails: Retry | None = None
        self.released = False

    def hold(self, now_s: float) -> bool:
        if self.fails is not None:
            raise self.fails
        return self.holder in (None, "me")

    def release(self) -> None:
        if self.fails is not None:
            raise self.fails
        self.released = True


def test_a_replica_acts_while_it_holds_the_lease() -> None:
    lease = LeaseDouble()
    leader = Leader(lease, lambda: 0.0)
    assert not leader.acting
    leader.renew()
    assert leader.acting
    lease.holder = "another"
    leader.renew()
    assert not leader.acting


def test_a_replica_that_cannot_ask_does_not_act() -> None:
    lease = LeaseDouble()
    leader = Leader(lease, lambda: 0.0)
    leader.renew()
    lease.fails = Retry("ClusterUnreachable", "503")
    leader.renew()
    assert not leader.acting


def test_a_replica_whose_renewal_hangs_stops_acting_when_another_may_have_taken_over() -> None:
    elapsed = [100.0]
    leader = Leader(LeaseDouble(), lambda: 0.0, duration_s=15.0, elapsed=lambda: elapsed[0])
    leader.renew()
    elapsed[0] = 114.9
    assert leader.acting
    elapsed[0] = 115.0
    assert not leader.acting
    leader.renew()
    assert leader.acting


def test_a_renewal_holds_from_when_it_was_begun() -> None:
    elapsed = [100.0]

    class Slow(LeaseDouble):
        def hold(self, now_s: float) -> bool:
            elapsed[0] += 16.0
            return True

    leader = Leader(Slow(), lambda: 0.0, duration_s=15.0, elapsed=lambda: elapsed[0])
    leader.renew()
    assert not leader.acting


def test_the_lease_is_given_back_at_the_end_and_only_by_its_holder() -> None:
    lease, others = LeaseDouble(), LeaseDouble()
    others.holder = "another"
    for each in (lease, others):
        leader = Leader(each, lambda: 0.0)
        leader.start()
        leader.renew()
        leader.stop()
        assert not leader.acting
    assert (lease.released, others.released) == (True, False)


def test_a_lease_that_cannot_be_given_back_does_not_keep_the_process() -> None:
    lease = LeaseDouble()
    leader = Leader(lease, lambda: 0.0)
    leader.renew()
    lease.fails = Retry("ClusterUnreachable", "503")
    leader.stop()
    assert not leader.acting


FAILURE = Failure("ProposalFailed", "ForgeUnreachable", "")


def test_conditions_wait_apart_from_each_other() -> None:
    backoff = Backoff(15.0)
    backoff.fail(FAILURE, 100.0)
    assert not backoff.due("ProposalFailed", 114.9)
    assert backoff.due("ProposalFailed", 115.0)
    assert backoff.due("ProfilingFailed", 100.0)
    assert backoff.standing() == (FAILURE,)


def test_the_same_generation_again_forgets_nothing() -> None:
    backoff = Backoff(15.0)
    backoff.renew(1)
    backoff.fail(FAILURE, 100.0)
    backoff.renew(1)
    assert backoff.standing() == (FAILURE,)
    backoff.renew(2)
    assert backoff.standing() == ()


def test_what_is_done_later_outlives_what_had_failed_before() -> None:
    backoff = Backoff(15.0)
    backoff.fail(FAILURE, 100.0)
    backoff.outlived_by("ProposalFailed")
    assert backoff.standing() == (FAILURE,)
    backoff.outlived_by("ProfilingFailed")
    assert backoff.standing() == ()
