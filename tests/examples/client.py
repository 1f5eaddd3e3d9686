"""A client by the Python SDK of MCP: where its user is to go is a line on stdout, what came back one on stdin."""

import asyncio
import json
import sys
from urllib.parse import parse_qs

import httpx2
from mcp import ClientSession
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata


def say(what: str, value: object) -> None:
    print(json.dumps({what: value}), flush=True)


class Storage:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def redirect(url: str) -> None:
    say("authorize", url)


async def callback() -> AuthorizationCodeResult:
    line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    answer = {name: values[0] for name, values in parse_qs(line.strip()).items()}
    return AuthorizationCodeResult(**{k: answer.get(k) for k in ("code", "state", "iss")})


def provider(given: dict, storage: Storage):
    if "key" in given:
        signing = SignedJWTParameters(
            issuer="reports", subject="reports", signing_algorithm="ES256", signing_key=given["key"]
        )
        return PrivateKeyJWTOAuthProvider(
            given["url"],
            storage,
            "reports",
            signing.create_assertion_provider(),
            issuer=given["issuer"],
        )
    return OAuthClientProvider(
        server_url=given["url"],
        client_metadata=OAuthClientMetadata(**given["metadata"]),
        storage=storage,
        redirect_handler=redirect,
        callback_handler=callback,
        client_metadata_url=given.get("document"),
    )


async def main(given: dict) -> None:
    storage = Storage()
    auth = provider(given, storage)
    async with httpx2.AsyncClient(auth=auth, follow_redirects=True) as http:
        async with streamable_http_client(given["url"], http_client=http) as (read, write, *_):
            async with ClientSession(read, write) as session:
                await session.initialize()
                for name, arguments in given["calls"]:
                    if name == "end":
                        # As when it has expired.
                        auth.context.current_tokens.access_token = "ended"
                        auth.context.token_expiry_time = 1
                        continue
                    result = await session.call_tool(name, arguments)
                    say("result", result.content[0].text)
    say("tokens", storage.tokens.model_dump(mode="json"))
    say("client", auth.context.client_info.client_id)


asyncio.run(main(json.loads(sys.argv[1])))
