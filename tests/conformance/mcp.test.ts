/**
 * The authorization scenarios of MCP's own conformance suite (`npx @modelcontextprotocol/conformance authorization`), as it is
 * run by hand: a process of its own, whose printed address a person opens. Each check that it knows has to have run, and to hold.
 * Its clients have no secret: where a server allows `none`, it authenticates none of them, not even one that it knows a secret of.
 * @needs latchkey-mcp, latchkey-client-documents
 */
import { spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startDocumentHost } from '../support/document-host.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'
import { goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent, type Page } from '../support/user-agent.ts'

const SUITE = resolve(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
)
const EXAMPLE = resolve(import.meta.dirname, '../../examples/mcp/index.ts')
/** All that the suite says of an authorization server; a check that it learns is to be looked at. */
const CHECKS = [
  'authorization-code-grant',
  'authorization-server-metadata',
  'authorization-server-metadata-cimd',
]

const host = await startDocumentHost()
const [port, pathPort] = [await freePort(), await freePort()]
const callback = `http://127.0.0.1:${port}/callback`
const settings = { OIDC_PROFILE: 'mcp', UNSAFE_OUTBOUND_ORIGINS: host.origin }
const seed = {
  ...SEED,
  clients: [
    { client_id: 'public', redirect_uri: callback, token_endpoint_auth_method: 'none', scope: 'notes:read' },
  ],
} // prettier-ignore
const root = await startServer(
  { ...settings, PLUGINS: EXAMPLE, OIDC_REGISTRATION_SCOPES: 'notes:read' },
  { seed },
)
const below = await startServer(
  { ...settings, PORT: pathPort, OIDC_ISSUER: `http://127.0.0.1:${pathPort}/some/path` },
  { seed },
)

interface Check {
  id: string
  status: string
  errorMessage?: string
}

function locationOf({ headers, body }: Page): string {
  const location = headers.get('location')
  if (location === null) throw new Error(`no redirect: ${body}`)
  return location
}

/** Runs it, opens the address that it prints as the user, and returns what it has written of its checks. */
async function run(server: TestServer, revision: string, more: Record<string, string>): Promise<Check[]> {
  const results = await temporaryDirectory()
  const options = { url: server.url, port: String(port), 'spec-version': revision, 'output-dir': results, ...more }
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const child = spawn(process.execPath, [SUITE, 'authorization', ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  const said: string[] = []
  child.stderr.on('data', (text) => said.push(String(text)))
  const agent = createUserAgent(server.url)
  for await (const line of createInterface(child.stdout)) {
    said.push(`${line}\n`)
    if (!line.startsWith(`${server.url}/authorize?`)) continue
    const end = await goThrough(agent, await agent.get(line))
    await fetch(locationOf(end))
  }
  const files = (await readdir(results, { recursive: true })).filter((name) => name.endsWith('checks.json'))
  const checks = await Promise.all(files.map(async (name) => JSON.parse(await readFile(join(results, name), 'utf8')) as Check[]))
  const all = checks.flat()
  const ids = all.map(({ id }) => id).toSorted()
  if (ids.join() !== CHECKS.join()) throw new Error(`it has checked ${ids.join()}: ${said.join('')}`)
  return all
} // prettier-ignore

test.each([
  ['a document', '2026-07-28', root, () => ({ 'client-id': host.publish('client.json', { redirect_uris: [callback] }) })],
  ['a document, for a resource', '2026-07-28', root, () => ({ 'client-id': host.at('client.json'), resource: `${root.url}/mcp` })],
  ['registration', '2026-07-28', root, () => ({ 'client-id': 'public', resource: `${root.url}/mcp` })],
  ['registration, for no resource', '2025-11-25', root, () => ({ 'client-id': 'public' })],
  ['a document, at an issuer with a path', '2026-07-28', below, () => ({ 'client-id': host.at('client.json') })],
] as const)('a client known by %s: all that revision %s checks holds', async (_way, revision, server, more) => {
  const checks = await run(server, revision, more())
  expect(checks.filter(({ status }) => status !== 'SUCCESS')).toEqual([])
}) // prettier-ignore
