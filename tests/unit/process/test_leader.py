"""Whether a replica acts, and what becomes of one that lost the Lease."""

import os
import subprocess
import sys

import pytest

from mfu_operator.adapters.cluster.lease import LEASE_DURATION_S, REQUEST_TIMEOUT_S
from mfu_operator.cycle.backoff import Backoff
from mfu_operator.errors import Retry
from mfu_operator.process.leader import MARGIN_S, RENEW_S, Leader
from mfu_operator.reconcile.conclude import Failure

FAILS = Retry("ClusterUnreachable", "503")


class LeaseDouble:
    """A Lease that a test gives and takes; `fails` is raised instead while it is set, and `takes_s` goes by."""

    def __init__(self) -> None:
        self.holder: str | None = None
        self.fails: Retry | None = None
        self.released = False
        self.takes_s = 0.0
        self.elapsed_s = 100.0

    def hold(self, now_s: float) -> bool:
        self.elapsed_s += self.takes_s
        if self.fails is not None:
            raise self.fails
        return self.holder in (None, "me")

    def release(self) -> None:
        if self.fails is not None:
            raise self.fails
        self.released = True


class Replica:
    """A leader, and whether its process was ended."""

    def __init__(self) -> None:
        self.lease = LeaseDouble()
        self.ended = 0
        self.leader = Leader(self.lease, lambda: 0.0, 15.0, lambda: self.lease.elapsed_s, self._end)

    def _end(self) -> None:
        self.ended += 1


@pytest.fixture
def replica() -> Replica:
    return Replica()


def test_a_replica_acts_while_it_holds_the_lease(replica: Replica) -> None:
    assert not replica.leader.acting
    replica.leader.renew()
    assert replica.leader.acting
    assert replica.ended == 0


def test_one_that_never_held_it_stands_by_and_lives(replica: Replica) -> None:
    replica.lease.holder = "another"
    for _ in range(20):
        replica.leader.renew()
        replica.lease.elapsed_s += RENEW_S
    assert (replica.leader.acting, replica.ended) == (False, 0)


def test_one_whose_lease_another_took_acts_no_more_and_ends(replica: Replica) -> None:
    replica.leader.renew()
    replica.lease.holder = "another"
    replica.leader.renew()
    assert (replica.leader.acting, replica.ended) == (False, 1)


def test_one_that_cannot_ask_acts_for_as_long_as_nobody_else_may_and_then_ends(replica: Replica) -> None:
    replica.leader.renew()
    replica.lease.fails = FAILS
    replica.lease.elapsed_s += RENEW_S
    replica.leader.renew()
    assert (replica.leader.acting, replica.ended) == (True, 0)
    replica.lease.elapsed_s = 100.0 + 15.0 - MARGIN_S
    assert not replica.leader.acting
    replica.leader.renew()
    assert replica.ended == 1


def test_one_that_stood_still_for_a_minute_ends_even_where_nobody_took_over(replica: Replica) -> None:
    replica.leader.renew()
    replica.lease.elapsed_s += 60.0
    assert not replica.leader.acting
    replica.leader.renew()
    assert (replica.leader.acting, replica.ended) == (False, 1)


def test_one_whose_renewal_hangs_stops_acting_before_another_may_take_over(replica: Replica) -> None:
    replica.leader.renew()
    replica.lease.elapsed_s = 112.9
    assert replica.leader.acting
    replica.lease.elapsed_s = 113.0
    assert not replica.leader.acting


def test_a_renewal_holds_from_when_it_was_begun(replica: Replica) -> None:
    replica.lease.takes_s = 16.0
    replica.leader.renew()
    assert not replica.leader.acting


def test_a_renewal_that_hangs_and_one_more_fit_into_the_lease() -> None:
    assert RENEW_S + REQUEST_TIMEOUT_S + RENEW_S < LEASE_DURATION_S - MARGIN_S


def test_the_lease_is_given_back_at_the_end_and_only_by_its_holder() -> None:
    holder, other = Replica(), Replica()
    other.lease.holder = "another"
    for each in (holder, other):
        each.leader.start()
        each.leader.renew()
        each.leader.stop()
        assert not each.leader.acting
    assert (holder.lease.released, other.lease.released) == (True, False)


def test_a_lease_that_cannot_be_given_back_does_not_keep_the_process(replica: Replica) -> None:
    replica.leader.renew()
    replica.lease.fails = FAILS
    replica.leader.stop()
    assert not replica.leader.acting


def test_the_process_that_lost_it_ends_at_once_whatever_is_under_way() -> None:
    program = (
        "import threading, time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from mfu_operator.process.leader import Leader\n"
        "class Lease:\n"
        "    held = True\n"
        "    def hold(self, now_s): return self.held\n"
        "    def release(self): pass\n"
        "ThreadPoolExecutor(1).submit(time.sleep, 600)\n"
        "lease = Lease(); leader = Leader(lease, time.time)\n"
        "leader.renew(); lease.held = False\n"
        "threading.Thread(target=leader.renew).start()\n"
        "time.sleep(600)\n"
    )
    found = {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", program], env=found, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "the Lease was lost" in ended.stderr


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
