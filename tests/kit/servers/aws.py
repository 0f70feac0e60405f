"""A server with the interfaces of AWS (moto), for tests."""

from __future__ import annotations

import atexit
import itertools
from functools import cache
from typing import Any

REGION = "eu-west-1"
OPTIONS = f"region = '{REGION}', access.key = 'test', secret.key = 'test'"
BUCKET_OPTIONS = f"aws.region = '{REGION}', aws.access.key = 'test', aws.secret.key = 'test'"

_numbers = itertools.count()


@cache
def endpoint() -> str:
    """Return the URL of a server that runs until the tests end."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    atexit.register(server.stop)
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}"


@cache
def client(service: str) -> Any:
    import boto3

    made = boto3.session.Session().client(
        service, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test", endpoint_url=endpoint()
    )
    atexit.register(made.close)
    return made


class Bucket:
    """A bucket of one test."""

    def __init__(self) -> None:
        self.name = f"bucket{next(_numbers)}"
        self.client = client("s3")
        self.create()

    def create(self) -> None:
        self.client.create_bucket(Bucket=self.name, CreateBucketConfiguration={"LocationConstraint": REGION})

    def put(self, key: str, content: str | bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=content)

    def keys(self) -> list[str]:
        """Return the keys of the first 1000 objects."""
        return [one["Key"] for one in self.client.list_objects_v2(Bucket=self.name).get("Contents", ())]

    def contents(self) -> dict[str, bytes]:
        """Return what the objects contain, by key, in the order of the keys."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        found = {}
        for one in (one for page in pages for one in page.get("Contents", ())):
            with self.client.get_object(Bucket=self.name, Key=one["Key"])["Body"] as body:
                found[one["Key"]] = body.read()
        return found


class Queue:
    """A queue of one test."""

    def __init__(self, suffix: str = "", **attributes: str) -> None:
        self.name = f"q{next(_numbers)}{suffix}"
        self.url = client("sqs").create_queue(QueueName=self.name, Attributes=attributes)["QueueUrl"]

    def send(self, *bodies: str, **more: Any) -> None:
        for body in bodies:
            client("sqs").send_message(QueueUrl=self.url, MessageBody=body, **more)

    def take(self) -> list[dict[str, Any]]:
        """Return the messages that are visible; they are not any more."""
        found: list[dict[str, Any]] = []
        while (
            messages := client("sqs")
            .receive_message(QueueUrl=self.url, MaxNumberOfMessages=10, AttributeNames=["All"])
            .get("Messages")
        ):
            found += messages
        return found

    def delete(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            client("sqs").delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    @property
    def counts(self) -> tuple[int, int]:
        """Number of messages that are visible, and that are not."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = client("sqs").get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return int(found[names[0]]), int(found[names[1]])
