/**
 * The way to sign in `mail-code`: a button on the sign-in page; a page that asks for the address, unless that stands in the field of the user name
 * already; and one that asks for the code.
 */
import type { FastifyInstance } from 'fastify'
import type { BrowserCall, RefusalPage, StepPage } from '../../src/doors/interaction.ts'
import type { Proof, SignInAsked, SignInElement } from '../../src/doors/sign-in.ts'
import type { User } from '../../src/doors/user.ts'
import { waitFor, type Waiting } from '../../src/http/wait.ts'
import { addressKey, isMailAddress, NO_MAIL_ADDRESS } from '../../src/protocol/mail-address.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { compileParameters } from '../../src/protocol/parameters.ts'
import { Type } from '../../src/protocol/schema.ts'
import { sixDigits } from '../../src/protocol/typed-code.ts'
import { readHere } from '../mail/read-here.ts'
import { verifiedAddressOf } from '../mail/verified-address-of.ts'
import type { FormTarget } from '../pages/models.ts'
import type { Asked, MailCodes } from './codes.ts'
import { createGuess } from './guesses.ts'
import type { SendCode } from './sending.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'login-mail-code': MailCodeElement
    'mail-code-address': MailCodeAddress
    'mail-code': MailCodePage
  }
}

interface MailCodeElement extends FormTarget {
  /** Whether its button sends the form with the field of the user name along. */
  besidePassword: boolean
  /** Whether nobody has a password here. */
  isFirst: boolean
  error: Words | null
}

interface MailCodeAddress extends FormTarget {
  email: string
  error: Words | null
}

interface MailCodePage extends FormTarget {
  email: string
  error: Words | null
  /** Until another code is looked at; null for at once. */
  wait: Waiting | null
  /** Why there is no other code yet; null where nobody asked, or there is one. */
  notYet: { text: Words; wait: Waiting } | null
  /** Where a development start shows its mails; null elsewhere. */
  mails: { text: Words; href: string } | null
}

/** Its name, in addresses, in notes, and among the ways in. */
const METHOD = 'mail-code'
/** RFC 8176 §2, and one factor. */
const SHOWN = { amr: ['otp'], acr: '1' } as const
/** What leads to the page that asks for the address. */
const ADDRESS = { asks: 'address' } as const
/** What leads to the sign-in page. */
const NONE = { state: null }
const NOT_SIX = message('The code has six digits.')
const WRONG = message('That code is not right. Look for the latest mail: only its code is good.')
const OVER = message('This code is not good any more. Ask for another one.')
const TOO_SOON = message('A mail takes a moment. A new code ends the one before.')

/** Whose mails may sign them in: the address is confirmed to be theirs. */
function isWayIn(user: User): boolean {
  return verifiedAddressOf(user) !== null
}

