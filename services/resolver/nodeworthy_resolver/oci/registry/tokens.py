"""What a registry is shown: names and passwords, or tokens from its token server, kept until shortly before they expire.

Distribution's "Token Authentication" (anonymous, with a password, and with a refresh token) and HTTP's Basic. A token is
good for one scope, so it is kept by (host, service, scope, identity); a second repository gets its own.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

import msgspec
from yarl import URL

from nodeworthy.errors import RegistryContentError, RegistryDeniedError
from nodeworthy_resolver.oci import reference
from nodeworthy_resolver.oci.registry import answers, challenges
from nodeworthy_resolver.oci.registry.answers import Answer
from nodeworthy_resolver.oci.registry.challenges import Challenge
from nodeworthy_resolver.oci.registry.credential import Credential
from nodeworthy_resolver.oci.registry.credentials import Credentials
from nodeworthy_resolver.oci.registry.tls import Tls
from nodeworthy_resolver.oci.registry.transport import Request, Send

DEFAULT_LIFETIME = 60.0
"""Seconds, where a token server does not say (distribution, "Token Response Fields")."""
_MAX_LIFETIME = 24 * 3600.0
"""A token that claims more is asked for again after a day; ECR's live for 12 hours."""
_MARGIN = 0.9
"""Part of the lifetime that is used: a token must still be good when the request arrives."""
MAX_REPOSITORIES = 1000
"""Repositories of which tokens are remembered; a service that sees more begins anew, which costs it some requests."""
_MAX_TOKEN_BYTES = 256 * 1024
_CLIENT_ID = "nodeworthy"

_TOKEN = re.compile(r"[!-~]+")
"""What may stand in a header; anything else could add headers of its own."""


@dataclass(frozen=True)
class Token:
    """A token, and the moment of the clock from which another one is needed."""

    value: str = field(repr=False)
    good_until: float


class _TokenAnswer(msgspec.Struct):
    token: str | None = None
    access_token: str | None = None
    expires_in: float | None = None


