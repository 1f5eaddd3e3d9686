/** The clients of MCP's own TypeScript SDKs, against examples/mcp, and the browser that they send their user to. */
import * as sdk2 from '@modelcontextprotocol/client'
import * as auth1 from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { resolve } from 'node:path'
import { answerOf, goThrough } from './sign-in.ts'
import { createUserAgent } from './user-agent.ts'

export const EXAMPLE = resolve(import.meta.dirname, '../../examples/mcp/index.ts')
export const REDIRECT = 'http://localhost:53682/callback'
/** As Claude Code has it: this machine, without a port, and no application_type. */
export const DOCUMENT = {
  client_name: 'An MCP client',
  redirect_uris: ['http://localhost/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

export type Known = Record<string, unknown>

/** What both majors of the SDK have in common here. */
export interface McpClient {
  callTool(call: { name: string; arguments?: object }): Promise<unknown>
}

interface Sdk {
  UnauthorizedError: new (...args: never[]) => Error
  connect(url: URL, provider: unknown): Promise<McpClient>
  finish(url: URL, provider: unknown, answer: URLSearchParams): Promise<void>
}

const NAME = { name: 'test', version: '1.0.0' }

/** 1.x, of which most apps are, and 2.x. */
export const SDKS: Record<'1' | '2', Sdk> = {
  '1': {
    UnauthorizedError: auth1.UnauthorizedError,
    async connect(url, authProvider) {
      const client = new Client1(NAME)
      await client.connect(new Transport1(url, { authProvider: authProvider as auth1.OAuthClientProvider }))
      return client as McpClient
    },
    finish: async (url, authProvider, answer) =>
      new Transport1(url, { authProvider: authProvider as auth1.OAuthClientProvider }).finishAuth(
        answer.get('code')!,
      ),
  },
  '2': {
    UnauthorizedError: sdk2.UnauthorizedError,
    async connect(url, authProvider) {
      const client = new sdk2.Client(NAME)
      const options = { authProvider: authProvider as sdk2.OAuthClientProvider }
      await client.connect(new sdk2.StreamableHTTPClientTransport(url, options))
      return client as McpClient
    },
    finish: async (url, authProvider, answer) => {
      const options = { authProvider: authProvider as sdk2.OAuthClientProvider }
      await new sdk2.StreamableHTTPClientTransport(url, options).finishAuth(answer)
    },
  },
}

export interface App {
  sdk: Sdk
  url: URL
  provider: Known
  /** What it keeps. */
  kept: { client?: Known; tokens?: Known; verifier?: string; discovered?: Known; answer?: URLSearchParams }
  /** The addresses that it has sent its user to. */
  asked: URL[]
}

/** An app whose user signs in as Alice and allows everything; `more` is laid over its provider. */
export function createApp(issuer: string, sdk: Sdk, more: Known = {}): App {
  const kept: App['kept'] = {}
  const asked: URL[] = []
  const agent = createUserAgent(issuer)
  const provider = {
    redirectUrl: REDIRECT,
    clientMetadata: { ...DOCUMENT, redirect_uris: [REDIRECT] },
    clientInformation: () => kept.client,
    saveClientInformation: (client: Known) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens: Known) => void (kept.tokens = tokens),
    codeVerifier: () => kept.verifier ?? '',
    saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
    discoveryState: () => kept.discovered,
    saveDiscoveryState: (state: Known) => void (kept.discovered = state),
    async redirectToAuthorization(url: URL) {
      asked.push(url)
      kept.answer = answerOf(await goThrough(agent, await agent.get(url)))
    },
    ...more,
  }
  return { sdk, url: new URL(`${issuer}/mcp`), provider, kept, asked }
}

/** Connected, once its user has been where they were sent. */
export async function connect(app: App): Promise<McpClient> {
  const { sdk, url, provider } = app
  try {
    return await sdk.connect(url, provider)
  } catch (error) {
    if (!(error instanceof sdk.UnauthorizedError)) throw error
    await finish(app)
    return sdk.connect(url, provider)
  }
}

export async function finish({ sdk, url, provider, kept }: App): Promise<void> {
  await sdk.finish(url, provider, kept.answer!)
}

export const textOf = (result: unknown): string =>
  (result as { content: { text: string }[] }).content[0]!.text
