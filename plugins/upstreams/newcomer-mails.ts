/** The mails to addresses that newcomers bring: a link that makes their account, or that there is one. What was asked waits in the outbox until then. */
import type { FastifyInstance } from 'fastify'
import type { Static } from 'typebox'
import type { Artifacts } from '../../src/doors/artifacts.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { addressKey } from '../../src/protocol/mail-address.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Upstream } from '../../src/services/upstreams/upstream-registry.ts'
import { readerOf } from '../mail/reader-of.ts'
import type { Newcomer } from './accounts.ts'
import { confirmLetter, existingLetter } from './letters.ts'

const Asked = Type.Object({
  upstream: Type.String(),
  issuer: Type.String(),
  subject: Type.String(),
  subjectClaim: Type.Optional(Type.String()),
  email: Type.String(),
  claims: Type.Object({}),
  browser: Type.String(),
  back: Type.String(),
  /** Sealed; where signing out here is to sign out there too. */
  idToken: Type.Optional(Type.String()),
  locales: Type.String(),
  /** When the upstream said who they are, in milliseconds since the epoch, by the clock of the processes; those of earlier versions do not say. */
  askedAt: Type.Optional(Type.Number()),
})
export type AskedNewcomer = Static<typeof Asked> & Newcomer

/** Of the upstream that somebody came by, as it was then. */
export type OfUpstream = Pick<AskedNewcomer, 'upstream' | 'issuer'>

export interface NewcomerMailsOptions {
  /** Of what is enqueued. */
  readonly kind: string
  /** The address below the issuer to which a link leads. */
  readonly path: string
  readonly links: Artifacts<AskedNewcomer>
  /** As long as it is the same one. */
  upstreamOf(asked: OfUpstream): Promise<Upstream | undefined>
}

/** Whoever has no account has chosen no language. */
export const NOBODY = { claims: {} }
/** Links to one address: who asks once more does not end what is just being read, and who asks for ever fills nothing. */
const MOST = 10

export function addNewcomerMails(fastify: FastifyInstance, options: NewcomerMailsOptions): void {
  const { kind, path, links, upstreamOf } = options
  const { oauth, pages } = fastify
  const { box } = kernelOf(fastify)
  oauth.deliver({
    kind,
    payload: Asked,
    async deliver(asked) {
      const upstream = await upstreamOf(asked)
      if (upstream === undefined || !fastify.hasDecorator('letters')) return
      const { email, locales } = asked
      const user = await oauth.users.findByEmail(email)
      const reader = await readerOf(fastify, user ?? NOBODY, locales)
      if (user !== null) {
        const letter = existingLetter(upstream, user.username, oauth.issuer, pages.places.signIn())
        return fastify.letters.send(email, letter, reader)
      }
      const owner = box.hash(`newcomer of\0${addressKey(email)}`)
      const token = await links.put(asked as AskedNewcomer, { owner, most: MOST })
      if (token === false) throw new Error('a new link was not stored')
      const href = `${oauth.issuer}${path}?token=${token}`
      return fastify.letters.send(email, confirmLetter(upstream, oauth.issuer, href), reader)
    },
  })
}
