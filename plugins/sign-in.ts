/**
 * `/sign-in`: for pages of ours that need to know who is there, where no client asks. They send people here with the
 * path to come back to; what they go through are the steps of an interaction that find out who is there.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Session } from '../src/doors/interaction.ts'
import { Type } from '../src/protocol/schema.ts'
import { ageOf } from '../src/protocol/age-of.ts'

/**
 * `max_age` as in OpenID Connect Core §3.1.2.1: who signed in more seconds ago does it once more. `account=other` is for
 * who wants to be there as somebody else.
 */
const Query = Type.Object({
  return_to: Type.Optional(Type.String()),
  max_age: Type.Optional(Type.String()),
  account: Type.Optional(Type.String()),
})
/** Seconds since the sign-in. */
export const FRESH = 600
/** Encoded; one that is longer loses its query: proxies drop an answer whose headers take more than a few kilobytes. */
const LONGEST_PATH = 2000
/** The address that asks for sign-in, and for one not older than `maxAge` seconds, and then leads to `path`, a path of ours. */
export function signInAddress(basePath: string, path: string, maxAge?: number): string {
  return addressOf(basePath, path, maxAge === undefined ? {} : { max_age: String(maxAge) })
}

/** The same for who is signed in, and wants to be there as somebody else. */
export function otherAccountAddress(basePath: string, path: string): string {
  return addressOf(basePath, path, { account: 'other' })
}

/** Whether `path` is short enough to be led back to with its query. */
export function fitsReturn(path: string): boolean {
  return encodeURIComponent(path).length <= LONGEST_PATH
}

function addressOf(basePath: string, path: string, asked: Readonly<Record<string, string>>): string {
  const to = [path, path.split('?', 1)[0]!].find(fitsReturn) ?? `${basePath}/`
  return `${basePath}/sign-in?${new URLSearchParams({ return_to: to, ...asked }).toString()}`
}

/** Whether the user has signed in within `FRESH` seconds: what a browser that was left open must not do asks for it. */
export function isFresh({ authenticatedAt }: Session): boolean {
  return ageOf(authenticatedAt) <= FRESH * 1000
}

async function signIn(fastify: FastifyInstance): Promise<void> {
  const { oauth, interactions, pages } = fastify
  const top = `${oauth.config.basePath}/`
  const home = (): string => pages.places.start() ?? top
  const { origin } = new URL(oauth.issuer)

  /** Only ever a path below the issuer's; normalized, so that what looks like one is one. */
  function pathOf(given = ''): string {
    if (given === '' || !URL.canParse(given, oauth.issuer)) return home()
    const to = new URL(given, oauth.issuer)
    const ours = to.origin === origin && to.pathname.startsWith(top)
    return ours && !to.pathname.startsWith('//') ? to.pathname + to.search : home()
  }

  pages.serve({
    path: '/sign-in',
    query: Query,
    show: async ({ return_to: to, max_age: seconds = '', account }, call) =>
      interactions.signIn(
        {
          returnTo: pathOf(to),
          other: account === 'other',
          ...(/^\d{1,9}$/.test(seconds) ? { maxAge: Number(seconds) } : {}),
        },
        call,
      ),
  })
}

export default fp(signIn, {
  name: 'latchkey-sign-in',
  dependencies: ['latchkey-oauth', 'latchkey-interaction', 'latchkey-pages'],
})
