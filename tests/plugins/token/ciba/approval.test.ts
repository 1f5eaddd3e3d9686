/**
 * The person who is asked (CIBA §7.4): how they hear of it, what they read, what their answer is worth, and what ends meanwhile.
 * @needs latchkey-ciba
 */
import { decodeJwt } from 'jose'
import { describe, expect, test, vi } from 'vitest'
import { kernelOf } from '../../../../src/http/kernel-of.ts'
import { addBank, PAYMENT } from '../../../support/bank.ts'
import { codeOf, recoveryCodesOn, secretOn } from '../../../support/authenticator.ts'
import {
  answer,
  approve,
  ask,
  call,
  CALL_CENTRE,
  CIBA_SEED,
  CIBA_SETTINGS,
  GRANT_TYPE,
  PATH,
  pageOf,
  poll,
} from '../../../support/ciba.ts'
import { createDpopKey, prove } from '../../../support/dpop.ts'
import { linkIn, openMailbox } from '../../../support/mailbox.ts'
import { startReceiver } from '../../../support/receiver.ts'
import { basic, requestsTo } from '../../../support/requests.ts'
import { startServer } from '../../../support/server.ts'
import { ALICE, BOB, goThrough } from '../../../support/sign-in.ts'
import { until } from '../../../support/until.ts'
import { createUserAgent, findForm, type Page, type UserAgent } from '../../../support/user-agent.ts'
import { isThere } from '../../../support/left-out.ts'

const [BOOKS, MUSIC] = ['https://books.example', 'https://music.example']
const of = (client_id: string, more: object = {}) => ({ ...CALL_CENTRE, client_id, ...more })
const WIDE = of('wide', { scope: ['read_books', 'play'], authorization_details_types: ['payment'] })
const VAULT = of('vault', { minimum_acr_value: '2' })
const OURS = of('ours', { require_consent: false })
const SHARP = of('sharp', { dpop_bound_access_tokens: true })
const host = await startReceiver((_request, response) => response.writeHead(503).end())
const origin = `http://127.0.0.1:${host.port}`
const server = await startServer(
  { ...CIBA_SETTINGS, UNSAFE_OUTBOUND_ORIGINS: origin },
  {
    seed: {
      ...CIBA_SEED,
      clients: [...CIBA_SEED.clients, WIDE, VAULT, SHARP, OURS],
      resources: [
        { resource: BOOKS, scopes: ['read_books'] },
        { resource: MUSIC, scopes: ['play'] },
      ],
    },
    async extend(fastify) {
      addBank(fastify)
      // A factor that nobody has yet.
      fastify.oauth.add('interactionStep', {
        name: 'key',
        phase: 'authenticate',
        required: 'login_required',
        reaches: { acr: ['phr'], by: () => false },
        run: async () => 'done',
        submit: async () => ({ note: {} }),
      })
    },
  },
)
const { clients, users, audit } = server.server.oauth
const mailbox = openMailbox(server)
const invalid = (error: string) => ({ status: 400, error })
const textOf = ({ body }: Pick<Page, 'body'>): string => body.replaceAll(/<[^>]*>/g, '')

let persons = 0
/** Somebody of their own, whom nothing else asks. */
async function newPerson() {
  const username = `person-${++persons}`
  const password = 'a password of a person'
  const email = `${username}@people.example`
  const { id } = await users.create({ username, password, email, email_verified: true })
  return { id, username, password, email, agent: createUserAgent(server.url) }
}
type Person = Awaited<ReturnType<typeof newPerson>>

async function signIn({ agent, ...person }: Person, asked: { auth_req_id: string }): Promise<Page> {
  const page = await agent.get(pageOf(server, asked))
  const { username, password } = person
  return agent.submit(page, 'login', { username, password })
}

