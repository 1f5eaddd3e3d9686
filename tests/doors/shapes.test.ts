/** What is registered in plain JavaScript, where no compiler reads it: a sentence at the start, and nothing that is found out by users. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../support/cleanup.ts'
import { startServer } from '../support/server.ts'

const async = 'async () => ({})'
const STEP = `name: 'terms', required: 'interaction_required', run: ${async}, submit: ${async}`

const refused: readonly (readonly [registers: string, sentence: string])[] = [
  [
    `oauth.add('senderConstraint', { scheme: 'Key', confirmation: 'key', bind: ${async} })`,
    'The senderConstraint key has no verify, which must be a function.',
  ],
  [
    `oauth.add('senderConstraint', { scheme: 'Key', confirmation: 'key', bind: ${async}, verfy: ${async} })`,
    'The senderConstraint key has verfy, which is never asked for: the nearest is verify.',
  ],
  [
    `oauth.add('interactionStep', { ${STEP}, phase: 'sign-in' })`,
    'The phase of the interactionStep terms must be authenticate or approve; it is "sign-in".',
  ],
  [`oauth.add('interactionStep')`, 'The interactionStep must be an object.'],
  [
    `oauth.add('parameter', { name: 'colour', schema: Type.String(), narow: (had) => had })`,
    'The parameter colour has narow, which is never asked for: the nearest is narrow.',
  ],
  [
    `oauth.add('parameter', { name: 'colour' })`,
    'The parameter colour has no schema, which must be a schema, such as Type.String().',
  ],
  [
    `oauth.users.records('badge', { seald: true })`,
    'The records badge has seald, which is never asked for: the nearest is sealed.',
  ],
  [
    `oauth.users.records('badge', { signsIn: 'yes' })`,
    'The signsIn of the records badge must be true, false or a function; it is "yes".',
  ],
  [
    `oauth.records('badge', { key: 'name' })`,
    'The key of the records badge must be a function; it is "name".',
  ],
  [
    `oauth.records('badge', { most: 1e9 })`,
    'The most of the records badge must be a whole number from 1 to 100000.',
  ],
  [
    `oauth.add('assertionRule', { name: 'mine' })`,
    'The assertionRule mine has no narrow, which must be a function.',
  ],
  [
    `oauth.register('authorizationDetailsType', 'mine', { describe: () => 'mine' })`,
    'The authorizationDetailsType mine has no schema, which must be a schema, such as Type.Object({ name: Type.String() }).',
  ],
  [
    `oauth.add('requestObjectRule', { name: 'mine' })`,
    'The requestObjectRule mine has no narrow, which must be a function.',
  ],
  [`oauth.add('proofRule', { name: 'mine' })`, 'The proofRule mine has no narrow, which must be a function.'],
  [`oauth.add('policy', { check: ${async} })`, 'A policy must be a function.'],
  [
    `oauth.add('representation', { name: 'signed', of: '/introspection', applies: () => true, render: ${async} })`,
    'The representation signed is of /introspection, which nothing answers: the nearest is /introspect.',
  ],
  [
    `oauth.register('signInMethod', 'badge', { offer: ${async} })`,
    'The signInMethod badge has no submit, which must be a function.',
  ],
  [`oauth.register('outcome', 'badge')`, 'The outcome badge must be an object.'],
  [
    `oauth.deliver({ kind: 'news', deliver: ${async} })`,
    'The delivery news has no payload, which must be a schema, such as Type.Object({ name: Type.String() }).',
  ],
  [
    `oauth.enqueueOn('user.disable', () => [])`,
    'There is no event user.disable: the nearest is user.disabled.',
  ],
  [
    `oauth.enqueueOn(['user.enabled', 'session.end'], () => [])`,
    'There is no event session.end: the nearest is session.ended.',
  ],
  [`oauth.audit.on('disabled', () => {})`, 'There is no event disabled: the nearest is user.disabled.'],
  [
    `oauth.registerGrant({ type: 'urn:badge', parameters: {}, authorize: ${async} })`,
    'The parameters of the grant urn:badge must be a schema, such as Type.Object({ name: Type.String() }).',
  ],
  [
    `oauth.registerEndpoint({ path: '/badge', parameters: {}, handle: ${async} })`,
    'The parameters of the endpoint /badge must be a schema, such as Type.Object({ name: Type.String() }).',
  ],
  [
    `oauth.registerEndpoint({ path: '/badge', caller: 'everybody', parameters: Type.Object({}), handle: ${async} })`,
    'The caller of the endpoint /badge must be client, bearer or anybody; it is "everybody".',
  ],
  ...(
    [
      ['scopes', `['badge']`, 'bearer', 'client'],
      ['scopes', `['badge']`, 'bearer', 'anybody'],
      ['requireScope', `() => () => {}`, 'bearer', 'anybody'],
      ['publicClients', 'true', 'client', 'anybody'],
    ] as const
  ).map(
    ([member, value, meant, caller]) =>
      [
        `oauth.registerEndpoint({ path: '/badge', ${caller === 'client' ? '' : `caller: '${caller}', `}${member}: ${value}, parameters: Type.Object({}), handle: ${async} })`,
        `The ${member} of the endpoint /badge is for callers that are ${meant}: its caller is ${caller}.`,
      ] as const,
  ),
  [
    `oauth.registerEndpoint({ path: 'badge', parameters: Type.Object({}), handle: ${async} })`,
    `The path of the endpoint badge must be below the issuer's, as '/shelf'; it is "badge".`,
  ],
  [
    `oauth.registerEndpoint({ path: '/token', parameters: Type.Object({}), handle: ${async} })`,
    'The endpoint /token (POST) is registered twice.',
  ],
  [
    `oauth.extend('metadata', ['badge'], async () => ({}))`,
    "A contribution to metadata names its members by returning them: oauth.extend('metadata', async () => …).",
  ],
  [`oauth.extend('id_token', ['badge'])`, 'A contribution to id_token must be a function.'],
  [`oauth.extend('id_token', ['badge'], { badge: 7 })`, 'A contribution to id_token must be a function.'],
  [
    `oauth.extendClientMetadata({ badge: Type.String() })`,
    'Client metadata must be a schema, such as Type.Object({ name: Type.String() }).',
  ],
  [
    `oauth.throttle('badge', { network: { failures: 5, recovery: 60 } })`,
    'The throttle badge has no account, which must be a limit, such as { failures: 20, recovery: 10 }.',
  ],
  [
    `oauth.throttle('badge', { account: { failures: 5 }, network: { failures: 5, recovery: 60 } })`,
    'The account of the throttle badge must be a limit, such as { failures: 20, recovery: 10 }.',
  ],
  [
    `oauth.artifacts('badge', { lifetime: 60, ofUser: true })`,
    'The artifacts badge has ofUser, which is never asked for: the nearest is ofUsers.',
  ],
  [
    `oauth.selfRegistration('badge', { most: 5, redirectHost: ['app.example'] })`,
    'The self-registration badge has redirectHost, which is never asked for: the nearest is redirectHosts.',
  ],
  [
    `await pages.add('badge', new URL('badge.eta', import.meta.url), { kind: 'interactive' })`,
    'The kind of the page badge must be page or interaction; it is "interactive".',
  ],
  [
    `pages.serve({ path: '/badge', show: ${async} })`,
    'The page /badge has no query, which must be a schema, such as Type.Object({ name: Type.String() }).',
  ],
  [
    `pages.serve({ path: '/badge', query: Type.Object({}), form: Type.Object({}), show: ${async}, sumbit: ${async} })`,
    'The page /badge has sumbit, which is never asked for: the nearest is submit.',
  ],
  [
    `pages.serve({ path: 'badge', query: Type.Object({}), show: ${async} })`,
    'The path of the page badge must be',
  ],
  [
    `account.addSection({ text: 'Badge', path: '/badge' })`,
    'The section of the account has no about, which must be a function.',
  ],
  [
    `account.addSection({ text: 'Badge', path: 'badge', about: ${async} })`,
    `The path of the section of the account must be below that of its area, as '/vouchers'; it is "badge".`,
  ],
  [
    `account.addSecurity({ name: 'badge', part: 'badge', modl: ${async} })`,
    'The part of the page of security has modl, which is never asked for: the nearest is model.',
  ],
  [
    `account.addNotice({ name: 'badge', model: ${async} })`,
    'The notice of the overview has no part, which must be a text.',
  ],
  [
    `admin.addSection({ path: '/badge' })`,
    'The section of the administration has no text, which must be a text or a message.',
  ],
  [
    `admin.addSection({ text: 'Badge', path: '/badge', group: 'persons' })`,
    'The group of the section of the administration must be apps, people or server; it is "persons".',
  ],
  [
    `admin.addUserPart({ name: 'badge', part: 'badge' })`,
    'The part of the page of a user has no model, which must be a function.',
  ],
  [
    `admin.addNewUserWay({ id: 'badge', text: 'Badge', isOn: true })`,
    'The isOn of the way for new users must be a function.',
  ],
  [`oauth.settings({ BADGE: Type.String() })`, 'Settings must be a schema, such as Type.Object('],
]

test.each(refused)('%s', async (registers, sentence) => {
  const PLUGINS = join(await temporaryDirectory(), 'plain.js')
  const body = `export default async function plain({ oauth, pages, account, admin }) { ${registers} }`
  await writeFile(PLUGINS, `import { Type } from 'latchkey'\n${body}\n`)
  const isLate = registers.includes('representation')
  await expect(startServer({ PLUGINS })).rejects.toMatchObject({
    name: 'ConfigError',
    message: expect.stringContaining(
      isLate ? sentence : `The plugin ${PLUGINS} is refused: ${sentence}`,
    ) as string,
  })
})

const parameters = Type.Object({})
const nothing = async (): Promise<never> => undefined as never
const shelf = { path: '/late', method: 'GET', parameters, handle: nothing } as const
const late: readonly (readonly [what: string, (late: FastifyInstance) => unknown])[] = [
  ['The endpoint /late', ({ oauth }) => oauth.registerEndpoint(shelf)],
  ['The endpoint /token', ({ oauth }) => oauth.registerEndpoint({ ...shelf, path: '/token' })],
  ['Client metadata', ({ oauth }) => oauth.extendClientMetadata(parameters)],
  ['The page /late', ({ pages }) => pages.serve({ path: '/late', query: parameters, show: nothing })],
  ['The asset late.css', ({ pages }) => pages.addAsset('late.css', new URL('late.css', import.meta.url))],
  ['The section /late', ({ account }) => account.addSection({ text: 'Late', path: '/late', about: nothing })],
  ['The part late', ({ account }) => account.addSecurity({ name: 'late', part: 'late', model: nothing })],
  ['The notice late', ({ account }) => account.addNotice({ name: 'late', part: 'late', model: nothing })],
  ['The section /late', ({ admin }) => admin.addSection({ text: 'Late', path: '/late' })],
  ['The part late', ({ admin }) => admin.addUserPart({ name: 'late', part: 'late', model: nothing })],
  [
    'The way late',
    ({ admin }) =>
      admin.addNewUserWay({
        id: 'late',
        text: 'Late',
        isOn: () => true,
        refusalOf: async () => undefined,
        submit: nothing,
      }),
  ],
]
const tooLate = (what: string): RegExp =>
  new RegExp(`^${what}\\b.* must be registered before the server is ready\\.$`)

test('what is registered once the server is ready is refused, in a sentence that names it', async () => {
  const { server } = await startServer()
  for (const [what, register] of late)
    await expect((async () => register(server))()).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(tooLate(what)) as string,
    })
  // In an `onReady`, where the router takes routes without what comes before them.
  const extend = (fastify: FastifyInstance): void => {
    fastify.addHook('onReady', async () => fastify.oauth.registerEndpoint(shelf))
  }
  await expect(startServer({}, { extend })).rejects.toThrow(tooLate('The endpoint /late'))
})

test('what a plugin has beside is its own', async () => {
  const server = await startServer(
    {},
    {
      extend({ oauth }) {
        const policy = { name: 'mine', counted: 0, require: () => null }
        oauth.add('assurance', policy)
        oauth.audit.on('user.signed_up' as 'user.signed_in', () => {})
        oauth.enqueueOn('badge.given' as 'user.signed_in', () => [])
      },
    },
  )
  expect((await server.get('/healthz')).status).toBe(200)
})
