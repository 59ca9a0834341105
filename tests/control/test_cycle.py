"""The order of the stages, what a failure skips, and the pages that are not believed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tenure_control.cycle import SUMMARIES_KEPT, Cycle, CycleSummary
from tenure_control.stage.outcome import HELD, RACED, CandidateFault, PageError, StageError, StageSummary
from tenure_control.stage.walk import Bounds, walk
from tenure_postgres.error import Busy, Conflict, DatabaseError, Unavailable


class Stages:
    """Five stages that note their order; one of them may fail."""

    names = ("recovery", "retry", "schedule", "frontier", "admission")

    def __init__(self, failing: str | None = None, error: Exception | None = None) -> None:
        self.ran: list[str] = []
        self.recorded: list[CycleSummary] = []
        self._failing, self._error = failing, error

    def cycle(self) -> Cycle:
        """A cycle of them."""

        def stage(name: str) -> object:
            async def run() -> StageSummary:
                self.ran.append(name)
                if name == self._failing and self._error is not None:
                    raise self._error
                return StageSummary(name, scanned=1)

            return run

        return Cycle("abc", [(name, stage(name)) for name in self.names], record=self.recorded.append)  # type: ignore[misc]


async def test_the_stages_run_in_their_order() -> None:
    stages = Stages()
    summary = await stages.cycle().run()
    assert stages.ran == list(Stages.names)
    assert [stage.stage for stage in summary.stages] == stages.ran
    assert (summary.skipped, summary.failed_stage, summary.saturated) == ((), None, False)
    assert stages.recorded == [summary]


@pytest.mark.parametrize("failing", Stages.names)
async def test_a_failing_stage_skips_the_later_ones(failing: str) -> None:
    error = StageError(StageSummary(failing, scanned=7), "it failed")
    stages = Stages(failing, error)
    with pytest.raises(StageError) as caught:
        await stages.cycle().run()
    assert caught.value is error
    position = Stages.names.index(failing)
    (summary,) = stages.recorded
    assert stages.ran == list(Stages.names[: position + 1])
    assert summary.skipped == Stages.names[position + 1 :]
    assert summary.failed_stage == failing
    assert summary.stages[-1].scanned == 7


async def test_the_last_hundred_summaries_are_kept_newest_first() -> None:
    cycle = Stages().cycle()
    for _ in range(SUMMARIES_KEPT + 5):
        await cycle.run()
    numbers = [summary.number for summary in cycle.summaries]
    assert numbers == list(range(SUMMARIES_KEPT + 5, 5, -1))


def test_a_summary_is_saturated_only_by_progress() -> None:
    def summary(**counts: object) -> CycleSummary:
        stage = StageSummary("retry", truncated=True, **counts)  # type: ignore[arg-type]
        return CycleSummary(1, "abc", None, 1.0, (stage,))  # type: ignore[arg-type]

    assert summary(changed={"requeued": 1}).saturated
    assert summary(held=1).saturated
    assert not summary(raced=16).saturated


class Numbers:
    """A repository of numbers, which may lie."""

    def __init__(self, count: int, *, extra: int = 0, stuck: bool = False) -> None:
        self.handled: list[int] = []
        self._count, self._extra, self._stuck = count, extra, stuck

    async def look(self, after: int | None, limit: int) -> Sequence[int]:
        """A page."""
        first = 0 if after is None or self._stuck else after + 1
        return range(first, min(first + limit + self._extra, self._count))

    async def handle(self, number: int) -> str:
        """Count it by its last digit."""
        self.handled.append(number)
        return {0: RACED, 1: HELD}.get(number % 10, "moved")


async def test_pages_follow_each_other_up_to_the_bound() -> None:
    numbers = Numbers(100)
    summary = await walk("test", Bounds(8, 3), numbers.look, numbers.handle, key=lambda number: number)
    assert numbers.handled == list(range(24))
    assert (summary.pages, summary.scanned, summary.truncated) == (3, 24, True)
    assert (summary.raced, summary.held, dict(summary.changed)) == (3, 3, {"moved": 18})


async def test_the_end_is_known_without_an_empty_page() -> None:
    numbers = Numbers(16)
    summary = await walk("test", Bounds(8, 4), numbers.look, numbers.handle, key=lambda number: number)
    assert (summary.pages, summary.scanned, summary.truncated) == (2, 16, False)


async def test_without_a_continuation_there_is_one_page() -> None:
    numbers = Numbers(100)
    summary = await walk("test", Bounds(16), numbers.look, numbers.handle)
    assert (summary.pages, summary.scanned, summary.truncated) == (1, 16, True)


LIES = [(Numbers(100, extra=1), "a page of 10"), (Numbers(100, stuck=True), "does not advance")]


@pytest.mark.parametrize(("numbers", "reason"), LIES)
async def test_a_lying_repository_ends_the_stage(numbers: Numbers, reason: str) -> None:
    with pytest.raises(StageError, match=reason) as caught:
        await walk("test", Bounds(8, 4), numbers.look, numbers.handle, key=lambda number: number)
    assert isinstance(caught.value.__cause__, PageError)
    assert len(numbers.handled) <= 8


async def test_the_fault_of_one_candidate_spares_the_rest_and_then_fails_the_stage() -> None:
    numbers = Numbers(30)

    async def handle(number: int) -> str:
        if number == 3:
            raise CandidateFault("3", "digest_mismatch", "not what was admitted")
        if number == 4:
            raise Conflict("a guard refused it", "TN001")
        return await numbers.handle(number)

    with pytest.raises(StageError, match="digest_mismatch") as caught:
        await walk("test", Bounds(8, 4), numbers.look, handle, key=lambda number: number)
    assert len(numbers.handled) == 28
    assert caught.value.summary.faulty == 2
    assert caught.value.summary.changes == 22


RACES = [("55P03", True), ("40P01", True), ("40001", True), ("57014", False), (None, False)]


@pytest.mark.parametrize(("sqlstate", "raced"), RACES)
async def test_a_lock_is_a_race_and_a_time_out_is_not(sqlstate: str | None, raced: bool) -> None:
    async def handle(_: int) -> str:
        raise Busy("busy", sqlstate)

    if raced:
        assert (await walk("test", Bounds(8), Numbers(3).look, handle)).raced == 3
        return
    with pytest.raises(StageError):
        await walk("test", Bounds(8), Numbers(3).look, handle)


@pytest.mark.parametrize("error", [Unavailable("gone"), DatabaseError("a fault of the server")])
async def test_an_error_of_the_database_ends_the_stage_at_once(error: Exception) -> None:
    handled = []

    async def handle(number: int) -> str:
        handled.append(number)
        raise error

    with pytest.raises(StageError) as caught:
        await walk("test", Bounds(8), Numbers(3).look, handle)
    assert caught.value.__cause__ is error
    assert handled == [0]
