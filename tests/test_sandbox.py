from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from siddhi import SandboxPolicy


def test_a_policy_allows_nothing_by_default() -> None:
    policy = SandboxPolicy()
    assert not any((policy.environment, policy.scripts, policy.references, policy.extensions, policy.folders))
    assert not any((policy.sources, policy.sinks, policy.mappers, policy.stores, policy.error_store, policy.statistics))
    assert None not in (
        policy.max_text,
        policy.max_queries,
        policy.max_events,
        policy.max_duration_ms,
        policy.max_threads,
    )


def test_a_trusted_policy_limits_nothing() -> None:
    trusted = SandboxPolicy.trusted()
    assert (trusted.max_text, trusted.max_queries, trusted.max_partitions, trusted.max_threads) == (None,) * 4
    assert trusted == SandboxPolicy.trusted()
    assert trusted != SandboxPolicy()


def test_a_policy_is_a_value(tmp_path: Path) -> None:
    policy = SandboxPolicy(environment=["A"], sinks={"mail": ["smtp://h/"]}, folders=[tmp_path])
    same = SandboxPolicy(environment={"A"}, sinks={"mail": ("smtp://h/",)}, folders=(str(tmp_path),))
    assert policy == same
    assert hash(policy) == hash(same)
    assert pickle.loads(pickle.dumps(policy)) == copy.deepcopy(policy) == policy
    with pytest.raises(AttributeError):
        policy.error_store = True  # type: ignore[misc]
    with pytest.raises(TypeError):
        policy.sinks["log"] = ("*",)  # type: ignore[index]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("environment", "PATH"),
        ("environment", {"PATH": "x"}),
        ("environment", {1}),
        ("scripts", "python"),
        ("folders", "/data"),
        ("folders", (1,)),
        ("sources", ("inMemory",)),
        ("sources", {"inMemory": "topic"}),
        ("sources", {1: ("topic",)}),
        ("error_store", 1),
        ("max_events", "5"),
        ("max_events", True),
    ],
)
def test_a_field_of_another_type_is_refused(field: str, value: object) -> None:
    with pytest.raises(TypeError):
        SandboxPolicy(**{field: value})  # type: ignore[arg-type]


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="max_queries"):
        SandboxPolicy(max_queries=-1)
