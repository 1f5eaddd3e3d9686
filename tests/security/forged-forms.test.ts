/** Cross-site request forgery: no form that changes anything gets through unless a page of ours was its origin. */
import { beforeAll, describe, expect, test } from 'vitest'
import { shownError } from '../support/error-page.ts'
import { MAIL_CODE } from '../support/mail-code.ts'
import { routesOf } from '../support/routes.ts'
import { startServer } from '../support/server.ts'
import { authorizationUrl, BOB, goThrough, SEED } from '../support/sign-in.ts'
import { until } from '../support/until.ts'
import { createUserAgent } from '../support/user-agent.ts'
import {
  ACCOUNT,
  ADMINISTRATION,
  CONFIRM_EMAIL,
  CONFIRM_NEWCOMER,
  CONFIRM_SIGN_UP,
  CONSENT,
  DEVICE,
  ENTER_MAIL_CODE,
  FORGOT_PASSWORD,
  KEEP_ACCOUNT,
  type FormKind,
  FORMLESS,
  formsThere,
  INVITATION,
  LEAVE,
  LOGIN,
  MAIL_CODE_BUTTON,
  type OpenForm,
  RESET_PASSWORD,
  SET_PASSWORD,
  SETUP,
  SIGNALS,
  SIGN_IN,
  SIGN_OUT,
  SIGN_UP,
  SWITCH_ACCOUNT,
  stateOf,
} from './forms.ts'

const server = await startServer(
  {
    ...MAIL_CODE,
    OIDC_CIBA: true,
    OIDC_SIGN_UP: 'on',
    OIDC_REGISTRATION: 'token',
    OIDC_CLIENT_METADATA_DOCUMENTS: 'any',
    OIDC_SHARED_SIGNALS: 'on',
  },
  { seed: SEED },
)
const FORM = 'application/x-www-form-urlencoded'
/** The setup before the administration: it makes the first administrator. */
const KINDS: Record<string, FormKind> = formsThere<Record<string, FormKind>>({ setup: SETUP, 'sign-in': SIGN_IN, login: LOGIN, 'code by mail': MAIL_CODE_BUTTON, 'enter a code': ENTER_MAIL_CODE, consent: CONSENT, 'kept account': KEEP_ACCOUNT, 'switch of accounts': SWITCH_ACCOUNT, 'way back to the app': LEAVE, 'sign-out': SIGN_OUT, 'set password': SET_PASSWORD, 'forgotten password': FORGOT_PASSWORD, 'reset password': RESET_PASSWORD, invitation: INVITATION, 'confirm an address': CONFIRM_EMAIL, 'sign-up': SIGN_UP, 'confirm a sign-up': CONFIRM_SIGN_UP, 'confirm a newcomer': CONFIRM_NEWCOMER, device: DEVICE, ...ADMINISTRATION, ...SIGNALS, ...ACCOUNT }) // prettier-ignore

interface Sent {
  url?: string
  fields?: Record<string, string | undefined>
  headers?: Record<string, string>
  body?: string
}