test('hears of it by mail, in words of an app, and the link leads to the page', async () => {
  const person = await newPerson()
  const asked = await ask(server, { login_hint: person.username, binding_message: 'W4SCT' })
  const mail = await mailbox.next(person.email)
  expect(mail.subject).toBe('Call centre asks for your approval')
  expect(mail.text).toContain('W4SCT')
  expect(mail.text).toContain('127.0.0.1')
  expect(linkIn(mail)).toBe(pageOf(server, asked))
  expect(`${mail.text}${mail.html}`).not.toContain(asked.auth_req_id)
  const consent = await person.agent.submit(await person.agent.get(linkIn(mail)), 'login', {
    username: person.username,
    password: person.password,
  })
  expect(findForm(consent, 'consent')).toBeDefined()
})

test('nobody who has not confirmed their address is written to; the account tells them', async () => {
  const asked = await ask(server, { login_hint: 'bob', binding_message: 'A1' })
  expect(await mailbox.all(BOB.email)).toEqual([])
  const agent = createUserAgent(server.url)
  const overview = await goThrough(agent, await agent.get(`${server.url}/account`), BOB)
  expect(textOf(overview)).toContain('Apps wait for your answer')
  expect(textOf(overview)).toContain('The app shows you this, too: A1')
  const [, path] = /href="(\/approve[^"]+)"/.exec(overview.body)!
  const consent = await agent.get(server.url + path!.replaceAll('&amp;', '&'))
  await agent.submit(consent, 'consent', { decision: 'allow' })
  expect(await poll(server, asked)).toMatchObject({ status: 200 })
  expect(textOf(await agent.get(`${server.url}/account`))).not.toContain('Apps wait')
})

