from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any, Generic, Iterator, List, Optional, TypeVar, Union

from ._transport import Body

T = TypeVar("T")


@dataclass
class ServerEvent(Generic[T]):
    """One server-sent event."""

    #: The kind of the event.
    name: str
    id: str
    #: None for events without data.
    data: Optional[T]


def read_events(
    body: Body, last: str, cancel: Optional[threading.Event]
) -> Iterator[Union[ServerEvent[Any], float]]:
    """Reads one response as the specification of server-sent events describes it. A float is the time to retry."""
    name = ""
    data: List[str] = []
    while cancel is None or not cancel.is_set():
        raw = body.readline()
        if not raw.endswith(b"\n"):
            return
        line = raw.decode().rstrip("\r\n")
        if not line:
            if name or data:
                text = "\n".join(data)
                yield ServerEvent(name or "message", last, json.loads(text) if text else None)
            name, data = "", []
            continue
        kind, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if kind == "event":
            name = value
        elif kind == "data":
            data.append(value)
        elif kind == "id":
            last = value
        elif kind == "retry" and value.isdigit():
            yield int(value) / 1000
