from __future__ import annotations

import hashlib
import hmac
import time

from ._secret import checked


def sign_visitor(secret: str, visitor: str, *, lasts: int = 86400) -> str:
    """Returns the signature with which your backend vouches for a visitor of an embedded chat, for a number of seconds.

    The secret is the visitor_secret of the embed token, and never belongs in a page. Put the signature into
    data-visitor-signature beside data-visitor. Raises SecretError for a secret that cannot be one.
    """
    until = int(time.time()) + lasts
    key = checked("secret of the embed token", secret).encode()
    return f"{until}.{hmac.new(key, f'{until}.{visitor}'.encode(), hashlib.sha256).hexdigest()}"
