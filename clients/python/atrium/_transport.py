from __future__ import annotations

import collections
import http.client
import ssl
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Callable, Deque, Dict, Optional, Protocol

from ._errors import Cancelled


@dataclass
class Request:
    """One HTTP request. Its repr shows no header and no body, which can hold secrets."""

    method: str
    url: str = field(repr=False)
    headers: Dict[str, str] = field(repr=False)
    body: Optional[bytes] = field(repr=False)
    timeout: Optional[float]


class Body(Protocol):
    """The body of a response."""

    def read(self) -> bytes: ...

    def readline(self) -> bytes: ...

    def close(self) -> None: ...


@dataclass
class Response:
    """One HTTP response. Headers have lower-case names."""

    status: int
    headers: Dict[str, str] = field(repr=False)
    body: Body = field(repr=False)


#: Sends a request. Raises OSError or http.client.HTTPException if there is no response.
Transport = Callable[[Request], Response]


class _Lines:
    """A body whose readline raises if the response ends too early. That of http.client then returns nothing."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self._lines: Deque[bytes] = collections.deque()
        self._rest = b""

    def read(self) -> bytes:
        return self._response.read()

    def readline(self) -> bytes:
        while not self._lines:
            chunk = self._response.read1(1 << 16)
            if not chunk:
                rest, self._rest = self._rest, b""
                return rest
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._lines.extend(lines)
        return self._lines.popleft() + b"\n"

    def close(self) -> None:
        self._response.close()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The API has no redirects, and they would show the credential to others."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


def urllib_transport(context: Optional[ssl.SSLContext] = None) -> Transport:
    """A transport on urllib, which uses the proxies of the environment."""
    opener = urllib.request.build_opener(_NoRedirect(), urllib.request.HTTPSHandler(context=context))

    def send(request: Request) -> Response:
        made = urllib.request.Request(request.url, request.body, request.headers, method=request.method)
        try:
            answer = opener.open(made, timeout=request.timeout)
        except urllib.error.HTTPError as e:  # every status that is no success
            return Response(e.code, {k.lower(): v for k, v in e.headers.items()}, e)
        except urllib.error.URLError as e:
            raise e.reason if isinstance(e.reason, OSError) else OSError(str(e.reason)) from None
        return Response(answer.status, {k.lower(): v for k, v in answer.headers.items()}, _Lines(answer))

    return send


#: What a transport can raise.
FAILURES = (OSError, http.client.HTTPException)


def sleep(seconds: float, cancel: Optional[threading.Event]) -> None:
    """Waits, or raises Cancelled."""
    if cancel is None:
        time.sleep(seconds)
    elif cancel.wait(seconds):
        raise Cancelled("cancelled")
