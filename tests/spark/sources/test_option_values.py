"""Values of options of Spark's readers and writers are checked before Spark runs; no Spark is needed."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkLoweringError
from siddhi.spark import SparkRuntime
from siddhi.spark.sources.option_values import value_instead


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("multiLine", "maybe", "true or false"),
        ("MULTILINE", "", "true or false"),
        ("multiline", "TRUE", None),
        ("maxFilesPerTrigger", "x", "an integer of at least 1"),
        ("maxFilesPerTrigger", "0", "an integer of at least 1"),
        ("maxFilesPerTrigger", "1.5", "an integer of at least 1"),
        ("maxFilesPerTrigger", "--5", "an integer of at least 1"),
        ("maxFilesPerTrigger", "3000000000", "an integer of at most 2147483647"),
        ("maxFilesPerTrigger", "+5", None),
        ("maxBytesPerTrigger", "3000000000", None),
        ("maxCachedFiles", "0", None),
        ("maxCharsPerColumn", "-1", None),
        ("maxCharsPerColumn", "-2", "an integer of at least -1"),
        ("cleanSource", "keep", "archive, delete or off"),
        ("cleanSource", "Archive", None),
        ("sep", "anything", None),
    ],
)
def test_valid_values_of_options(name, value, instead):
    assert value_instead(name, value) == instead


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@source(type = 'file', file.uri = '/in', timestamp = 'ts', @map(type = 'json', multiLine = 'maybe'))",
         "the file source of 'S' has the invalid multiLine 'maybe'.*line 1, column 0.*hint: use true or false"),
        ("@source(type = 'file', file.uri = '/in', timestamp = 'ts', maxFilesPerTrigger = 'x', @map(type = 'csv'))",
         "has the invalid maxFilesPerTrigger 'x'.*hint: use an integer of at least 1"),
        ("@sink(type = 'file', file.uri = '/out', @map(type = 'csv', quoteAll = 'no'))",
         "the file sink of 'S' has the invalid quoteAll 'no'"),
    ],
)  # fmt: skip
def test_option_values_of_an_app_are_checked(text, message):
    with pytest.raises(SparkLoweringError) as caught:
        SparkRuntime(f"{text} define stream S (ts long); from S select ts insert into O;", None)
    told = " ".join(str(caught.value).split())
    for part in message.split(".*"):
        assert part in told
