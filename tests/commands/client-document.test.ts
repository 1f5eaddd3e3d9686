/**
 * `client-document list|block|unblock`: what is blocked is so at a server that runs.
 * @needs latchkey-client-documents
 */
import { expect, test } from 'vitest'
import { commandsHere, runCommandHere } from '../support/command-here.ts'
import { startDocumentHost } from '../support/document-host.ts'
import { startServer } from '../support/server.ts'
import { authorizationUrl, createPkce, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm } from '../support/user-agent.ts'

const host = await startDocumentHost()
const settings = { OIDC_CLIENT_METADATA_DOCUMENTS: 'any', UNSAFE_OUTBOUND_ORIGINS: host.origin }
const server = await startServer(settings, { seed: SEED })
const { run, runJson } = commandsHere({ ...server.settings, SEED_FILE: undefined, LOG_LEVEL: undefined })
const client_id = host.publish('one.json')
const url = authorizationUrl(server, { client_id, code_challenge: createPkce().challenge, code_challenge_method: 'S256' }) // prettier-ignore
const isIn = async () => findForm(await createUserAgent(server.url).get(url), 'login') !== undefined

test.each([['its address', client_id], ['its host', host.host]])('an app that is blocked by %s is let in again', async (_what, name) => {
  expect(await isIn()).toBe(true)
  expect(await runJson('client-document', 'block', name)).toEqual({ name, blocked: true })
  await expect.poll(isIn).toBe(false)
  expect(await runJson('client-document', 'list')).toEqual([{ name, since: expect.stringMatching(/^\d{4}-.*Z$/) as string }])
  expect(await run('client-document', 'list')).toContain(`${name}  since `)
  expect(await runJson('client-document', 'unblock', name)).toEqual({ name, blocked: false })
  await expect.poll(isIn).toBe(true)
  expect(await runJson('client-document', 'list')).toEqual([])
}) // prettier-ignore

test.each([
  [['block', 'no host!'], settings, /must be the address of a client, or a host such as app\.example/],
  [['unblock', 'other.example'], settings, /other\.example is not blocked: `client-document list` has what is/],
  [['list'], { OIDC_CLIENT_METADATA_DOCUMENTS: 'off' }, /set OIDC_CLIENT_METADATA_DOCUMENTS, or OIDC_PROFILE=mcp/],
])('%j is refused where it cannot be', async (words, more, says) => {
  const ended = await runCommandHere(['client-document', ...words], { ...server.settings, SEED_FILE: undefined, ...more })
  expect(ended).toMatchObject({ status: 1, stdout: '' })
  expect(ended.stderr).toMatch(says)
}) // prettier-ignore
