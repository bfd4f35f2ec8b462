from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import Any, Mapping, Optional, Sequence, Union

from ._secret import checked

_TOLERANCE = 300  # the most seconds between the time of a webhook and now


class WebhookError(Exception):
    """A webhook that is not genuine, or too old."""


def verify_webhook(
    body: Union[bytes, str],
    headers: Mapping[str, str],
    secrets: Union[str, Sequence[str]],
    *,
    now: Optional[float] = None,
) -> Any:
    """Returns the content of a webhook that one of the secrets signed within five minutes.

    It is checked as the Standard Webhooks specification describes. body must be exactly as it was received. Raises
    WebhookError, and ValueError for a secret that is not valid.
    """
    if not isinstance(body, (bytes, str)):
        raise TypeError("pass the raw body of the request, not one that was parsed")
    if not secrets:
        raise TypeError("the secret of the webhook is missing")
    found = {k.lower(): v for k, v in headers.items()}
    id, at, signatures = (found.get("webhook-" + k, "") for k in ("id", "timestamp", "signature"))
    if not id or not signatures or not (at.isascii() and at.isdigit() and len(at) <= 12):
        raise WebhookError("a header of the webhook is missing or invalid")
    if abs((time.time() if now is None else now) - int(at)) > _TOLERANCE:
        raise WebhookError("the webhook is too old or too new")
    text = body.encode() if isinstance(body, str) else body
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        encoded = checked("secret of the webhook", secret).removeprefix("whsec_")
        try:
            key = base64.b64decode(encoded, validate=True)
        except binascii.Error:
            key = b""
        if not key:
            raise ValueError("the secret of the webhook is not valid base64")
        want = b"v1," + base64.b64encode(hmac.new(key, f"{id}.{at}.".encode() + text, hashlib.sha256).digest())
        for signature in signatures.split(" "):
            if hmac.compare_digest(want, signature.encode("utf-8", "replace")):
                return json.loads(text)
    raise WebhookError("no signature of the webhook is valid")