def parse_token(body: bytes, now: float, source: str) -> Token:
    """The token in a token server's answer: ``{"token": "...", "expires_in": 300}``, or ``access_token`` in its place.

    Raises:
        RegistryContentError: no such answer.
    """
    try:
        found = msgspec.json.decode(body, type=_TokenAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RegistryContentError(
            f"{source} gave no token", why="its answer is not the JSON that it should be"
        ) from error
    value = found.token or found.access_token or ""
    if not _TOKEN.fullmatch(value):
        raise RegistryContentError(f"{source} gave no token", why="its answer holds none that can be sent")
    lifetime = found.expires_in if found.expires_in and found.expires_in > 0 else DEFAULT_LIFETIME
    return Token(value, now + min(lifetime, _MAX_LIFETIME) * _MARGIN)


def choose_challenge(headers: tuple[str, ...]) -> Challenge | None:
    """The way in that is taken: a token where the registry has them, else Basic; ``None`` if it offers neither."""
    offered = {challenge.scheme: challenge for challenge in reversed(challenges.parse_challenges(headers))}
    bearer = offered.get("bearer")
    if bearer is not None and bearer.parameter("realm"):
        return bearer
    return offered.get("basic")


class TokenAuthorizer:
    """Remembers, for one client, what each registry asked for and the tokens that it was given."""

    def __init__(self, credentials: Credentials, *, clock: Callable[[], float]) -> None:
        self._credentials = credentials
        self._clock = clock
        self._challenges: dict[tuple[str, str, str], Challenge] = {}
        self._tokens: dict[tuple[str, str, str, Credential | None], Token] = {}
        self._locks: dict[tuple[str, str, str], asyncio.Lock] = {}

    async def header(self, request: Request, send: Send) -> str | None:
        """What to show at once: something is known when this repository was asked for the same actions before."""
        key = _key(request)
        challenge = self._challenges.get(key)
        if challenge is None:
            return None
        async with self._lock(key):
            return await self._header(request, challenge, send)

    async def renew(self, request: Request, refused: Answer, shown: str | None, send: Send) -> str | None:
        """What to show after a 401; what was refused is forgotten, so that a stale token is not shown again."""
        challenge = choose_challenge(refused.challenges)
        if challenge is None:
            return None
        key = _key(request)
        async with self._lock(key):
            self._challenges[key] = challenge
            for name, token in tuple(self._tokens.items()):
                if f"Bearer {token.value}" == shown:
                    del self._tokens[name]
            return await self._header(request, challenge, send)

    async def explain(self, request: Request, refused: Answer) -> str:
        """Whether the stored credentials were refused themselves, or are good and do not allow what was asked for."""
        key = _credentials_key(request.url)
        credential = await self._credentials.find(key, request.repository)
        if credential is None:
            return ""
        challenge = self._challenges.get(_key(request))
        is_direct = challenge is None or challenge.scheme == "basic" or bool(credential.registry_token)
        if is_direct and refused.status == 401:  # noqa: PLR2004 # HTTP's number
            return f"{_name(credential, key)} were sent and refused"
        return f"{_name(credential, key)} were sent, and do not allow it"

    def _lock(self, key: tuple[str, str, str]) -> asyncio.Lock:
        """Requests that start together wait for one token instead of asking for one each."""
        if key not in self._locks and len(self._locks) >= MAX_REPOSITORIES:
            self._challenges.clear()
            self._tokens.clear()
            self._locks = {name: lock for name, lock in self._locks.items() if lock.locked()}
        return self._locks.setdefault(key, asyncio.Lock())

    async def _header(self, request: Request, challenge: Challenge, send: Send) -> str | None:
        credential = await self._credentials.find(_credentials_key(request.url), request.repository)
        if challenge.scheme == "basic":
            return credential.basic if credential and credential.username else None
        if credential and credential.registry_token:
            return f"Bearer {credential.registry_token}"
        scope = challenge.parameter("scope") or f"repository:{request.repository}:{request.actions}"
        key = (request.url.authority, challenge.parameter("service"), scope, credential)
        token = self._tokens.get(key)
        if token is None or token.good_until <= self._clock():
            token = self._tokens[key] = await self._fetch(request, challenge, scope, credential, send)
        return f"Bearer {token.value}"

    async def _fetch(
        self, request: Request, challenge: Challenge, scope: str, credential: Credential | None, send: Send
    ) -> Token:
        realm = _parse_realm(challenge.parameter("realm"), request.url)
        started = self._clock()
        if credential and credential.identity_token:
            asked = _refresh_request(realm, challenge.parameter("service"), scope, credential)
        else:
            asked = _token_request(realm, challenge.parameter("service"), scope, credential)
        answer = await send(_as_from(request, asked))
        if answer.status != 200:  # noqa: PLR2004 # HTTP's number
            raise _refused(answer, request, credential)
        return parse_token(answer.body, started, answers.display(answer.url))


def _as_from(request: Request, asked: Request) -> Request:
    """The request for a token with what is set for the registry's host: the trust always, the rest on the very same host."""
    if asked.url.origin() == request.url.origin():
        return replace(asked, own_headers=request.own_headers, tls=request.tls)
    return replace(asked, tls=request.tls and Tls(request.tls.others, request.tls.others))


def _key(request: Request) -> tuple[str, str, str]:
    return request.url.authority, request.repository, request.actions


def _credentials_key(url: URL) -> str:
    """By host and, where it is not the scheme's own, port: as the image's name has it."""
    return reference.credentials_key(url.authority)


def _parse_realm(text: str, registry: URL) -> URL:
    """The token server's address. A registry behind TLS must not send our password to one without."""
    host = answers.display_host(registry)
    try:
        realm = URL(text)
        realm = realm.with_user(None) if realm.host else realm  # the login is ours, or there is none
    except ValueError:
        realm = URL()
    if realm.scheme not in {"http", "https"} or not realm.host:
        raise RegistryContentError(f"{host} asks for a token from {text[:100]!r}", why="that is no web address")
    if registry.scheme == "https" and realm.scheme != "https":
        where = answers.display_host(realm)
        raise RegistryContentError(f"{host} asks for a token from {where}", why="over HTTP without TLS")
    return realm


def _token_request(realm: URL, service: str, scope: str, credential: Credential | None) -> Request:
    """A GET with one ``scope`` parameter each: token servers differ in whether they split a list."""
    parameters = [("service", service)] if service else []
    parameters += [("scope", one) for one in scope.split()]
    headers = {"Authorization": credential.basic} if credential and credential.username else {}
    return Request("GET", realm.extend_query(parameters), _MAX_TOKEN_BYTES, headers)


def _refresh_request(realm: URL, service: str, scope: str, credential: Credential) -> Request:
    """A POST that exchanges an identity token (distribution, "Docker Registry v2 authentication using OAuth2")."""
    form = {"grant_type": "refresh_token", "service": service, "client_id": _CLIENT_ID, "scope": scope}
    body = urlencode(form | {"refresh_token": credential.identity_token}).encode()
    return Request("POST", realm, _MAX_TOKEN_BYTES, {"Content-Type": "application/x-www-form-urlencoded"}, body)


def _refused(answer: Answer, request: Request, credential: Credential | None) -> Exception:
    host = answers.display_host(request.url)
    if answer.status not in {400, 401, 403}:
        return answers.refusal(answer, f"a token for {host}")
    why = answers.describe_refusal(answer)
    if credential is None:
        return RegistryDeniedError(f"{host} lets nobody in without a login", why=why, todo=f"docker login {host}")
    key = _credentials_key(request.url)
    return RegistryDeniedError(
        f"{host} does not accept the stored login",
        why=f"{_name(credential, key)} were sent, and {why}",
        todo=f"docker login {host}, or name a file with other credentials by --registry-config",
    )


def _name(credential: Credential, key: str) -> str:
    """Credentials as messages name them: ``the stored credentials for registry.example:5000 (from /home/me/...)``."""
    return f"the stored credentials for {key} (from {credential.source})"
