/** Every page with models as the flows give them: the plain case, and those that look different. */
import type { ClientView, Pages } from '../../../plugins/pages/models.ts'
import { UNREADABLE } from '../../../plugins/pages/error-page.ts'
import { standardScopes, wordsOfClaim } from '../../../plugins/pages/words.ts'
import { message, reason, sentenceOf } from '../../../src/protocol/message.ts'
import { rowsWith } from '../../support/left-out.ts'

export interface Sample {
  name: keyof Pages
  state: string
  model: Pages[keyof Pages]
}

const form = { action: '/answer', csrfToken: 'token-of-the-form' }
const plain: ClientView = {
  name: 'Photo Prints',
  claim: null,
  host: 'prints.example',
  logoUri: null,
  policyUri: null,
  tosUri: null,
  homeUri: null,
}
/** One that has registered itself under a name that people know. */
const stranger: ClientView = { ...plain, name: 'prints.example', claim: 'Google Photos', host: null }
const registered: ClientView = {
  ...plain,
  logoUri: 'https://prints.example/logo.png',
  policyUri: 'https://prints.example/privacy',
  tosUri: 'https://prints.example/terms',
  homeUri: 'https://prints.example/',
}
/** The sign-in page with the one element that we have. */
const login = (
  element: Partial<Pages['login-password']> = {},
  more: Partial<Pages['login']> = {},
): Pages['login'] => ({
  client: plain,
  elements: [
    {
      part: 'login-password',
      model: { ...form, username: '', autocomplete: 'username', error: null, wait: null, ...element },
    },
  ],
  links: [],
  refused: element.error !== undefined,
  reauthenticate: false,
  knownUser: null,
  ...more,
})
const scopes = [...standardScopes].map(([name, prompt]) => ({
  name,
  ...prompt,
  resource: null,
  isNew: true,
  box: null,
}))
const books = {
  name: 'read_books',
  title: 'Read your books',
  description: 'Titles, and the page that you are at.',
  resource: 'Book shelf',
  isNew: true,
  box: null,
}
const consent = {
  ...form,
  client: registered,
  user: { username: 'ada', name: 'Ada Lovelace' },
  notYou: { ...form, action: '/not-you' },
  redirectHost: 'prints.example',
  onThisDevice: false,
  scopes: [...scopes.slice(0, 2), books],
  details: {
    clientId: 'photo-prints',
    redirectUri: 'https://prints.example/signed-in',
    registeredAt: new Date('2026-11-21T09:30:00Z'),
  },
  notices: [],
  bindingMessage: null,
  lines: [],
}
const failure = {
  status: 400,
  code: 'invalid_request',
  description: 'the redirect_uri is not registered',
  requestId: '0b8f3c8e-6a52-4d2c-9c51-6d6f0e2f9a11',
  time: new Date('2026-11-21T16:30:00Z'),
  detail: [{ name: 'redirect_uri', value: 'https://prints.example/signed-in/' }],
  ways: [],
  words: null,
  who: null,
  again: null,
  offersSignOut: false,
}
const setup = {
  ...form,
  token: 'one-time-token',
  values: { username: '', name: '', email: '' },
  errors: {},
  notice: null,
  passwordMinLength: 12,
}
const signUp = {
  ...form,
  values: { username: '', email: '' },
  problems: {},
  passwordMinLength: 8,
  domains: null,
  back: '',
  signIn: { href: '/sign-in' },
}
const waiting = { seconds: 27, until: new Date('2026-11-21T16:30:12Z') }
const mailCode = { ...form, email: 'ada@example.com', error: null, wait: null, notYet: null, mails: null }
const signUpConfirm = {
  ...form,
  token: 'one-time-token',
  username: 'ada',
  email: 'ada@example.com',
  asksForName: false,
  asksForPassword: false,
  problems: {},
  passwordMinLength: 8,
}
const newPassword = {
  ...form,
  ids: { form: 'set-password', button: null },
  lead: message('This link works once. Setting your password signs you out wherever you are signed in.'),
  token: 'one-time-token',
  username: 'ada',
  error: null,
  passwordMinLength: 8,
}
const home = {
  issuer: 'http://localhost:3000',
  discoveryUri: 'http://localhost:3000/.well-known/openid-configuration',
  user: null,
  development: true,
  links: [],
}
const frames = [
  'https://prints.example/sign-out?iss=https%3A%2F%2Flogin.example&sid=a-session',
  'http://127.0.0.1:9/sign-out',
]
const long = 'W'.repeat(80)

function sample<Name extends keyof Pages>(name: Name, state: string, model: Pages[Name]): Sample {
  return { name, state, model }
}

