from __future__ import annotations

import hashlib
import hmac
import time

from ._secret import checked


def sign_visitor(secret: str, visitor: str, *, lasts: int = 86400, attributes: str = "") -> str:
    """Returns the signature with which your backend vouches for a visitor of an embedded chat, for a number of seconds.

    The secret is the visitor_secret of the embed token, and never belongs in a page. Put the signature into
    data-visitor-signature beside data-visitor. With attributes, the text of a JSON object, the page must pass exactly
    this text as data-visitor-attributes. Raises SecretError for a secret that cannot be one.
    """
    until = int(time.time()) + lasts
    key = checked("secret of the embed token", secret).encode()
    text = f"{until}.{visitor}"
    if attributes:
        text = f"a{until}.{hashlib.sha256(attributes.encode()).hexdigest()}.{visitor}"
    return f"{until}.{hmac.new(key, text.encode(), hashlib.sha256).hexdigest()}"
