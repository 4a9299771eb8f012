"""A language model behind the chat API that OpenAI defined and that vLLM, llama.cpp, Ollama and most hosts speak."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from graph_handoff.errors import ConfigError, HandoffError
from graph_handoff.extras import Extra

PACKAGES = Extra("router", "a language model over HTTP")
KEY = "OPENAI_API_KEY"
"""The environment variable with the key, where the host wants one: it is never part of a configuration."""
MAX_ANSWER = 16
"""Tokens that an answer may have."""


class EndpointError(HandoffError):
    """The model could not be asked, or did not answer as the API says."""


class Endpoint:
    """`endpoint(system, user, temperature) -> answer`, one request a call."""

    def __init__(self, url: str, model: str, timeout: float = 60.0) -> None:
        """`url` is what stands before `/chat/completions`, such as `http://localhost:8000/v1`; `timeout` in seconds. Raises
        ConfigError, also for an address with a password or a query: it is printed and recorded, and a key belongs in KEY."""
        _check(url)
        with PACKAGES:
            import httpx
        self._key = _key()
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        self.model = model
        self._client = httpx.Client(base_url=url.rstrip("/") + "/", headers=headers, timeout=timeout)

    def __call__(self, system: str, user: str, temperature: float = 0.0) -> str:
        """The answer's text. Raises EndpointError."""
        with PACKAGES:
            import httpx

        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        body = {"model": self.model, "messages": messages, "temperature": temperature, "max_tokens": MAX_ANSWER}
        try:
            answer = self._client.post("chat/completions", json=body)
            answer.raise_for_status()
            return str(answer.json()["choices"][0]["message"]["content"] or "")
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            said = str(error).replace(self._key, "...") if self._key else str(error)
            raise EndpointError(f"{self._client.base_url}: {type(error).__name__}: {said}") from error


def _check(url: str) -> None:
    """Raises ConfigError, which repeats no part of an address that may hold a secret."""
    allowed = "http://HOST:PORT/PATH"
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # brackets or a port that are none
        raise ConfigError("not the address of an endpoint", field="url", allowed=allowed) from None
    if parts.username or parts.password or parts.query or parts.fragment:
        problem = f"an address without user, password and query; a key belongs in the environment variable {KEY}"
        raise ConfigError(problem, field="url", allowed=allowed)
    if not whole:
        raise ConfigError("not the address of an endpoint", field="url", found=url, allowed=allowed)


def _key() -> str:
    """From the environment, without the line's end that a file of keys leaves there. Raises ConfigError for what no header can
    hold, and does not repeat it."""
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("holds characters that no key has", field=KEY)
    return key
