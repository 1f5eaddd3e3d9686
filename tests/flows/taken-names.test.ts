/** Names that are taken: a plugin that takes one again does not start, at whatever door, and replaces nothing. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { OAuth } from '../../plugins/oauth/index.ts'
import { temporaryDirectory } from '../support/cleanup.ts'
import { createClient } from '../support/clients.ts'
import { runCommand, spawnServer } from '../support/process.ts'
import { startServer } from '../support/server.ts'
import { freePort } from '../support/settings.ts'

const text = Type.String()
const member = (name: string) => Type.Partial(Type.Object({ [name]: Type.Unknown() }))
const step = (name: string) => ({ name, required: 'interaction_required', run: async () => 'done' as const, submit: async () => ({ note: {} }) }) // prettier-ignore

const refused: [string, (oauth: OAuth) => void][] = [
  ...['nonce', 'code_challenge', 'scope', 'prompt', 'claims', 'redirect_uri', 'client_id', 'resource', 'state', 'client_secret', 'approved_claims']
    .map((name): [string, (oauth: OAuth) => void] => [
      `The parameter ${name} is taken.`,
      (oauth) => oauth.add('parameter', { name, schema: text }),
    ]),
  ['The parameter nonce is taken.', (oauth) => oauth.add('parameter', { name: 'mine', schema: text, kept: 'nonce' })],
  ['The parameter mine is taken.', (oauth) => {
    oauth.add('parameter', { name: 'mine', schema: text })
    oauth.add('parameter', { name: 'mine', schema: text })
  }],
  ...['request_object', 'response_type', 'code_challenge'].map((name): [string, (oauth: OAuth) => void] => [
    `The authorizationCheck ${name} is taken.`,
    (oauth) => oauth.add('authorizationCheck', { name, check: () => {} }),
  ]),
  ['The requestSource pushed is registered twice.', (oauth) => {
    const source = { recognizes: () => false, resolve: async () => ({ wire: {} }) }
    oauth.register('requestSource', 'pushed', source)
    oauth.register('requestSource', 'pushed', source)
  }],
  ['The interactionStep login is taken.', (oauth) => oauth.add('interactionStep', step('login'))],
  ['The interactionStep consent is taken.', (oauth) => oauth.add('interactionStep', step('consent'))],
  ...['redirect_uris', 'client_secret', 'subject_type', 'id_token_signed_response_alg', 'require_consent', 'scope', '__proto__']
    .map((name): [string, (oauth: OAuth) => void] => [
      `The client metadata member ${name} is taken.`,
      (oauth) => oauth.extendClientMetadata(member(name)),
    ]),
  ['The client metadata member shelf is taken.', (oauth) => {
    oauth.extendClientMetadata(member('shelf'))
    oauth.extendClientMetadata(member('shelf'))
  }],
  ['The access_token member sub is taken.', (oauth) => oauth.extend('access_token', ['sub'], async () => ({ sub: 'root' }))],
  ['The id_token member email is taken.', (oauth) => oauth.extend('id_token', ['email'], async () => ({}))],
  ['The userinfo member sub is taken.', (oauth) => oauth.extend('userinfo', ['tenant', 'sub'], async () => ({}))],
  ['The introspection member active is taken.', (oauth) => oauth.extend('introspection', ['active'], async () => ({}))],
  ...['code', 'state', 'iss', 'error', 'id_token'].map((name): [string, (oauth: OAuth) => void] => [
    `The authorizationResponse member ${name} is taken.`,
    (oauth) => oauth.extend('authorizationResponse', [name], async () => ({})),
  ]),
  ['The authorizationResponse member session_state is taken.', (oauth) => {
    oauth.extend('authorizationResponse', ['session_state'], async () => ({}))
    oauth.extend('authorizationResponse', ['session_state'], async () => ({}))
  }],
  ['The id_token member c_hash is taken.', (oauth) => oauth.extend('id_token', ['c_hash'], async () => ({}))],
  ['The tokenResponse member id_token is taken.', (oauth) => oauth.extend('tokenResponse', ['id_token'], async () => ({}))],
  ['The id_token member tenant is taken.', (oauth) => {
    oauth.extend('id_token', ['tenant'], async () => ({}))
    oauth.extend('id_token', ['tenant'], async () => ({}))
  }],
  ['The artifact kind setup is taken.', (oauth) => oauth.artifacts('setup', { lifetime: 60 })],
  ['The artifact kind interaction-progress is taken.', (oauth) => oauth.artifacts('interaction-progress', { lifetime: 60 })],
  ['The artifact kind voucher is taken.', (oauth) => {
    oauth.artifacts('voucher', { lifetime: 60 })
    oauth.artifacts('voucher', { lifetime: 3600 })
  }],
  ...['client', 'user', 'setup', 'password-link'].map((kind): [string, (oauth: OAuth) => void] => [
    `The throttle kind ${kind} is taken.`,
    (oauth) => oauth.throttle(kind),
  ]),
  ['The throttle kind voucher is taken.', (oauth) => {
    oauth.throttle('voucher')
    oauth.throttle('voucher', { account: { failures: 1000, recovery: 1 }, network: { failures: 1000, recovery: 1 } })
  }],
  // As it was written before.
  ['A contribution to id_token must name its members', (oauth) => oauth.extend('id_token', (async () => ({})) as never, undefined as never)],
] // prettier-ignore

/** What the server says to each of them. */
async function answersTo(plugins: typeof refused): Promise<string[]> {
  const answers: string[] = []
  await startServer(
    {},
    {
      extend: ({ oauth }) => {
        for (const [, extend] of plugins) {
          try {
            extend(oauth)
            answers.push('welcome')
          } catch (error) {
            answers.push((error as Error).message)
          }
        }
      },
    },
  )
  return answers
}

