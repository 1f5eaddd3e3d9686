/** Interactions: one browser's each, in the order of their steps, and ended once. */
import { deflateRawSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { open, seal } from '../../plugins/interaction/asked.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { shownError } from '../support/error-page.ts'
import { startServer } from '../support/server.ts'
import { ALICE, answerOf, authorizationUrl, authorize, exchange, SEED } from '../support/sign-in.ts'
import { createUserAgent, findForm, type Page } from '../support/user-agent.ts'
import { CONSENT, formOn, LOGIN, type OpenForm, stateOf } from './forms.ts'

const server = await startServer({}, { seed: SEED })
const pageOf = ({ action }: OpenForm): string => action.replace(/\/[a-z]+\?/, '?')
/** The same form, sent to another step. */
const sentTo = (step: string, { action }: OpenForm): string => action.replace(/[a-z]+\?/, `${step}?`)
const submit = ({ agent, action, fields }: OpenForm, more: Record<string, string> = {}): Promise<Page> =>
  agent.post(action, { ...fields, ...more })

describe('of another browser', () => {
  test('neither its page nor its form can be used', async () => {
    const [login, consent] = [await LOGIN.open(server), await CONSENT.open(server)]
    const before = await stateOf(server)
    const attacker = (await CONSENT.open(server, createUserAgent(server.url))).agent
    for (const form of [login, consent]) {
      for (const agent of [attacker, createUserAgent(server.url)]) {
        expect(await shownError(agent.get(pageOf(form)))).toEqual([403, 'access_denied'])
        expect(await shownError(agent.post(form.action, form.fields))).toEqual([403, 'access_denied'])
      }
    }
    expect(before).toMatchObject({ codes: 0, consents: null })
    expect(await stateOf(server)).toMatchObject({ codes: 0, consents: null })
  })

  test('the session alone does not open it', async () => {
    const form = await CONSENT.open(server)
    const thief = createUserAgent(server.url)
    thief.cookies.set('latchkey-session', form.agent.cookies.get('latchkey-session')!)
    expect(await shownError(thief.get(pageOf(form)))).toEqual([403, 'access_denied'])
    expect(await shownError(thief.post(form.action, form.fields))).toEqual([403, 'access_denied'])
  })

  test('its id is 256 random bits, and nothing near it is one', async () => {
    const form = await LOGIN.open(server)
    const { pathname, search } = new URL(pageOf(form))
    const id = pathname.split('/').at(-1)!
    expect(id).toMatch(/^[A-Za-z0-9_-]{43}$/)
    const others = [
      id.slice(0, -1), `${id}A`, id.toLowerCase(), id.split('').toReversed().join(''), 'A'.repeat(43), '%00',
      '__proto__', 'constructor', `${id}%00`, `${id}%20`, `${id}%0d%0aSet-Cookie:a=b`, "'or'1'='1", '%F0%9F%92%A9',
    ] // prettier-ignore
    for (const other of others) {
      for (const query of ['', search]) {
        const answer = await form.agent.get(`${server.url}/interaction/${other}${query}`)
        expect([other, answer.body.includes('id="login"')]).toEqual([other, false])
        expect([400, 404]).toContain(answer.status)
      }
    }
    expect((await form.agent.get(pageOf(form))).status).toBe(200)
  }) // prettier-ignore
})

test('nothing of what travels in its address can be changed, nor taken to another one', async () => {
  const [form, other] = [await LOGIN.open(server), await LOGIN.open(server)]
  const sealedOf = (one: OpenForm): string => new URL(one.action).searchParams.get('request')!
  const sealed = sealedOf(form)
  const at = Math.floor(sealed.length / 2)
  const changed = [
    sealedOf(other), '', sealed.slice(0, -1), `${sealed}A`, `${sealed}AA`, `${sealed}=`, `${sealed}.`, sealed.slice(1), sealed.split('.')[1]!, 'x'.repeat(7400),
    `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`, 'x'.repeat(7401), `${sealed}&request=x`,
    '__proto__', '.', '..', 'AAAAAAAA.', `${sealed.split('.')[0]}.`, `${sealed.split('.')[0]}.AAAA`, '%00', '%ff',
  ] // prettier-ignore
  for (const one of changed) {
    const to = form.action.replace(/request=.*/, () => `request=${one}`)
    expect([one, await shownError(form.agent.get(to.replace('/login?', '?')))]).toEqual([one, [400, 'invalid_request']])
    expect([one, await shownError(form.agent.post(to, form.fields))]).toEqual([one, [400, 'invalid_request']])
  }
  expect((await form.agent.get(pageOf(form))).status).toBe(200)
}) // prettier-ignore

describe('S8: in order', () => {
  test('consent before sign-in leads to the sign-in, whatever it says', async () => {
    const login = await LOGIN.open(server)
    const before = await stateOf(server)
    const page = await login.agent.post(sentTo('consent', login), { ...login.fields, decision: 'allow' })
    expect(findForm(page, 'login')).toBeDefined()
    expect(await stateOf(server)).toEqual(before)
  })

  test('a step that is none leads to the one that is next', async () => {
    const consent = await CONSENT.open(server)
    const before = await stateOf(server)
    for (const step of ['login', 'nothing', '__proto__', 'constructor', 'toString', 'Consent', 'consent%20']) {
      const page = await consent.agent.post(sentTo(step, consent), consent.fields)
      expect([step, findForm(page, 'consent') !== undefined]).toEqual([step, true])
    }
    expect(await stateOf(server)).toEqual(before)
  }) // prettier-ignore

  test('a fresh sign-in that was asked for cannot be skipped by the session there is', async () => {
    const { agent } = await CONSENT.open(server)
    for (const asked of [{ prompt: 'login' }, { max_age: '0' }, { prompt: 'select_account' }]) {
      const form = formOn(await agent.get(authorizationUrl(server, asked)), agent, { decision: 'allow' })
      const before = await stateOf(server)
      await agent.post(sentTo('consent', form), form.fields)
      expect(await stateOf(server)).toEqual(before)
      expect(findForm(await agent.get(pageOf(form)), 'login')).toBeDefined()
    }
  })

  test('an empty form signs nobody in and allows nothing', async () => {
    const [login, consent] = [await LOGIN.open(server), await CONSENT.open(server)]
    const before = await stateOf(server)
    for (const fields of [{}, { username: ALICE.username }, { password: ALICE.password }]) {
      const { csrf_token } = login.fields
      const page = await login.agent.post(login.action, { csrf_token: csrf_token!, ...fields })
      expect([page.status, page.body.includes('id="login-error"')]).toEqual([403, true])
    }
    const { csrf_token } = consent.fields
    const page = await consent.agent.post(consent.action, { csrf_token: csrf_token! })
    expect(page.headers.get('location') ?? '').not.toContain('code=')
    expect(await stateOf(server)).toEqual(before)
  })

  test.each(['', 'ALLOW', 'Allow', 'allow ', 'true', '1', 'yes', 'allow,deny', '["allow"]', 'deny\nallow', '__proto__'])(
    'a decision that is neither allow nor deny gives nothing: %j',
    async (decision) => {
      const consent = await CONSENT.open(server)
      const before = await stateOf(server)
      const page = await submit(consent, { decision })
      expect(page.headers.get('location') ?? '').not.toContain('code=')
      expect(await stateOf(server)).toEqual(before)
    },
  ) // prettier-ignore

  test('both decisions at once are none', async () => {
    const { agent, action, fields } = await CONSENT.open(server)
    const before = await stateOf(server)
    const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
    const pairs: [string, string][] = [...Object.entries(fields), ['decision', 'deny']]
    const answer = server.post(action, pairs, { cookie, origin: server.url })
    expect(await shownError(answer)).toEqual([400, 'invalid_request'])
    expect(await stateOf(server)).toEqual(before)
  })

  test('fields that the form does not have change nothing of what is granted', async () => {
    const consent = await CONSENT.open(server)
    const page = await submit(consent, {
      scope: 'openid read_books profile email', scopes: 'profile', client_id: 'other', sub: 'bob', user: 'bob',
      redirect_uri: 'https://evil.example/', state: 'evil', prompt: 'none', notes: '{"login":{}}', '__proto__[sid]': 'x',
    }) // prettier-ignore
    const answer = answerOf(page)
    expect(page.headers.get('location')).toMatch(/^https:\/\/app\.example\/callback\?/)
    expect(answer.get('state')).toBe('a state')
    const tokens = (await (await exchange(server, answer.get('code')!)).json()) as { scope: string }
    expect(tokens.scope).toBe('openid read_books')
  })
})

describe('once', () => {
  test('a form that ended one gets no second answer, allowed or denied', async () => {
    for (const decision of ['allow', 'deny']) {
      const consent = await CONSENT.open(server)
      expect((await submit(consent, { decision })).status).toBe(303)
      const before = await stateOf(server)
      for (const again of ['allow', 'deny'])
        expect(await shownError(submit(consent, { decision: again }))).toEqual([400, 'invalid_request'])
      expect(await shownError(consent.agent.get(pageOf(consent)))).toEqual([400, 'invalid_request'])
      expect(await stateOf(server)).toEqual(before)
    }
  })

  test('twenty at once give one code', async () => {
    const consent = await CONSENT.open(server)
    const before = (await stateOf(server)) as { codes: number }
    const pages = await Promise.all(
      Array.from({ length: 20 }, async () => submit({ ...consent, agent: consent.agent.clone() })),
    )
    const codes = pages.filter((page) => page.headers.get('location')?.includes('code=') === true)
    expect(codes).toHaveLength(1)
    expect(new Set(pages.map((page) => page.status))).toEqual(new Set([303, 400]))
    expect(await stateOf(server)).toMatchObject({ codes: before.codes + 1 })
  })

  test('an hour later it is over', async () => {
    const [consent, login] = [await CONSENT.open(server), await LOGIN.open(server)]
    vi.setSystemTime(Date.now() + 3_600_001)
    for (const form of [consent, login]) {
      expect(await shownError(form.agent.get(pageOf(form)))).toEqual([400, 'invalid_request'])
      expect(await shownError(submit(form))).toEqual([400, 'invalid_request'])
    }
    vi.useRealTimers()
  })
})

test.each([
  ['does not inflate', Buffer.from('no deflate stream')],
  ['is no JSON', deflateRawSync('{')],
  ['inflates without end', deflateRawSync(JSON.stringify({ request: 'x'.repeat(2_000_000) }))],
])('what was sealed under our key and %s is no interaction', async (_what, bytes) => {
  const login = await LOGIN.open(server)
  const address = new URL(pageOf(login), server.url)
  const id = address.pathname.split('/').at(-1)!
  address.searchParams.set('request', kernelOf(server.server).box.seal(bytes, `interaction ${id}`))
  expect(await shownError(login.agent.get(address.href))).toEqual([400, 'invalid_request'])
  expect(open(kernelOf(server.server).box, id, address.searchParams.get('request')!)).toBeNull()
})

test('a request that opens to more than that is not sealed', () => {
  const { box } = kernelOf(server.server)
  const asked = (state: string) => ({
    request: { client: '', scopes: [], resources: [], parameters: {} },
    outcome: '',
    state: { state },
    browser: '',
    notes: {},
    until: 0,
  })
  const most = asked('x'.repeat(1_000_000))
  expect(open(box, 'id', seal(box, 'id', most))).toEqual(most)
  expect(() => seal(box, 'id', asked('x'.repeat(1_048_576)))).toThrow('too long')
})

test('nothing that is stored of an interaction opens it, or tells whose browser it is', async () => {
  const { agent, action } = await CONSENT.open(server)
  const rows = JSON.stringify(await server.database.query('select * from artifacts'))
  for (const secret of [...agent.cookies.values(), new URL(action).pathname.split('/').at(-2)!])
    expect(rows).not.toContain(secret)
})

test('consent for one user is not consent of the next in the same browser', async () => {
  const agent = createUserAgent(server.url)
  expect((await authorize(server, {}, agent)).has('code')).toBe(true)
  const login = await LOGIN.open(server, agent)
  const page = await submit(login)
  expect(findForm(page, 'consent')).toBeDefined()
})
