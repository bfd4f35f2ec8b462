from __future__ import annotations


class SecretError(ValueError):
    """An API key, a token or another secret that no server has issued: it has a space, a line break or a character
    beyond ASCII inside. The error does not contain the secret."""


def checked(name: str, secret: str) -> str:
    """A secret without the spaces and line breaks around it, which files and mounted secrets often have.

    Raises SecretError if a character inside is not visible ASCII. name is what the caller calls it.
    """
    text = secret.strip(" \t\r\n")
    if not all("!" <= c <= "~" for c in text):
        raise SecretError(f"the {name} is not valid: it contains a space, a line break or a character beyond ASCII")
    return text
