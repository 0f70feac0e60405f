"""State keys spread the shards of a stream evenly over any number of tasks; needs no Java."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.spark.plan.state_keys import EVEN, NUMBERS, StateKeys, default_tasks, key_of_hash, murmur3_int

INTS = st.integers(-(2**31), 2**31 - 1)


def busiest(keys: StateKeys, numbers, tasks: int) -> int:
    return max(Counter(keys.task(number, tasks) for number in numbers).values())


@given(INTS)
def test_each_hash_has_one_key(value: int) -> None:
    assert key_of_hash(murmur3_int(value)) == value == murmur3_int(key_of_hash(value))


@pytest.mark.parametrize(("value", "hashed"), [(0, 933211791), (1, -559580957), (-1, -1604776387)])
def test_the_hash_is_that_of_spark(value: int, hashed: int) -> None:
    assert murmur3_int(value) == hashed


@given(st.sampled_from([EVEN, NUMBERS]), st.integers(1, 2000), st.integers(0, 2**24))
def test_a_key_leads_back_to_its_shard(kind: str, shards: int, number: int) -> None:
    keys = StateKeys(kind, shards)
    assert keys.number(keys.key(number)) == number
    assert keys.key(number) != keys.key(number + 1)


@pytest.mark.parametrize("tasks", [8, 16, 32, 64, 128, 256])
@pytest.mark.parametrize("shards", [32, 64, 128, 256, 512, 1024])
def test_the_busiest_task_has_at_most_1_3_times_the_mean(shards: int, tasks: int) -> None:
    keys, mean = StateKeys(EVEN, shards), max(shards / tasks, 1)
    for fragment in range(3):
        assert busiest(keys, range(fragment * shards, (fragment + 1) * shards), tasks) <= 1.3 * mean


@given(st.integers(1, 300), st.integers(1, 80), st.integers(0, 50))
def test_no_task_has_more_than_one_shard_above_another(shards: int, tasks: int, fragment: int) -> None:
    numbers = range(fragment * shards, (fragment + 1) * shards)
    assert busiest(StateKeys(EVEN, shards), numbers, tasks) == -(-shards // tasks)


def test_fragments_on_one_shard_run_on_different_tasks() -> None:
    assert busiest(StateKeys(EVEN, 64), range(0, 64 * 16, 64), 16) == 1


def test_the_keys_of_old_checkpoints_are_the_numbers_of_the_shards() -> None:
    assert StateKeys(NUMBERS, 64).key(70) == 70
    assert busiest(StateKeys(NUMBERS, 64), range(64), 16) == 8


@pytest.mark.parametrize(("shards", "cores", "tasks"), [(64, 2, 4), (64, 40, 40), (64, 200, 64), (1, 2, 1), (40, 2, 3)])
def test_the_default_number_of_tasks_is_enough_for_the_shards(shards: int, cores: int, tasks: int) -> None:
    assert default_tasks(shards, cores) == tasks
