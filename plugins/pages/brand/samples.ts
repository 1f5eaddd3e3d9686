/**
 * Templates of ours that an operator's may stand in for, and models to try them with: each member is there, and what may be null is null in
 * one of them. By them a template is tried before anybody sees it, and the version of the templates (`version.ts`) is watched.
 */
import type { Pages, Person } from '../models.ts'
import {
  TARGET,
  AT,
  CLIENT,
  STRANGER,
  PLAIN,
  password,
  refused,
  waiting,
  passkey,
  upstream,
  login,
  scope,
  consent,
  failure,
  signUp,
  confirmed,
  problems,
  newPassword,
  factor,
  waysOut,
  noWaysOut,
  passkeyStep,
  totp,
  codes,
} from './sample-models.ts'

const FRAMES = ['https://prints.example/sign-out?iss=https%3A%2F%2Flogin.example&sid=a-session']

export interface Samples {
  /** As `reply.page` knows it. */
  readonly page: string
  readonly models: readonly object[]
}

function of<Name extends keyof Pages>(page: Name, ...models: Pages[Name][]): Samples {
  return { page, models }
}

/** By the names of their files in `templates/`; the layout's stands for any page in it. */
export const SAMPLES: Readonly<Record<string, Samples>> = {
  login: of(
    'login',
    login('login-password', password, {
      client: CLIENT,
      links: [{ id: 'sign-up', text: 'Sign up', href: '/sign-up' }],
    }),
    login('login-password', waiting, {
      client: STRANGER,
      refused: true,
      reauthenticate: true,
      knownUser: 'ada',
    }),
    login('login-passkey', passkey),
    login('login-upstream', upstream),
  ),
  'login-password': of('login-password', password, refused, waiting),
  'login-passkey': of('login-passkey', passkey, { ...passkey, error: 'That is not right.', unknown: 'x' }),
  'login-upstream': of(
    'login-upstream',
    upstream,
    { ...upstream, address: '', error: 'That is not right.' },
    { ...upstream, withheld: 'Sign in another way.' },
  ),
  consent: of(
    'consent',
    consent,
    { ...consent, client: STRANGER },
    {
      ...consent,
      client: PLAIN,
      user: { username: 'ada', name: null },
      notYou: null,
      redirectHost: null,
      onThisDevice: false,
      scopes: [{ ...scope, description: null, resource: null, isNew: false, box: null }],
      details: { ...consent.details, redirectUri: null },
      notices: [],
      bindingMessage: null,
      lines: [],
    },
  ),
  error: of(
    'error',
    failure,
    {
      ...failure,
      ways: [{ uri: '/', text: 'Go on' }],
      words: { title: 'Expired', text: 'It is old.' },
      who: 'ada',
    },
    { ...failure, detail: [], ways: [], again: { action: '/answer', fields: { username: 'ada' } } },
    { ...failure, offersSignOut: true },
  ),
  'sign-out': of(
    'sign-out',
    { ...TARGET, client: CLIENT, user: 'ada', fields: { state: 'abc' } },
    { ...TARGET, client: null, user: null, fields: {} },
  ),
  'signed-out': of(
    'signed-out',
    { homeUri: '/', apps: [], frames: [] },
    { homeUri: '/', apps: ['Photo Prints'], frames: FRAMES },
  ),
  'signing-out': of('signing-out', { apps: ['Photo Prints'], frames: FRAMES, next: '/end-session' }),
  'sign-out-frames': of('sign-out-frames', { frames: FRAMES }),
  'form-post': of('form-post', { action: 'https://prints.example/signed-in', fields: { code: 'a-code' } }),
  home: of(
    'home',
    {
      issuer: 'https://login.example',
      discoveryUri: 'https://login.example/.well-known/openid-configuration',
      user: { username: 'ada', name: 'Ada Lovelace' },
      development: true,
      links: [{ title: 'Your account', href: '/account', text: 'What has access.' }],
    },
    {
      issuer: 'https://login.example',
      discoveryUri: 'https://login.example/',
      user: null,
      development: false,
      links: [],
    },
  ),
  confirm: of('confirm', {
    ...TARGET,
    token: 'one-time-token',
    title: 'Confirm your email address',
    text: 'The account ada gets the address ada@example.com.',
    button: 'Confirm it',
  }),
  'page-message': of(
    'page-message',
    { title: 'This link has been used', text: 'Ask for a new one.', primary: { href: '/', text: 'Go on' } },
    { title: 'You may close this window', text: 'The app goes on by itself.', primary: null },
  ),
  'new-password': of('new-password', newPassword, {
    ...newPassword,
    ids: { form: 'reset-password', button: 'set-password' },
    error: 'Too short.',
  }),
  'forgot-password': of(
    'forgot-password',
    { ...TARGET, email: '', back: null, error: null },
    { ...TARGET, email: 'ada', back: '/interaction/x?request=y', error: 'This is none.' },
  ),
  'sign-up': of(
    'sign-up-form',
    signUp,
    { ...signUp, problems, domains: ['example.com', 'example.org'], back: '/interaction/x?request=y' },
    { ...signUp, signIn: { action: '/interaction/x/login', csrfToken: 'token-of-the-form' } },
  ),
  'sign-up-confirm': of('sign-up-confirm', confirmed, {
    ...confirmed,
    asksForName: true,
    asksForPassword: true,
    problems,
  }),
  'keep-account': of(
    'keep-account',
    { ...TARGET, username: 'ada', due: AT, signOutUri: '/end-session' },
    { ...TARGET, username: 'ada', due: null, signOutUri: null },
  ),
  factor: of('factor', factor, { ...factor, ...noWaysOut, error: 'That is not right.' }, { ...factor, recovery: true, error: 'Wait.', wait: waiting.wait }), // prettier-ignore
  'factor-totp': of('factor-totp', totp, { ...totp, error: 'That is not right.' }),
  'factor-codes': of('factor-codes', { codes }),
  'factor-ways-out': of('factor-ways-out', waysOut, noWaysOut),
  'factor-setup': of(
    'factor-setup',
    { ...waysOut, totp },
    { ...noWaysOut, totp: { ...totp, error: 'That is not right.' } },
  ),
  'factor-setup-codes': of('factor-setup-codes', { ...TARGET, codes }),
  device: of(
    'device',
    { ...TARGET, userCode: '', prefilled: false, error: null },
    { ...TARGET, userCode: 'BCDF-GHJK', prefilled: true, error: null },
    { ...TARGET, userCode: 'BCDF', prefilled: false, error: 'That is not right.' },
  ),
  'device-end': of('device-end', { allowed: true }, { allowed: false }),
  'passkey-step': of('passkey-step', passkeyStep, { ...passkeyStep, ...noWaysOut }),
}

const LAYOUT = 'layout'
/** Who is signed in, for the top of pages. */
export const PERSON: Person = {
  name: 'ada',
  signOut: { action: '/end-session', csrfToken: 'token-of-sign-out' },
}
/** Whether an operator's template may stand in for ours of this name. */
export function isReplaceable(name: string): boolean {
  return name === LAYOUT || Object.hasOwn(SAMPLES, name)
}

export const REPLACEABLE: readonly string[] = [LAYOUT, ...Object.keys(SAMPLES).toSorted()]
