/** What a page of an interaction comes to that cannot be gone on with: it is over, or went on without it. */
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Asked } from './asked.ts'

export type WhyOver = 'done' | 'too old' | 'elsewhere' | 'unknown'

/** For developers. */
const DESCRIPTIONS: Readonly<Record<WhyOver, string>> = {
  done: 'this interaction has been answered already',
  'too old': 'this page is too old; begin again at the app',
  elsewhere: 'this page belongs to another browser; begin again at the app',
  unknown: 'this page has been used or is too old; begin again at the app',
}

export class InteractionOver extends OAuthError {
  readonly why: WhyOver
  readonly asked: Asked | undefined

  constructor(why: WhyOver, asked?: Asked) {
    super(why === 'elsewhere' ? 'access_denied' : 'invalid_request', DESCRIPTIONS[why])
    this.why = why
    this.asked = asked
  }
}

/** Another request wrote first, as of a form that was sent twice: what is next is at the address, as it stands by now. */
export class WentOn extends Error {
  readonly address: string

  constructor(address: string) {
    super('another request of this interaction came first')
    this.address = address
  }
}
