/** What was typed and names nobody: said on stderr beside the answer, and nothing of what is there. */
import { expect, test } from 'vitest'
import { runCommandHere } from '../support/command-here.ts'
import { rowsWith } from '../support/left-out.ts'
import { startServer } from '../support/server.ts'
import { SEED } from '../support/sign-in.ts'

const API = 'https://shelf.example'
const resources = [{ resource: API, aliases: ['https://old.example'], scopes: ['read_shelf'] }]
const server = await startServer({}, { seed: { ...SEED, resources } })
const settings = { ...server.settings, LOG_LEVEL: undefined }
const issuer = 'https://id.example'

/** The warning that names what is absent; nothing where all is there. */
async function told(...args: string[]): Promise<string> {
  const { status, stderr } = await runCommandHere(args, settings)
  const lines = stderr.split('\n').filter((line) => line.includes('nothing comes of these'))
  expect([status, lines.length < 2]).toEqual([0, true])
  return lines.join('')
}

const SAID = 'Not known here: nothing comes of these until they are'
const desk = ['client', 'create', '--client-id', 'desk', '--scope', 'read_shelf', '--grant-types', 'urn:ietf:params:oauth:grant-type:token-exchange', '--token-exchange'] // prettier-ignore

test.each([
  ...rowsWith('latchkey-token-exchange', [
    [[...desk, JSON.stringify([{ subject_clients: ['web', 'wbe'], actor_clients: ['nobody'], subject_issuers: [issuer], resources: ['https://old.example', 'https://shlf.example'], scopes: ['openid', 'read_shlf'] }])],
      `${SAID} (clients "wbe" "nobody", issuers "${issuer}", resources "https://shlf.example", scopes "read_shlf").`],
    [['client', 'update', 'web', '--token-exchange', JSON.stringify([{ subject_clients: ['web'], resources: [API], scopes: ['read_shelf'] }])], ''],
    [['client', 'update', 'web', '--token-exchange', JSON.stringify([{ subject_clients: ['web'], audiences: ['https://chat.example'], resources: ['https://chat.example/api'], scopes: ['chat'] }])], ''],
    [['client', 'update', 'web', '--token-exchange', JSON.stringify([{ subject_clients: ['web'], audiences: ['https://chat.example'], resources: ['https://chat.example/api'], audience_client: 'chat' }])], `${SAID} (clients "chat").`],
  ] satisfies [string[], string][]),
  ...rowsWith('latchkey-federated-jwt', [
    [['client', 'create', '--client-id', 'job', '--scope', 'read_shelf', '--grant-types', 'client_credentials', '--token-endpoint-auth-method', 'federated_jwt', '--federated-identity', `{"issuer":"${issuer}","subject":"job"}`],
      `${SAID} (issuers "${issuer}").`],
  ] satisfies [string[], string][]),
  [['trusted-issuer', 'create', 'https://login.example', '--jwks-uri', 'https://login.example/jwks', '--clients', 'web app', '--scopes', 'read_shelf read_shlf'],
    `${SAID} (clients "app", scopes "read_shlf").`],
  [['trusted-issuer', 'show', 'https://login.example'], ''],
  ...rowsWith('latchkey-registration', [
    [['initial-token', 'create', 'partners', '--scopes', 'read_boks,read_shelf', '--grant-types', 'devicecode,client_credentials'],
      `${SAID} (grant_types "devicecode", scopes "read_boks").`],
  ] satisfies [string[], string][]),
])('%j', async (args, warning) => expect(await told(...args)).toBe(warning)) // prettier-ignore
