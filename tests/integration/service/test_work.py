"""The thread that computes: merging, failures of one job, and its end."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from parasphere.service.work import MERGED, Work


def held(gate: threading.Event) -> Callable[[list[Any]], list[Any]]:
    """Return a function that computes nothing until a gate opens."""

    def wait(items: list[Any]) -> list[Any]:
        assert gate.wait(10)
        return items

    return wait


def test_what_waits_for_the_same_is_computed_at_once() -> None:
    calls: list[list[int]] = []

    def doubled(items: list[int]) -> list[int]:
        calls.append(items)
        return [2 * item for item in items]

    async def ask() -> list[list[int]]:
        gate = threading.Event()
        with Work() as work:
            first = work.do(held(gate), [None])
            asked = [work.do(doubled, [n, n + 100], key="double") for n in range(5)]
            alone = work.do(doubled, [7])
            gate.set()
            await first
            return [*(await asyncio.gather(*asked)), await alone]

    assert asyncio.run(ask()) == [[2 * n, 2 * n + 200] for n in range(5)] + [[14]]
    assert [len(items) for items in calls] == [10, 1]


def test_merges_have_a_limit_and_large_jobs_are_not_cut() -> None:
    sizes: list[int] = []

    def counted(items: list[int]) -> list[int]:
        sizes.append(len(items))
        return items

    async def ask() -> None:
        gate = threading.Event()
        with Work() as work:
            first = work.do(held(gate), [None])
            asked = [work.do(counted, [0] * n, key="k") for n in (MERGED - 1, 2, 1, 3 * MERGED)]
            gate.set()
            await asyncio.gather(first, *asked)

    asyncio.run(ask())
    assert sizes == [MERGED, 2, 3 * MERGED]


def test_the_fault_of_one_is_not_that_of_others() -> None:
    def inverse(items: list[float]) -> list[float]:
        return [1 / item for item in items]

    async def ask() -> list[Any]:
        gate = threading.Event()
        with Work() as work:
            first = work.do(held(gate), [None])
            asked = [work.do(inverse, [n], key="inverse") for n in (1.0, 0.0, 4.0)]
            gate.set()
            await first
            return await asyncio.gather(*asked, return_exceptions=True)

    one, failed, quarter = asyncio.run(ask())
    assert (one, quarter) == ([1.0], [0.25])
    assert isinstance(failed, ZeroDivisionError)


def test_what_nobody_waits_for_is_not_computed_and_the_rest_is_before_the_end() -> None:
    done: list[str] = []

    async def ask() -> None:
        gate = threading.Event()
        with Work() as work:
            work.do(held(gate), [None])
            work.do(lambda items: done.append("cancelled") or items, [None]).cancel()
            last = work.do(lambda items: done.append("last") or items, [None])
            gate.set()
        assert not work.alive
        await last

    asyncio.run(ask())
    assert done == ["last"]


@pytest.mark.parametrize("fault", [SystemExit, MemoryError])
def test_no_fault_ends_the_thread(fault: type[BaseException]) -> None:
    def fail(_: list[Any]) -> list[Any]:
        raise fault

    async def ask() -> bool:
        with Work() as work:
            with pytest.raises((RuntimeError, MemoryError)):
                await work.do(fail, [None])
            return (await work.do(lambda items: items, [1])) == [1]

    assert asyncio.run(ask())


def test_short_work_is_computed_in_the_loop_and_at_once() -> None:
    calls: list[tuple[str, int]] = []

    def inverse(items: list[float]) -> list[float]:
        calls.append((threading.current_thread().name, len(items)))
        return [1 / item for item in items]

    async def ask() -> list[Any]:
        gate = threading.Event()
        with Work() as work:
            long = work.do(held(gate), [None])  # which short work does not wait for
            asked = [work.do(inverse, [n], key="inverse", short=True) for n in (1.0, 2.0, 4.0)]
            found = await asyncio.gather(*asked)
            failing = [work.do(inverse, [n], key="inverse", short=True) for n in (0.0, 8.0)]
            found += await asyncio.gather(*failing, return_exceptions=True)
            gate.set()
            await long
            return found

    *halves, failed, eighth = asyncio.run(ask())
    assert (halves, eighth) == ([[1.0], [0.5], [0.25]], [0.125])
    assert isinstance(failed, ZeroDivisionError)
    assert calls == [(threading.main_thread().name, n) for n in (3, 2, 1, 1)]


def test_short_work_that_comes_turn_by_turn_is_computed_at_once() -> None:
    calls: list[list[int]] = []

    def counted(items: list[int]) -> list[int]:
        calls.append(items)
        return items

    async def ask() -> None:
        with Work() as work:
            asked = []
            for n in range(5):  # one in each turn of the loop
                asked.append(work.do(counted, [n], key="k", short=True))
                await asyncio.sleep(0)
            await asyncio.gather(*asked)

    asyncio.run(ask())
    assert calls == [[0, 1, 2, 3, 4]]


def test_short_work_is_computed_though_more_comes_all_the_time() -> None:
    sizes: list[int] = []

    def counted(items: list[int]) -> list[int]:
        sizes.append(len(items))
        return items

    async def ask() -> None:
        with Work() as work:
            asked = []
            for _ in range(2 * MERGED):
                asked.append(work.do(counted, [0], key="k", short=True))
                await asyncio.sleep(0)
            await asyncio.gather(*asked)

    asyncio.run(ask())
    assert sizes == [MERGED, MERGED]