test('each is refused at its door, and the server goes on without what was refused', async () => {
  const sentences = refused.map(([sentence]) => expect.stringContaining(sentence) as string)
  expect(await answersTo(refused)).toEqual(sentences)
})

test.each([
  ['issuer', { issuer: 'https://evil.example' }],
  ['token_endpoint', { token_endpoint: 'https://evil.example' }],
  ['jwks_uri', { vouchers: true, jwks_uri: 'https://evil.example' }],
])('the metadata has one owner for each member: with another %s there is no start', async (name, members) => {
  const starting = startServer({}, { extend: ({ oauth }) => oauth.extend('metadata', async () => members) })
  await expect(starting).rejects.toThrow(`The metadata member ${name} is taken.`)
})

test.each(['issuer', 'jwks_uri', 'scopes_supported'])(
  'an endpoint is no %s of the metadata: there is no start',
  async (metadata) => {
    const endpoint = {
      path: '/mine',
      metadata,
      parameters: Type.Object({}),
      handle: async () => ({}),
    } as const
    const starting = startServer({}, { extend: ({ oauth }) => oauth.registerEndpoint(endpoint) })
    await expect(starting).rejects.toThrow(`The metadata member ${metadata} is taken.`)
  },
)

test('a server with such a plugin ends at start, with the sentence', async () => {
  const PLUGINS = join(await temporaryDirectory(), 'greedy.mjs')
  await writeFile(
    PLUGINS,
    `export default async ({ oauth }) => oauth.add('parameter', { name: 'nonce', schema: { type: 'string' } })`,
  )
  await expect(spawnServer({ PLUGINS })).rejects.toThrow('The parameter nonce is taken.')
})

test('what goes with events is said before the server is ready: later, some of them would have gone without', async () => {
  const { server } = await startServer()
  expect(() => server.oauth.enqueueOn(['user.deleted', 'user.disabled'], () => [])).toThrow(
    'What goes with user.deleted, user.disabled must be registered before the server is ready.',
  )
})

test('who asks for a kind while requests are served gets its own', async () => {
  const { server } = await startServer()
  const { oauth } = server
  for (let asked = 0; asked < 2; asked++) {
    const handle = await oauth.artifacts('late', { lifetime: 60 }).put({ asked })
    expect(await oauth.artifacts('late', { lifetime: 60 }).get(handle)).toEqual({ asked })
    const attempt = await oauth.throttle('late').attempt(null, '127.0.0.1')
    attempt.abandoned()
  }
})

test.each([
  ['ours', '/authorize/', {}],
  ['ours below a path', '/userinfo', { OIDC_ISSUER: 'http://127.0.0.1:1/auth' }],
])(
  'a path that is %s has its owner: the sentence names the plugin and the path',
  async (_whose, path, given) => {
    const PLUGINS = join(await temporaryDirectory(), 'squatter.mjs')
    await writeFile(PLUGINS, `export default async (fastify) => fastify.get('${path}', async () => 'mine')`)
    const { settings } = await startServer()
    const port = await freePort()
    const { status, stderr } = await runCommand(['serve'], { ...settings, ...given, PLUGINS, PORT: port })
    const whole = `${'OIDC_ISSUER' in given ? '/auth' : ''}${path}`
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `The plugin ${PLUGINS} routes GET ${whole}, which is taken: give it another path.\n`,
    })
  },
)

test('the books of the demo make room for those of a plugin', async () => {
  const PLUGINS = join(await temporaryDirectory(), 'books.mjs')
  await writeFile(PLUGINS, `export default async (fastify) => fastify.get('/books', async () => ['mine'])`)
  const server = await startServer({ PLUGINS }, { seed: 'demo' })
  expect(await (await server.get('/books')).json()).toEqual(['mine'])
})

test('a javascript: address cannot be made registrable, nor is anything left of who tried', async () => {
  const server = await startServer(
    {},
    {
      extend: ({ oauth }: FastifyInstance) => {
        expect(() => oauth.extendClientMetadata(Type.Object({ redirect_uris: Type.Array(text) }))).toThrow(
          'taken',
        )
      },
    },
  )
  await expect(createClient(server, { redirect_uris: ['javascript:alert(1)'] })).rejects.toThrow(
    'redirect_uris',
  )
})
