/** The page `/sign-up`: who may ask for an account, what is wrong with what was typed, and the way back to the sign-in page. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { domainOf } from '../../src/protocol/upstream-information.ts'
import { leadingTo } from '../pages/places.ts'
import type { FormTarget } from '../pages/models.ts'
import { problemsIn } from '../pages/words.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'sign-up-form': SignUpForm
  }
}

type Values = Readonly<Record<'username' | 'email', string>>
/** By the field's name; `form` for what belongs to none. */
const FIELDS = ['username', 'email', 'password']

export type Problems = Readonly<Partial<Record<'username' | 'email' | 'password' | 'form', Words>>>

interface SignUpForm extends FormTarget {
  values: Values
  problems: Problems
  passwordMinLength: number
  /** Those of whose addresses alone accounts are made; null for any. */
  domains: readonly string[] | null
  /** The address of the interaction that they came from; `''` for none. */
  back: string
  /** For who has an account: to the sign-in page of the interaction by a link, or where it begins here, by a form. Null for none. */
  signIn: { href: string } | FormTarget | null
}

export interface Shown {
  readonly values?: Values
  readonly problems?: Problems
  readonly status?: number
  readonly back: string
  readonly signIn?: SignUpForm['signIn']
}

export const PATH = '/sign-up'
const EMPTY: Values = { username: '', email: '' }

export function createSignUpForm(fastify: FastifyInstance) {
  const { oauth, browser, pages } = fastify
  const { OIDC_SIGN_UP: given, OIDC_PASSWORD_MIN_LENGTH: passwordMinLength } = kernelOf(fastify).config
  const { basePath } = oauth.config
  const domains = given[0] === 'on' ? null : given.map((one) => domainOf(`anybody@${one}`))

  /** For a template, whoever answers with it. */
  function modelOf(call: BrowserCall, { values = EMPTY, problems = {}, back, signIn }: Shown): SignUpForm {
    return {
      action: `${basePath}${PATH}`,
      csrfToken: browser.csrfToken(call, PATH),
      values,
      problems,
      passwordMinLength,
      domains,
      back,
      signIn: signIn ?? leadingTo(back === '' ? pages.places.signIn() : back, {}),
    }
  }

  return {
    modelOf,

    show(call: BrowserCall, shown: Shown): FastifyReply {
      const status = shown.status ?? (Object.keys(shown.problems ?? {}).length > 0 ? 400 : 200)
      return call.reply.page('sign-up-form', modelOf(call, shown), { status })
    },

    /** Why nobody with this address makes an account here; undefined where they do. */
    refusalOf(email: string): Words | undefined {
      if (domains === null || domains.includes(domainOf(email))) return undefined
      return message('Accounts here are for addresses at {domains}.', { domains })
    },
  }
}

/** What a refusal of the registry means at a field. Throws every other error as it is. */
export function problemOf(error: unknown): Problems {
  if (!(error instanceof OAuthError) || error.code !== 'invalid_request') throw error
  return problemsIn(error, (member) => FIELDS.find((field) => field === member), 'form')
}
