/** Models of pages, to try templates with: as the flows give them, small. */
import type { ClientView, FormTarget, Pages } from '../models.ts'

export const TARGET: FormTarget = { action: '/answer', csrfToken: 'token-of-the-form' }
export const AT = new Date('2026-11-21T16:30:12Z')
export const CLIENT: ClientView = {
  name: 'Photo Prints',
  claim: null,
  host: 'prints.example',
  logoUri: 'https://prints.example/logo.png',
  policyUri: 'https://prints.example/privacy',
  tosUri: 'https://prints.example/terms',
  homeUri: 'https://prints.example/',
}
/** One that has registered itself. */
export const STRANGER: ClientView = { ...CLIENT, name: 'prints.example', claim: 'Photo Prints', host: null }
export const PLAIN: ClientView = {
  name: 'Photo Prints',
  claim: null,
  host: null,
  logoUri: null,
  policyUri: null,
  tosUri: null,
  homeUri: null,
}

export const password: Pages['login-password'] = {
  ...TARGET,
  username: '',
  autocomplete: 'username',
  error: null,
  wait: null,
}
export const refused = { ...password, username: 'ada', error: 'That is not right.' }
export const waiting = { ...refused, wait: { seconds: 72, until: AT } }
export const passkey: Pages['login-passkey'] = {
  ...TARGET,
  issued: 'challenge',
  options: '{"challenge":"x"}',
  origin: 'https://login.example',
  error: null,
  unknown: '',
}
export const upstream: Pages['login-upstream'] = {
  ...TARGET,
  buttons: [{ id: 'corp', text: 'Continue with Corp' }],
  address: null,
  error: null,
  withheld: null,
  atAddress: false,
}
export const login = (part: string, model: object, more: Partial<Pages['login']> = {}): Pages['login'] => ({
  client: PLAIN,
  elements: [{ part, model }],
  links: [],
  refused: false,
  reauthenticate: false,
  knownUser: null,
  ...more,
})
export const scope = {
  name: 'read_books',
  title: 'Read your books',
  description: 'Titles, and the page that you are at.',
  resource: 'Book shelf',
  isNew: true,
  box: { name: 'scope:read_books', ticked: true },
}
export const consent: Pages['consent'] = {
  ...TARGET,
  client: CLIENT,
  user: { username: 'ada', name: 'Ada Lovelace' },
  notYou: { action: '/not-you', csrfToken: 'token-of-the-form' },
  redirectHost: 'prints.example',
  onThisDevice: true,
  scopes: [scope],
  details: { clientId: 'photo-prints', redirectUri: 'https://prints.example/signed-in', registeredAt: AT },
  notices: ['Did you start this yourself?'],
  bindingMessage: 'W4SCT',
  lines: [{ text: 'Transfer 100.00 EUR to Grace Hopper', isNew: true }],
}
export const failure: Pages['error'] = {
  status: 400,
  code: 'invalid_request',
  description: 'the redirect_uri is not registered',
  requestId: '0b8f3c8e-6a52-4d2c-9c51-6d6f0e2f9a11',
  time: AT,
  detail: [{ name: 'redirect_uri', value: 'https://prints.example/signed-in/' }],
  ways: [{ uri: 'https://prints.example/', text: 'Continue to Photo Prints' }],
  words: null,
  who: null,
  again: null,
  offersSignOut: false,
}
export const signUp: Pages['sign-up-form'] = {
  ...TARGET,
  values: { username: '', email: '' },
  problems: {},
  passwordMinLength: 8,
  domains: null,
  back: '',
  signIn: { href: '/sign-in' },
}
export const confirmed: Pages['sign-up-confirm'] = {
  ...TARGET,
  token: 'one-time-token',
  username: 'ada',
  email: 'ada@example.com',
  asksForName: false,
  asksForPassword: false,
  problems: {},
  passwordMinLength: 8,
}
export const problems = {
  username: 'This is taken.',
  email: 'This is none.',
  password: 'Too short.',
  form: 'No.',
}
export const newPassword: Pages['new-password'] = {
  ...TARGET,
  ids: { form: 'set-password', button: null },
  lead: 'This link works once. Setting your password signs you out wherever you are signed in.',
  token: 'one-time-token',
  username: 'ada',
  error: null,
  passwordMinLength: 8,
}
export const waysOut = {
  client: CLIENT,
  username: 'ada',
  notYou: { action: '/not-you', csrfToken: 'token-of-the-form' },
  leave: { action: '/leave', csrfToken: 'token-of-the-form' },
}
export const noWaysOut = { ...waysOut, notYou: null, leave: null }
export const passkeyStep: Pages['passkey-step'] = {
  ...TARGET,
  ...waysOut,
  issued: passkey.issued,
  options: passkey.options,
  origin: passkey.origin,
  links: [],
  error: null,
}
export const factor: Pages['factor'] = {
  ...TARGET,
  ...waysOut,
  recovery: false,
  otherUri: '/other',
  others: [],
  error: null,
  wait: null,
}
export const totp: Pages['factor-totp'] = {
  ...TARGET,
  secret: 'JBSWY3DPEHPK3PXP',
  picture: { path: 'M0 0h1v1h-1z', size: 33 },
  error: null,
}
export const codes = ['aaaa-bbbb', 'cccc-dddd']
