"""One timer for many tasks: those that are late are cancelled, and no others."""

import asyncio

import pytest

from parasphere.service.deadlines import Deadlines


async def sleeping(deadlines: Deadlines, seconds: float) -> str:
    task = deadlines.begin()
    try:
        await asyncio.sleep(seconds)
        return "done"
    except asyncio.CancelledError:
        if not deadlines.missed(task):
            raise
        await asyncio.sleep(0)  # it can go on
        return "late"
    finally:
        deadlines.end(task)


def test_late_tasks_are_cancelled_one_after_another() -> None:
    async def ask() -> list[str]:
        deadlines, asked = Deadlines(0.3), []
        for seconds in (60.0, 0.0, 60.0, 0.05):
            asked.append(asyncio.create_task(sleeping(deadlines, seconds)))
            await asyncio.sleep(0.1)
        assert not asked[0].done() or asked[0].result() == "late"
        return await asyncio.gather(*asked)

    assert asyncio.run(ask()) == ["late", "done", "late", "done"]


def test_nobody_is_held_and_the_timer_ends_with_the_last() -> None:
    async def ask() -> Deadlines:
        deadlines = Deadlines(0.05)
        assert await asyncio.gather(*(sleeping(deadlines, 0.0) for _ in range(20))) == ["done"] * 20
        assert not deadlines._due
        await asyncio.sleep(0.2)
        return deadlines

    assert asyncio.run(ask())._timer is None


def test_who_is_cancelled_by_others_is_not_late() -> None:
    async def ask() -> None:
        task = asyncio.create_task(sleeping(Deadlines(60), 60))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(ask())
