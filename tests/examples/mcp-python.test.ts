/**
 * examples/mcp, by the client of MCP's Python SDK, where a Python with the package `mcp` is at hand: `MCP_PYTHON` names one.
 * @needs latchkey-mcp, latchkey-client-documents
 */
import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { decodeJwt, exportJWK, exportPKCS8, generateKeyPair } from 'jose'
import { expect, test } from 'vitest'
import { startDocumentHost } from '../support/document-host.ts'
import { DOCUMENT, EXAMPLE, type Known, REDIRECT } from '../support/mcp.ts'
import { startServer } from '../support/server.ts'
import { answerOf, goThrough, SEED } from '../support/sign-in.ts'
import { createUserAgent } from '../support/user-agent.ts'
import { createCertificate } from '../support/deployed.ts'

const PYTHON = process.env['MCP_PYTHON'] ?? 'python3'
const without = whyNot()
if (without !== undefined)
  console.warn(
    `!!! No Python with the package mcp (MCP_PYTHON names one), so its SDK is NOT tested: ${without}`,
  )

function whyNot(): string | undefined {
  try {
    execFileSync(PYTHON, ['-c', 'import mcp.client.auth.extensions.client_credentials'], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return String(error).split('\n').findLast((line) => line !== '')
  }
} // prettier-ignore

const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
const pem = await exportPKCS8(privateKey)
const host = await startDocumentHost(await createCertificate('localhost'))

async function start() {
  const reports = {
    client_id: 'reports', grant_types: ['client_credentials'], token_endpoint_auth_method: 'private_key_jwt', scope: 'notes:read',
    jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] },
  }
  return startServer(
    {
      OIDC_PROFILE: 'mcp', OIDC_REGISTRATION: 'open', OIDC_REGISTRATION_SCOPES: 'notes:read,notes:write', PLUGINS: EXAMPLE, UNSAFE_OUTBOUND_ORIGINS: host.origin,
    },
    { seed: { ...SEED, clients: [reports] } },
  )
} // prettier-ignore

test.skipIf(without !== undefined).each([
  ['a document', () => ({ document: host.publish('python.json', DOCUMENT) })],
  ['registration', () => ({})],
  ['a key', () => ({ key: pem })],
])('a client of the Python SDK that is known by %s is in, steps up and refreshes', async (way, known) => {
  const server = await start()
  const isPerson = way !== 'a key'
  const write = ['add_note', { text: 'from Python' }]
  const calls = isPerson ? [['list_notes', {}], write, ['end', {}], ['list_notes', {}]] : [['list_notes', {}]]
  const given = {
    url: `${server.url}/mcp`,
    issuer: server.url,
    metadata: { ...DOCUMENT, redirect_uris: [REDIRECT] },
    calls,
    ...known(),
  }
  const said: Known = {}
  const results: unknown[] = []
  const asked: URL[] = []
  const child = spawn(PYTHON, [join(import.meta.dirname, 'client.py'), JSON.stringify(given)])
  const errors: string[] = []
  child.stderr.on('data', (text) => errors.push(String(text)))
  const agent = createUserAgent(server.url)
  for await (const line of createInterface(child.stdout)) {
    const word = JSON.parse(line) as Known
    Object.assign(said, word)
    if ('result' in word) results.push(word['result'])
    if (!('authorize' in word)) continue
    const url = new URL(String(word['authorize']))
    asked.push(url)
    child.stdin.write(`${answerOf(await goThrough(agent, await agent.get(url))).toString()}\n`)
  }
  if (said['tokens'] === undefined) throw new Error(errors.join(''))
  expect(results).toEqual(isPerson ? ['', 'Added.', 'from Python'] : [''])
  expect(asked.map(({ searchParams }) => searchParams.get('resource'))).toEqual(asked.map(() => `${server.url}/mcp`))
  expect(asked).toHaveLength(isPerson ? 2 : 0)
  const { access_token } = said['tokens'] as Known
  expect(decodeJwt(String(access_token))).toMatchObject({ aud: `${server.url}/mcp`, client_id: said['client'] })
  await server.close()
}) // prettier-ignore
