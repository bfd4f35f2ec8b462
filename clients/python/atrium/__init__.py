"""Client of Atrium's HTTP API.

    from atrium import Atrium

    client = Atrium("https://atrium.example.com", os.environ["ATRIUM_KEY"])
    template = client.prompt_templates.get(template_id)
    for event in client.events.list():
        print(event["type"])

Every method of a resource is one operation of the API. Calls that may be repeated are repeated: a call that creates or
changes something has an Idempotency-Key, the same for each attempt, so that it takes effect once.
"""

from __future__ import annotations

import os
from typing import Callable, Optional, Union

from . import _api_gen as types
from ._api_gen import Resources
from ._core import VERSION as __version__
from ._core import Attempt, Caller, Observer, Options, Outcome, Pages, ResponseInfo, logged
from ._errors import AtriumConnectionError, AtriumError, Cancelled, NotModified
from ._events import ServerEvent
from ._presence import KeepPresence
from ._prompts import Prompt, Prompts
from ._render import RenderedPrompt, RenderError, render
from ._secret import SecretError
from ._transport import Request, Response, Transport, urllib_transport
from ._visitor import sign_visitor
from ._webhook import WebhookError, verify_webhook

__all__ = [
    "Atrium",
    "AtriumConnectionError",
    "AtriumError",
    "Attempt",
    "Cancelled",
    "KeepPresence",
    "NotModified",
    "Observer",
    "Options",
    "Outcome",
    "Pages",
    "Prompt",
    "Prompts",
    "RenderError",
    "RenderedPrompt",
    "Request",
    "Response",
    "ResponseInfo",
    "SecretError",
    "ServerEvent",
    "Transport",
    "WebhookError",
    "__version__",
    "render",
    "sign_visitor",
    "types",
    "urllib_transport",
    "verify_webhook",
]


class Atrium(Resources):
    """Calls one Atrium server with one credential. Its repr shows no credential.

    base_url: the address of the server, such as https://atrium.example.com.
    token: an API key or a token of an issuer, or a function that returns one before each attempt. Spaces and line
        breaks around it are ignored; raises SecretError if it cannot be one.
    workspace: id or slug, if the credential gives access to several.
    max_retries: how often a call is repeated.
    timeout: seconds for each attempt of a call. Streams have no limit.
    transport: sends requests, instead of urllib.
    observe: called before each attempt; the function that it returns is called after it. For logs, metrics and traces.

    The logger "atrium" gets a warning when a prompt is replaced by its fallback, once in an outage. If the variable
    ATRIUM_CLIENT_LOG is debug, it also gets each attempt of a call, and writes to the standard error.
    """

    def __init__(
        self,
        base_url: str,
        token: Union[str, Callable[[], str], None] = None,
        *,
        workspace: Optional[str] = None,
        max_retries: int = 2,
        timeout: float = 30,
        transport: Optional[Transport] = None,
        observe: Optional[Observer] = None,
    ) -> None:
        if os.environ.get("ATRIUM_CLIENT_LOG") == "debug":
            observe = logged(observe)
        caller = Caller(base_url, token, workspace, max_retries, timeout, transport, observe)
        super().__init__(caller)
        self._caller = caller
        #: Prompts from memory, as applications need them.
        self.prompts = Prompts(self.prompt_templates)

    def __repr__(self) -> str:
        return f"<Atrium {self._caller.base_url}>"