/** Sends the form with some of it changed; redirects are not followed. */
async function send(
  { agent, action, fields }: OpenForm,
  { url = action, headers = {}, ...sent }: Sent,
): Promise<Response> {
  const all = Object.entries({ ...fields, ...sent.fields })
  const given = all.filter((pair): pair is [string, string] => pair[1] !== undefined)
  const cookie = [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return server.request(url, {
    method: 'POST',
    headers: { 'content-type': FORM, origin: server.url, cookie, ...headers },
    body: sent.body ?? new URLSearchParams(given).toString(),
  })
}

/** Waits for what the form before has set going. */
async function mailed(): Promise<void> {
  const underWay = `select from outbox where given_up_at is null and kind in ('password-reset', 'sign-up', 'invitation', 'confirm-email', 'mail-code', 'mail')`
  await until(async () => expect(await server.database.query(underWay)).toEqual([]))
}

describe.each(Object.entries(KINDS))('S3: the %s form', (name, kind) => {
  let form: OpenForm
  let before: unknown
  const open = async (): Promise<void> => {
    form = await kind.open(server)
    await mailed()
    before = await stateOf(server)
  }
  // What is refused takes nothing from it: at the end it gets through.
  beforeAll(open)

  test('with a token of something else is refused', async () => {
    const genuine = form.fields['csrf_token']!
    const tokens = {
      empty: '',
      'of nothing': 'x',
      'of the right form': 'A'.repeat(43),
      cut: genuine.slice(0, -1),
      'with more': `${genuine}A`,
      'with another first character': `${genuine.startsWith('_') ? 'A' : '_'}${genuine.slice(1)}`,
    }
    for (const [what, csrf_token] of Object.entries(tokens)) {
      if (name === 'sign-out' && what === 'empty') continue
      expect([what, await shownError(send(form, { fields: { csrf_token } }))]).toEqual([what, [403, 'access_denied']])
    }
    expect(await stateOf(server)).toEqual(before)
  }) // prettier-ignore

  test('in a browser that was not shown it is refused', async () => {
    const stranger = createUserAgent(server.url)
    await goThrough(stranger, await stranger.get(authorizationUrl(server)), BOB)
    before = await stateOf(server)
    expect(await shownError(send({ ...form, agent: stranger }, {}))).toEqual([403, 'access_denied'])
    expect(await stateOf(server)).toEqual(before)
  })

  test('from a page of another site is refused, the right token or not', async () => {
    const origins: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: '' },
      { origin: `${server.url}.evil.example` },
      { origin: server.url.replace('http:', 'https:') },
      { origin: server.url.replace(/:\d+$/, ':1') },
      { origin: server.url.replace('127.0.0.1', 'localhost') },
      { origin: 'chrome-extension://abcdefgh' },
      { origin: `${server.url}, https://evil.example` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
    ]
    for (const headers of origins)
      expect([headers, await shownError(send(form, { headers }))]).toEqual([headers, [403, 'access_denied']])
    expect(await stateOf(server)).toEqual(before)
  })

  test('is not read from the query, nor from any other type of content', async () => {
    const { csrf_token: token } = form.fields
    const inQuery = await send(form, {
      url: `${form.action}${form.action.includes('?') ? '&' : '?'}csrf_token=${token}`,
      fields: { csrf_token: undefined },
    })
    // Signing out without a token is a question.
    expect(inQuery.status).toBe(name === 'sign-out' ? 200 : 403)
    const json = JSON.stringify(form.fields)
    for (const type of [
      'text/plain',
      'application/json',
      'multipart/form-data; boundary=x',
      `${FORM}; charset=utf-16`,
    ]) {
      const headers = { 'content-type': type }
      expect([type, await shownError(send(form, { headers, body: json }))]).toEqual([
        type,
        [415, 'invalid_request'],
      ])
    }
    expect(
      await shownError(send(form, { body: `${new URLSearchParams(form.fields).toString()}&csrf_token=x` })),
    ).toEqual([400, 'invalid_request'])
    const got = await server.get(`${form.action}?${new URLSearchParams(form.fields).toString()}`)
    expect(got.status).toBe(kind.opened ?? 405)
    expect(await stateOf(server)).toEqual(before)
  })

  test('gets through as it is, after all of that', async () => {
    expect((await send(form, {})).status).toBeLessThan(400)
    expect(await stateOf(server)).not.toEqual(before)
    await server.database.query(`delete from users where username = 'administrator'`)
  })

  test('with a token of another form of this browser, or of another browser, is refused', async () => {
    await open()
    const others = [
      ...(name === 'login' || name === 'consent' ? [await kind.open(server, form.agent)] : []),
      await kind.open(server),
      await LOGIN.open(server, form.agent),
      await CONSENT.open(server),
    ]
    before = await stateOf(server)
    for (const { fields } of others)
      expect(await shownError(send(form, { fields: { csrf_token: fields['csrf_token'] } }))).toEqual([
        403,
        'access_denied',
      ])
    expect(await stateOf(server)).toEqual(before)
  })
})

test('every route that takes forms of pages is one of these, or changes nothing', async () => {
  const takers = new Set<string>()
  // As somebody who is let in everywhere.
  const { agent } = await ADMINISTRATION.client.open(server)
  const cookie = [...agent.cookies].map((pair) => pair.join('=')).join('; ')
  for (const { url, methods } of routesOf(server.server)) {
    if (!methods.includes('POST')) continue
    const path = url.replaceAll(/:[a-z]+/g, 'x')
    const response = await server.post(path, {}, { accept: 'text/html', cookie, origin: server.url })
    if (response.status === 405) continue
    if (response.headers.get('content-type')?.startsWith('text/html') === true)
      takers.add(url.replace(/\/$/, ''))
  }
  const known = Object.values(KINDS).map(({ route }) => route)
  // An authorization request may come by POST (OpenID Connect Core §3.1.2.1); it only ever asks.
  expect(takers).toEqual(new Set([...known, ...FORMLESS, '/authorize']))
})

test('consent is given by whom the page was shown to: after another sign-in in the same browser it is not', async () => {
  const shown = await CONSENT.open(server)
  const login = await LOGIN.open(server, shown.agent)
  await shown.agent.post(login.action, login.fields)
  const before = await stateOf(server)
  expect(await shownError(send(shown, {}))).toEqual([403, 'access_denied'])
  expect(await stateOf(server)).toEqual(before)
})

test("an attacker's own login form signs nobody in with another browser", async () => {
  const attacker = await LOGIN.open(server)
  const victim = createUserAgent(server.url)
  await victim.get(authorizationUrl(server))
  const cookies = new Map(victim.cookies)
  expect(await shownError(victim.post(attacker.action, attacker.fields))).toEqual([403, 'access_denied'])
  expect(victim.cookies).toEqual(cookies)
})

test('a sign-out that came without cookies takes none away', async () => {
  const headers = { 'content-type': FORM, origin: 'https://evil.example' }
  for (const body of [
    '',
    'csrf_token=x',
    `x=${'x'.repeat(4000)}&y=${'y'.repeat(4000)}&z=${'z'.repeat(4000)}`,
  ])
    for (const more of [{}, { 'sec-fetch-site': 'cross-site' }]) {
      const response = await server.request('/end-session', {
        method: 'POST',
        headers: { ...headers, ...more },
        body,
      })
      expect([response.status < 400, response.headers.getSetCookie()]).toEqual([true, []])
    }
})