export const samples: readonly Sample[] = [
  sample('login', 'plain', login()),
  sample('login', 'registered', login({ username: 'ada' }, { client: registered })),
  sample(
    'login',
    'refused',
    login({ username: 'ada', error: message('That user name and password do not match.') }),
  ),
  sample(
    'login',
    'throttled',
    login({
      username: 'ada',
      error: message('There were too many tries.'),
      wait: { seconds: 72, until: new Date('2026-11-21T16:30:12Z') },
    }),
  ),
  sample('login', 'stranger', login({}, { client: stranger })),
  sample('login', 'again', login({ username: 'ada' }, { reauthenticate: true, knownUser: 'ada' })),
  sample('login', 'long', login({}, { client: { ...plain, name: long, host: `${long}.example` } })),
  sample(
    'login',
    'linked',
    login({}, { links: [{ id: 'sign-up', text: message('Create an account'), href: '/sign-up' }] }),
  ),
  sample('consent', 'new', consent),
  sample('consent', 'stranger', { ...consent, client: stranger }),
  sample('consent', 'optional', {
    ...consent,
    scopes: [...scopes.slice(0, 3), books].map((scope, at) => ({
      ...scope,
      box: at === 0 ? null : { name: `scope:${scope.name}`, ticked: at < 3 },
    })),
  }),
  sample('consent', 'more', {
    ...consent,
    client: plain,
    user: { username: 'ada', name: null },
    notYou: null,
    redirectHost: 'localhost:53682',
    onThisDevice: true,
    scopes: [...scopes.map((scope) => ({ ...scope, isNew: false })), books],
    lines: [
      { text: 'Transfer 100.00 EUR to Grace Hopper', isNew: true },
      { text: wordsOfClaim('name#de'), isNew: true },
      { text: wordsOfClaim('picture'), isNew: false },
      { text: wordsOfClaim('department'), isNew: false },
    ],
  }),
  sample('consent', 'elsewhere', {
    ...consent,
    redirectHost: null,
    details: { ...consent.details, redirectUri: null },
    notices: ['Did you start this yourself, on a device that shows the code WDJB-MJHT?'],
    bindingMessage: 'W4SCT',
  }),
  sample('consent', 'long', {
    ...consent,
    client: { ...plain, name: long },
    redirectHost: `${long}.example`,
  }),
  sample('consent', 'much', {
    ...consent,
    scopes: Array.from({ length: 15 }, (_, at) => ({
      ...books,
      name: `books${at}`,
      title: `Shelf ${at + 1}`,
    })),
  }),
  sample('error', 'request', failure),
  sample('error', 'expired', {
    ...failure,
    status: 403,
    code: 'access_denied',
    detail: [],
    words: {
      title: message('This page has expired'),
      text: message(
        'It was open for too long, or you have signed in or out meanwhile. What you sent has not been carried out.',
      ),
    },
    again: { action: '/answer', fields: { username: 'ada', expired_form: 'yes' } },
  }),
  sample('error', 'not-theirs', {
    ...failure,
    status: 403,
    code: 'access_denied',
    detail: [],
    words: {
      title: message('This page is for administrators'),
      text: message('This account is not an administrator’s.'),
    },
    who: 'ada',
    ways: [
      { uri: '/sign-in?account=other', text: message('Sign in as somebody else') },
      { uri: '/', text: message('Go to the start page') },
    ],
  }),
  sample('error', 'over', {
    ...failure,
    detail: [],
    ways: [{ uri: 'https://prints.example/', text: message('Continue to {app}', { app: long }) }],
    words: {
      title: message('This step is done'),
      text: message(
        'You have been through it already, here or in another tab. Nothing is left to do on this page.',
      ),
    },
  }),
  sample('error', 'missing-key', {
    ...failure,
    status: 403,
    code: 'access_denied',
    detail: [],
    ways: [{ uri: '/', text: message('Go to the start page') }],
    words: UNREADABLE,
  }),
  sample('error', 'ours', {
    ...failure,
    status: 500,
    code: 'server_error',
    detail: [],
    ways: [{ uri: 'https://prints.example/', text: message('Open the page again') }],
  }),
  sample('error', 'nothing', { ...failure, status: 404, code: 'not_found', detail: [] }),
  sample('error', 'stays', { ...failure, detail: [], offersSignOut: true }),
  sample('sign-out', 'client', {
    ...form,
    client: registered,
    user: 'ada',
    fields: { state: 'abc', client_id: 'photo-prints' },
  }),
  sample('sign-out', 'stranger', { ...form, client: stranger, user: 'ada', fields: {} }),
  sample('sign-out', 'plain', { ...form, client: null, user: null, fields: {} }),
  sample('signed-out', 'plain', { homeUri: '/', apps: [], frames: [] }),
  sample('signed-out', 'told', { homeUri: '/', apps: ['Photo Prints', long], frames }),
  sample('signing-out', 'told', { apps: ['Photo Prints', long], frames, next: '/end-session' }),
  sample('form-post', 'plain', {
    action: 'https://prints.example/signed-in',
    fields: { code: 'a-code', state: 'abc' },
  }),
  sample('home', 'nobody', home),
  sample('home', 'signed-in', {
    ...home,
    user: { username: 'ada', name: 'Ada Lovelace' },
    development: false,
    links: [
      {
        title: message('Your account'),
        href: '/account',
        text: message('Your profile and password, where you are signed in, and the apps with access.'),
      },
      {
        title: message('Administration'),
        href: '/admin',
        text: message('Apps, people, keys and the audit log.'),
      },
    ],
  }),
  sample('setup', 'plain', setup),
  sample('setup', 'refused', {
    ...setup,
    token: '',
    values: { username: 'ada', name: 'Ada Lovelace', email: 'ada' },
    errors: {
      email: sentenceOf(reason('must be an email address, such as alice@example.com')),
      password: message('This is too short: choose at least {minLength} characters.', { minLength: 12 }),
    },
  }),
  sample('setup', 'form', { ...setup, errors: { form: message('Please choose another password.') } }),
  sample('setup-done', 'plain', { username: 'ada', continueUri: '/', continueText: 'Continue' }),
  sample('new-password', 'plain', newPassword),
  sample('new-password', 'refused', {
    ...newPassword,
    ids: { form: 'reset-password', button: 'set-password' },
    error: sentenceOf(reason('must have {minLength} characters at least', { minLength: 8 })),
  }),
  ...rowsWith('latchkey-forgot-password', [
    sample('forgot-password', 'plain', { ...form, email: '', back: null, error: null }),
    sample('forgot-password', 'refused', {
      ...form,
      email: 'ada',
      back: '/interaction/x?request=y',
      error: message('This must be an email address, such as alice@example.com.'),
    }),
  ]),
  ...rowsWith('latchkey-mail-code', [
    sample('mail-code-address', 'plain', { ...form, email: '', error: null }),
    sample('mail-code-address', 'refused', {
      ...form,
      email: 'ada',
      error: message('This must be an email address, such as alice@example.com.'),
    }),
    sample('mail-code', 'plain', mailCode),
    sample('mail-code', 'refused', {
      ...mailCode,
      error: message('The code has six digits.'),
      mails: { text: message('Open the mails of this development server'), href: '/dev/mail' },
    }),
    sample('mail-code', 'throttled', {
      ...mailCode,
      error: message('There were too many tries.'),
      wait: waiting,
    }),
    sample('mail-code', 'too soon', {
      ...mailCode,
      notYet: { text: message('A mail takes a moment. A new code ends the one before.'), wait: waiting },
    }),
  ]),
  ...rowsWith('latchkey-sign-up', [
    sample('sign-up-form', 'plain', signUp),
    sample('sign-up-form', 'refused', {
      ...signUp,
      values: { username: 'ada', email: 'ada' },
      problems: {
        email: message('This must be an email address, such as alice@example.com.'),
        password: sentenceOf(reason('must have {minLength} characters at least', { minLength: 8 })),
      },
      domains: ['example.com', 'example.org'],
      back: '/interaction/x?request=y',
      signIn: form,
    }),
    sample('sign-up-confirm', 'plain', signUpConfirm),
    sample('sign-up-confirm', 'elsewhere', {
      ...signUpConfirm,
      asksForName: true,
      asksForPassword: true,
      problems: {
        username: message('This user name is taken. Choose another one.'),
        password: sentenceOf(reason('must have {minLength} characters at least', { minLength: 8 })),
      },
    }),
  ]),
  ...rowsWith('latchkey-device-code', [
    sample('device', 'plain', { ...form, userCode: '', prefilled: false, error: null }),
    sample('device', 'prefilled', { ...form, userCode: 'BCDF-GHJK', prefilled: true, error: null }),
    sample('device', 'refused', {
      ...form,
      userCode: 'BCDF-GHJK',
      prefilled: false,
      error: message(
        'That code is not known here, has been used, or is too old. Check it, or start again on the device.',
      ),
    }),
    sample('device-end', 'allowed', { allowed: true }),
    sample('device-end', 'denied', { allowed: false }),
  ]),
  ...rowsWith('latchkey-own-data', [
    sample('keep-account', 'plain', {
      ...form,
      username: 'ada',
      due: new Date('2026-12-24T12:00:00Z'),
      signOutUri: '/end-session',
    }),
    sample('keep-account', 'cancelled', { ...form, username: 'ada', due: null, signOutUri: null }),
  ]),
  sample('confirm', 'plain', {
    ...form,
    token: 'one-time-token',
    title: message('Confirm your email address'),
    text: message('{email} becomes the address of the account {username}.', {
      email: 'ada@example.com',
      username: 'ada',
    }),
    button: message('Confirm it'),
  }),
  sample('page-message', 'way-on', {
    title: message('Your address is confirmed'),
    text: message('We now reach you at it, and you can sign in with it instead of your user name.'),
    primary: { href: '/', text: message('Go to your account') },
  }),
  // As of a plugin that has no catalogue.
  sample('page-message', 'plain', {
    title: 'You may close this window',
    text: 'The app goes on by itself.',
    primary: null,
  }),
]