describe('the page', () => {
  test('asks again of who allowed the same before, and does nothing by being opened', async () => {
    const person = await newPerson()
    const first = await ask(server, { login_hint: person.username })
    await goThrough(person.agent, await signIn(person, first))
    const second = await ask(server, { login_hint: person.username })
    const page = await person.agent.get(pageOf(server, second))
    expect(findForm(page, 'consent')).toBeDefined()
    expect(await poll(server, second)).toMatchObject(invalid('authorization_pending'))
  })

  test('asks for an app of our own too, whose people nobody asks else', async () => {
    const person = await newPerson()
    const asked = await ask(server, { login_hint: person.username }, OURS)
    expect(findForm(await signIn(person, asked), 'consent')).toBeDefined()
    expect(await poll(server, asked, OURS)).toMatchObject(invalid('authorization_pending'))
  })

  test('is below the path of the issuer', async () => {
    const below = await startServer({ ...CIBA_SETTINGS, OIDC_ISSUER: 'http://localhost:3000/login' }, { seed: CIBA_SEED })
    const requests = requestsTo(`http://127.0.0.1:${below.settings['PORT']}/login`)
    const asked = await ask(requests)
    const mail = await openMailbox(below).next(ALICE.email)
    expect(linkIn(mail)).toMatch(/^http:\/\/localhost:3000\/login\/approve\?id=/)
    const response = await requests.get(`/approve${new URL(pageOf(below, asked)).search}`)
    expect([response.status, response.headers.get('location')]).toEqual([303, expect.stringMatching(/^\/login\/interaction\//)])
    expect((await requests.get('/approve/denied')).status).toBe(200)
  }) // prettier-ignore

  test('cannot be sent by another site, and takes no answer but by its own form', async () => {
    const person = await newPerson()
    const asked = await ask(server, { login_hint: person.username })
    const form = findForm(await signIn(person, asked), 'consent')!
    const forged = await person.agent.post(form.action, { decision: 'allow' })
    expect(forged.status).toBe(403)
    const elsewhere = await person.agent.post(form.action, { ...form.fields, decision: 'allow' }, { origin: 'https://evil.example' })
    expect(elsewhere.status).toBe(403)
    expect(await poll(server, asked)).toMatchObject(invalid('authorization_pending'))
  }) // prettier-ignore

  test('which was open when the request expired gives nothing, and says so', async () => {
    const person = await newPerson()
    const asked = await ask(server, { login_hint: person.username })
    const consent = await signIn(person, asked)
    await expire(asked)
    const late = await person.agent.submit(consent, 'consent', { decision: 'allow' })
    expect(late.status).toBe(400)
    expect(textOf(late)).toContain('Nothing waits for you here')
    expect(await poll(server, asked)).toMatchObject(invalid('expired_token'))
    const again = await person.agent.get(pageOf(server, asked))
    expect([again.status, textOf(again)]).toEqual([410, expect.stringContaining('nobody answered in time')])
  })

  test('of an answer is over: by the back button, and in a second tab', async () => {
    const person = await newPerson()
    const asked = await ask(server, { login_hint: person.username })
    const consent = await signIn(person, asked)
    const tab = await person.agent.get(pageOf(server, asked))
    await person.agent.submit(consent, 'consent', { decision: 'deny' })
    for (const before of [consent, tab]) {
      const back = await person.agent.submit(before, 'consent', { decision: 'allow' })
      expect(back.status).toBeGreaterThanOrEqual(400)
    }
    expect(await poll(server, asked)).toMatchObject(invalid('access_denied'))
  })

  test.each([
    ['allow', 'later'],
    ['allow', 'before'],
    ['deny', 'later'],
    ['deny', 'before'],
  ])('which is sent again, as the answer to %s was lost, leads on, and is told of once; the app asks %s', async (decision, asks) => {
    const expected = decision === 'allow' ? { status: 200 } : invalid('access_denied')
    const person = await newPerson()
    const asked = await ask(server, { login_hint: person.username })
    const consent = await signIn(person, asked)
    const tab = await person.agent.get(pageOf(server, asked))
    const type = decision === 'allow' ? 'ciba.allowed' : 'ciba.denied'
    const count = async () => (await server.database.query('select from audit_events where type = $1', [type])).length
    const before = await count()
    const { audit: trail } = kernelOf(server.server)
    const { transaction } = trail
    const spy = vi.spyOn(trail, 'transaction').mockImplementation(async (work) => {
      const done = await transaction(work)
      if ((await count()) > before) throw new Error('the connection was lost')
      return done
    })
    expect((await person.agent.submit(consent, 'consent', { decision })).status).toBe(500)
    spy.mockRestore()
    const told = asks === 'before' ? await poll(server, asked) : undefined
    const end = await person.agent.submit(consent, 'consent', { decision })
    expect([end.status, end.url]).toEqual([200, `${server.url}/approve/${decision === 'allow' ? 'allowed' : 'denied'}`])
    expect(await count()).toBe(before + 1)
    expect(told ?? (await poll(server, asked))).toMatchObject(expected)
    // Neither the other button nor another tab has decided anything.
    const other = decision === 'allow' ? 'deny' : 'allow'
    for (const [page, button] of [[consent, other], [tab, decision]] as const)
      expect((await person.agent.submit(page, 'consent', { decision: button })).status).toBeGreaterThanOrEqual(400)
    expect(await count()).toBe(before + 1)
  }) // prettier-ignore

  test.runIf(isThere('latchkey-second-factor'))('asks for the factor that the app needs', async () => {
    const person = await newPerson()
    const asked = await ask(server, { login_hint: person.username }, VAULT)
    const after = await signIn(person, asked)
    expect(findForm(after, 'consent')).toBeUndefined()
    // The app waits elsewhere: there is no way back to it from here.
    expect([findForm(after, 'leave'), findForm(after, 'switch-account')]).toEqual([undefined, undefined])
    const codes = await person.agent.submit(after, 'totp', { code: codeOf(secretOn(after)) })
    expect(recoveryCodesOn(codes)).toHaveLength(10)
    expect(await poll(server, asked, VAULT)).toMatchObject(invalid('authorization_pending'))
    await goThrough(person.agent, await person.agent.submit(codes, 'recovery-codes-saved'))
    const tokens = await poll(server, asked, VAULT)
    expect(decodeJwt(String(tokens['id_token']))).toMatchObject({ acr: '2' })
  })

  test('of what this person’s sign-in cannot reach says so, and the app is told', async () => {
    const person = await newPerson()
    const claims = JSON.stringify({ id_token: { acr: { essential: true, values: ['phr'] } } })
    for (let n = 0; n < 6; n++) {
      const asked = await ask(server, { login_hint: person.username, claims })
      const end = n === 0 ? await signIn(person, asked) : await person.agent.get(pageOf(server, asked))
      expect([end.status, textOf(end)]).toEqual([200, expect.stringContaining('This cannot be approved')])
      const { error_description, ...told } = await poll(server, asked)
      expect(told).toEqual(invalid('access_denied'))
      expect(error_description).toContain('unmet_authentication_requirements')
      const { events } = await audit.list({ type: 'ciba.denied', user: person.id })
      expect(events[0]).toMatchObject({ details: { unmet: 'unmet_authentication_requirements' } })
      expect((await person.agent.get(pageOf(server, asked))).status).toBe(410)
    }
  }) // prettier-ignore

  test('is answered for somebody else by nobody, whatever cannot be met', async () => {
    const [person, other] = [await newPerson(), await newPerson()]
    await clients.create(of('fickle', { scope: ['read_books'] }))
    const asked = await ask(server, { login_hint: person.username, scope: 'openid read_books', resource: BOOKS }, of('fickle'))
    expect((await signIn(other, asked)).status).toBe(400)
    expect(await poll(server, asked, of('fickle'))).toMatchObject(invalid('authorization_pending'))
    const consent = await signIn(person, asked)
    await clients.update('fickle', { scope: [] })
    const end = await person.agent.submit(consent, 'consent', { decision: 'allow' })
    expect([end.status, textOf(end)]).toEqual([200, expect.stringContaining('This cannot be approved')])
    expect(await poll(server, asked, of('fickle'))).toMatchObject(invalid('access_denied'))
  }) // prettier-ignore

  test('is denied also where what it asks for cannot be had any more', async () => {
    const person = await newPerson()
    await clients.create(of('fallen', { scope: ['read_books'] }))
    const asked = await ask(server, { login_hint: person.username, scope: 'openid read_books', resource: BOOKS }, of('fallen'))
    const consent = await signIn(person, asked)
    await clients.update('fallen', { scope: [] })
    const end = await person.agent.submit(consent, 'consent', { decision: 'deny' })
    expect([end.status, end.url]).toEqual([200, `${server.url}/approve/denied`])
    expect(await poll(server, asked, of('fallen'))).toMatchObject(invalid('access_denied'))
  }) // prettier-ignore

  test('reads details of what is asked (RFC 9396), which the tokens are for', async () => {
    const person = await newPerson()
    const authorization_details = JSON.stringify([PAYMENT])
    const asked = await ask(server, { login_hint: person.username, authorization_details }, WIDE)
    const consent = await signIn(person, asked)
    expect(textOf(consent)).toContain('Pay 100.00 EUR to Book Shop')
    await person.agent.submit(consent, 'consent', { decision: 'allow' })
    expect((await poll(server, asked, WIDE))['authorization_details']).toEqual([PAYMENT])
  })
})

describe('what the client gets', () => {
  test('is for the resources that were allowed, or fewer', async () => {
    const person = await newPerson()
    const form = { login_hint: person.username, scope: 'openid read_books play', resource: BOOKS }
    const asked = await ask(server, form, WIDE)
    await goThrough(person.agent, await signIn(person, asked))
    expect(await poll(server, asked, WIDE, { resource: MUSIC })).toMatchObject(invalid('invalid_target'))
    const tokens = await poll(server, asked, WIDE, { resource: BOOKS })
    expect(decodeJwt(String(tokens['access_token'])).aud).toBe(BOOKS)
  })

  test('is bound to the key that was shown with the request', async () => {
    const person = await newPerson()
    const [key, other] = [await createDpopKey(), await createDpopKey()]
    const by = basic(SHARP.client_id, SHARP.client_secret)
    const proof = async (path: string, of = key) => ({
      dpop: await prove(of, { method: 'POST', url: `${server.url}${path}` }),
    })
    const sent = { scope: 'openid', login_hint: person.username }
    const asked = await answer(server.post(PATH, sent, { ...by, ...(await proof(PATH)) }))
    const auth_req_id = String(asked['auth_req_id'])
    await goThrough(person.agent, await signIn(person, { auth_req_id }))
    const exchange = { grant_type: GRANT_TYPE, auth_req_id }
    expect(await answer(server.post('/token', exchange, by))).toMatchObject(invalid('invalid_dpop_proof'))
    const wrong = { ...by, ...(await proof('/token', other)) }
    expect(await answer(server.post('/token', exchange, wrong))).toMatchObject(invalid('invalid_grant'))
    const tokens = await answer(server.post('/token', exchange, { ...by, ...(await proof('/token')) }))
    expect(tokens).toMatchObject({ status: 200, token_type: 'DPoP' })
    expect(decodeJwt(String(tokens['access_token']))['cnf']).toEqual({ jkt: key.thumbprint })
  })

  test('is nothing for another client, and slower for who asks too soon', async () => {
    const asked = await ask(server)
    expect(await poll(server, asked, WIDE)).toMatchObject(invalid('invalid_grant'))
    expect(await poll(server, asked)).toMatchObject(invalid('authorization_pending'))
    await expect.poll(async () => poll(server, asked)).toMatchObject(invalid('slow_down'))
    expect(await poll(server, { auth_req_id: 'x'.repeat(43) })).toMatchObject(invalid('invalid_grant'))
  })
})

describe('what ends meanwhile', () => {
  test('the sign-in, by a new password: nothing is given for it', async () => {
    const person = await newPerson()
    const asked = await ask(server, { login_hint: person.username })
    await goThrough(person.agent, await signIn(person, asked))
    await users.setPassword(person.username, 'a new password of a person')
    expect(await poll(server, asked)).toMatchObject(invalid('access_denied'))
  })

  test('the person, disabled before they answered: they cannot, and nothing is told but that nobody has', async () => {
    const person = await newPerson()
    const asked = await ask(server, { login_hint: person.username })
    const consent = await signIn(person, asked)
    await users.disable(person.username)
    await person.agent.submit(consent, 'consent', { decision: 'allow' })
    expect(await poll(server, asked)).toMatchObject(invalid('authorization_pending'))
    expect(await call(server, { scope: 'openid', login_hint: person.username })).toMatchObject(invalid('unknown_user_id'))
  }) // prettier-ignore

  test('the person, deleted: with them goes what they were asked', async () => {
    const person = await newPerson()
    const asked = await ask(server, { login_hint: person.username })
    const told = await users.export(person.id)
    expect(JSON.stringify(told)).toContain('call-centre')
    expect(JSON.stringify(told)).not.toContain(asked.auth_req_id)
    await users.delete(person.username)
    expect(await poll(server, asked)).toMatchObject(invalid('invalid_grant'))
  })

  test('the client, deleted or registered anew: the page is nobody’s, and neither is the auth_req_id', async () => {
    const person = await newPerson()
    await clients.create(of('again'))
    const [asked, allowed] = [await ask(server, { login_hint: person.username }, of('again')), await ask(server, { login_hint: person.username }, of('again'))]
    const consent = await signIn(person, asked)
    await approve(server, allowed, person.agent)
    await clients.delete('again')
    expect((await person.agent.submit(consent, 'consent', { decision: 'allow' })).status).toBe(400)
    expect((await person.agent.get(pageOf(server, asked))).status).toBe(400)
    expect(await poll(server, allowed, of('again'))).toMatchObject({ status: 401 })
    await server.database.query(`update artifacts set value = jsonb_set(value, '{askedAt}', to_jsonb((value->>'askedAt')::bigint - 10000)) where kind = 'ciba' and value->'approval'->>'client' = 'again'`)
    await clients.create(of('again'))
    expect((await person.agent.get(pageOf(server, asked))).status).toBe(400)
    expect(await poll(server, allowed, of('again'))).toMatchObject(invalid('invalid_grant'))
  }) // prettier-ignore

  test('the client, while it was to be told: who has its name now is not', async () => {
    const person = await newPerson()
    const told = of('told', { backchannel_token_delivery_mode: 'ping', backchannel_client_notification_endpoint: `${origin}/told` })
    await clients.create(told)
    const asked = await ask(server, { login_hint: person.username, client_notification_token: 'a-token' }, told)
    await goThrough(person.agent, await signIn(person, asked))
    await until(() => {
      if (host.received.length === 0) throw new Error('nobody has tried yet')
    })
    expect(await server.database.query(`select recipient from outbox where kind = 'ciba-ping'`)).toEqual([{ recipient: 'told' }])
    await clients.delete('told')
    await server.database.query(`update artifacts set value = jsonb_set(value, '{askedAt}', '1') where kind = 'ciba' and value->'approval'->>'client' = 'told'`)
    await clients.create(told)
    const before = host.received.length
    await server.database.query(`update outbox set due_at = now() - interval '1 second'`)
    await until(async () => {
      if ((await server.database.query(`select id from outbox where kind = 'ciba-ping'`)).length > 0) throw new Error('it still waits')
    })
    expect(host.received.length).toBe(before)
  }) // prettier-ignore

  test('the grant of the client: nobody is asked, and it gets nothing', async () => {
    const person = await newPerson()
    await clients.create(of('former'))
    const asked = await ask(server, { login_hint: person.username }, of('former'))
    await clients.update('former', { grant_types: ['refresh_token'] })
    expect((await person.agent.get(pageOf(server, asked))).status).toBe(400)
    expect(await poll(server, asked, of('former'))).toMatchObject(invalid('unauthorized_client'))
  })

  test('the access, taken back before the client came', async () => {
    const person = await newPerson()
    const asked = await ask(server, { login_hint: person.username })
    await goThrough(person.agent, await signIn(person, asked))
    await kernelOf(server.server).consents.withdraw(person.id, 'call-centre')
    expect(await poll(server, asked)).toMatchObject(invalid('invalid_grant'))
  })
})

describe('a code of their own', () => {
  async function setCode(
    { agent, username, password }: Person,
    fields: Record<string, string>,
  ): Promise<Page> {
    const open = async (): Promise<Page> => agent.get(`${server.url}/account/security`)
    const page = await goThrough(agent, await open(), { username, password })
    return agent.submit(page, 'approval-code-form', fields)
  }

  test('is asked of every client, until it is taken away', async () => {
    const person = await newPerson()
    const form = { scope: 'openid', login_hint: person.username }
    expect(textOf(await setCode(person, { approval_code: 'abc' }))).toContain(
      'A code has 4 to 64 characters.',
    )
    expect(textOf(await setCode(person, { approval_code: 'Pflaume' }))).toContain('The code is set.')
    const stored = JSON.stringify(await server.database.query('select * from user_records'))
    expect(stored).not.toContain('Pflaume')
    expect(await call(server, form)).toMatchObject({
      ...invalid('missing_user_code'),
      error_description: 'the parameter user_code is missing: this person has set one',
    })
    expect(await call(server, { ...form, user_code: 'pflaume' })).toMatchObject(invalid('invalid_user_code'))
    expect(await call(server, { ...form, user_code: 'Pflaume' })).toMatchObject({ status: 200 })
    await setCode(person, { approval_code: 'Birne' })
    expect(await call(server, { ...form, user_code: 'Pflaume' })).toMatchObject(invalid('invalid_user_code'))
    expect(textOf(await setCode(person, { approval_code: '', remove: 'yes' }))).toContain(
      'The code is removed',
    )
    expect(await call(server, form)).toMatchObject({ status: 200 })
    const types = (await audit.list({ user: person.id })).events.map(({ type }) => type)
    expect(types).toEqual(expect.arrayContaining(['ciba.user_code_set', 'ciba.user_code_removed']))
  })

  test('guesses at it are refused after a while, and its owner reads of that', async () => {
    const person = await newPerson()
    await setCode(person, { approval_code: 'Pflaume' })
    const guess = { scope: 'openid', login_hint: person.username, user_code: 'Kirsche' }
    let status = 400
    for (let tries = 0; tries < 20 && status === 400; tries++) status = (await call(server, guess)).status
    expect(status).toBe(429)
    await expect
      .poll(async () => (await audit.list({ type: 'limit.reached', user: person.id })).events)
      .toMatchObject([{ client: 'call-centre', details: { kind: 'ciba-user-code', limit: 'account' } }])
    const activity = await person.agent.get(`${server.url}/account/activity`)
    expect(textOf(activity)).toContain('Too many wrong codes were given with requests for your approval')
  })

  test('which no key of the server opens lets nobody ask, and stands in nobody’s way to another', async () => {
    const person = await newPerson()
    const form = { scope: 'openid', login_hint: person.username, user_code: 'Pflaume' }
    await setCode(person, { approval_code: 'Pflaume' })
    await server.database.query(
      `update user_records set value = jsonb_set(value, '{sealed}', '"x"') where kind = 'ciba-user-code' and user_id = $1`,
      [person.id],
    )
    expect((await call(server, form)).status).toBeGreaterThanOrEqual(400)
    expect(textOf(await person.agent.get(`${server.url}/account/security`))).toContain('Change the code')
    expect(textOf(await setCode(person, { approval_code: 'Pflaume' }))).toContain('The code is set.')
    expect(await call(server, form)).toMatchObject({ status: 200 })
  })

  test('is not guessed', async () => {
    const person = await newPerson()
    await setCode(person, { approval_code: '4711' })
    const form = { scope: 'openid', login_hint: person.username }
    const from = { 'x-forwarded-for': '203.0.113.77' }
    const statuses: number[] = []
    for (let tries = 0; tries < 12; tries++)
      statuses.push((await call(server, { ...form, user_code: `000${tries}` }, CALL_CENTRE, from)).status)
    expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 400))
    expect(statuses.at(-1)).toBe(429)
    expect((await call(server, { ...form, user_code: '4711' }, CALL_CENTRE, from)).status).toBe(429)
  })
})

test('what was asked, allowed and denied is in the audit log and on the account', async () => {
  const person = await newPerson()
  await goThrough(person.agent, await signIn(person, await ask(server, { login_hint: person.username })))
  const denied = await person.agent.get(pageOf(server, await ask(server, { login_hint: person.username })))
  await person.agent.submit(denied, 'consent', { decision: 'deny' })
  for (const type of ['ciba.asked', 'ciba.allowed', 'ciba.denied'] as const)
    await expect
      .poll(async () => (await audit.list({ type, user: person.id })).events[0])
      .toMatchObject({ client: 'call-centre', details: { address: '127.0.0.1' } })
  const text = textOf(await person.agent.get(`${server.url}/account/activity`))
  for (const words of ['An app asked for your approval', 'You approved what an app asked for', 'You denied what an app asked for'])
    expect(text).toContain(words)
}) // prettier-ignore

test.each([
  ['de', ['Erwarten Sie das?', 'Sie haben abgelehnt']],
  ['es', ['¿Espera usted esto?', 'Lo ha rechazado']],
])('in %s', async (language, [notice, denied]) => {
  const person = await newPerson()
  const asked = await ask(server, { login_hint: person.username })
  const agent: UserAgent = createUserAgent(server.url, { 'accept-language': language })
  const consent = await signIn({ ...person, agent }, asked)
  expect(consent.body).toContain(notice)
  expect((await agent.submit(consent, 'consent', { decision: 'deny' })).body).toContain(denied)
})

/** As if its time had passed. */
async function expire(asked: { auth_req_id: string }): Promise<void> {
  const id = new URL(pageOf(server, asked)).searchParams.get('id')
  await server.database.query(
    `update artifacts set value = jsonb_set(value, '{expiresAt}', '1') where kind = 'ciba' and value->>'id' = $1`,
    [id],
  )
}