export async function addSignIn(fastify: FastifyInstance, codes: MailCodes, send: SendCode): Promise<void> {
  const { oauth, pages } = fastify
  const guess = createGuess(fastify)
  const Text = Type.Optional(Type.String())
  const parse = compileParameters(
    Type.Object({ username: Text, email: Text, code: Text, again: Text, other: Text }),
  )
  const file = (name: string): URL => new URL(`../../templates/${name}.eta`, import.meta.url)
  await pages.add('login-mail-code', file('login-mail-code'))
  for (const page of ['mail-code-address', 'mail-code'] as const)
    await pages.add(page, file(page), { kind: 'interaction' })

  /** A password is asked for beside it of whoever may come. */
  function element(known: User | null, error: Words | null = null, status = 200): SignInElement {
    const hasPasswords = oauth.owners('signInMethod').has('password')
    const model = { besidePassword: known === null && hasPasswords, isFirst: !hasPasswords, error }
    return { part: 'login-mail-code', model, refused: error !== null, status }
  }

  const addressPage = (email: string, error: Words | null = null, status = 200): StepPage => ({
    page: 'mail-code-address',
    model: { email, error },
    status,
  })

  function codePage(
    { email }: Asked,
    call: BrowserCall,
    shown: Partial<MailCodePage> = {},
    status = 200,
  ): StepPage {
    const { error = null, wait = null, notYet = null } = shown
    return {
      page: 'mail-code',
      model: { email, error, wait, notYet, mails: readHere(fastify, call) },
      status,
    }
  }

  /** What was typed on the sign-in page is a user name or an address. */
  async function ask(asked: SignInAsked, typed: { username?: string; email?: string }, call: BrowserCall) {
    const { known } = asked
    const { username = '', email: given = username } = typed
    const email = known === null ? given.trim() : (verifiedAddressOf(known) ?? '')
    if (!isMailAddress(email)) {
      if (known !== null) return NONE
      return typed.email === undefined ? { state: ADDRESS } : addressPage(email, NO_MAIL_ADDRESS, 400)
    }
    try {
      const { nonce } = await send(asked, email, call)
      return { state: { email, nonce } satisfies Asked }
    } catch (error) {
      const { advice, status } = waitFor(error, call)
      return typed.email === undefined ? element(known, advice, status) : addressPage(email, advice, status)
    }
  }

  async function askAgain(asked: SignInAsked, before: Asked, call: BrowserCall) {
    try {
      const { email, nonce, isNew, pause: seconds } = await send(asked, before.email, call)
      // Sent twice, it is one.
      if (isNew || nonce !== before.nonce) return { state: { email, nonce } satisfies Asked }
      call.reply.header('retry-after', seconds)
      const wait = { seconds, until: new Date(Date.now() + seconds * 1000) }
      return codePage(before, call, { notYet: { text: TOO_SOON, wait } }, 429)
    } catch (error) {
      const { text, status, seconds, until } = waitFor(error, call)
      return codePage(before, call, { notYet: { text, wait: { seconds, until } } }, status)
    }
  }

  /** Of a code that came once more, as by a double click. */
  async function proofAgain({ id, known }: SignInAsked, digits: string): Promise<{ proof: Proof } | null> {
    const spent = await codes.findSpent(id, digits)
    if (spent === null || (known ?? spent.user).id !== spent.user.id) return null
    return { proof: { user: spent.user, ...SHOWN, isOnce: spent.nonce } }
  }

  async function enter(
    asked: SignInAsked,
    typed: string,
    call: BrowserCall,
  ): Promise<{ proof: Proof } | RefusalPage | typeof NONE> {
    const digits = sixDigits(typed)
    const before = codeOf(asked)
    if (digits === null) return before === null ? NONE : codePage(before, call, { error: NOT_SIX }, 400)
    // What was noted of it, once somebody has signed in by it, is that alone.
    if (before === null) return (await proofAgain(asked, digits)) ?? NONE
    try {
      const { verdict, event } = await guess(before.email, call, async (user) =>
        codes.check(asked.id, before, digits, user),
      )
      if (verdict.is === 'right') return { proof: { user: verdict.user, ...SHOWN, isOnce: before.nonce } }
      const again = verdict.is === 'over' ? await proofAgain(asked, digits) : null
      if (again !== null) return again
      call.request.log.info('sign-in refused')
      const refused = codePage(before, call, { error: verdict.is === 'wrong' ? WRONG : OVER }, 403)
      return event === undefined ? refused : { ...refused, event }
    } catch (error) {
      const { text, status, seconds, until } = waitFor(error, call)
      return codePage(before, call, { error: text, wait: { seconds, until } }, status)
    }
  }

  oauth.register('signInMethod', METHOD, {
    reaches: { acr: [SHOWN.acr], by: async (user) => isWayIn(user) },
    isWayIn,
    offer: async ({ known }) => (known !== null && !isWayIn(known) ? null : element(known)),
    async page(asked, call) {
      const before = codeOf(asked)
      if (before !== null) return codePage(before, call)
      const { state, known, hint } = asked
      return state === null || known !== null ? null : addressPage(isMailAddress(hint) ? hint : '')
    },
    async submit(asked, wire, call) {
      const { code, again, other, ...typed } = parse(wire)
      const before = codeOf(asked)
      if (other !== undefined) return NONE
      if (again !== undefined) return before === null ? NONE : askAgain(asked, before, call)
      // What is empty is absent.
      const isEmpty = asked.known === null && typed.username === undefined && typed.email === undefined
      if (code !== undefined || (isEmpty && before !== null)) return enter(asked, code ?? '', call)
      return ask(asked, typed, call)
    },
  })
}

/** The code that was asked for; null for none, and for one of another address than theirs who have to show that it is them. */
function codeOf({ state, known }: Pick<SignInAsked, 'state' | 'known'>): Asked | null {
  if (!isAsked(state)) return null
  if (known === null) return state
  return addressKey(verifiedAddressOf(known) ?? '') === addressKey(state.email) ? state : null
}

function isAsked(state: unknown): state is Asked {
  return typeof state === 'object' && state !== null && 'nonce' in state
}
