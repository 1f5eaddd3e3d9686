/** What pages of ours, and of plugins, begin without a client: signing in, and going back to an interaction that waits. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { Proof, SignInWish } from '../../src/doors/sign-in.ts'
import { parseForm } from '../../src/protocol/wire.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { ownRequest } from '../../src/services/users/ourselves.ts'
import { REQUEST } from './asked.ts'
import type { Engine } from './engine.ts'
import type { Address } from './walk.ts'

export interface OwnSignIn {
  /**
   * Asks who is there, by the steps of the phase `authenticate`, for a page of the plugin's own: shown at once, and then the browser is
   * led to `returnTo`. Who is signed in well enough is led there straight away.
   */
  signIn(wish: SignInWish, call: BrowserCall): Promise<FastifyReply>
  /**
   * Who somebody is has been shown to a page of the plugin's own, by a method that has one: the interaction at `address` goes on from
   * there. That it is the same browser, which began it, is looked at here; that it was that person, is for the caller.
   * What is good once is named in `isOnce`: shown twice, as by a double click, it leads to one session, and to no other once that has ended.
   */
  prove(address: string, proof: Proof, call: BrowserCall): Promise<FastifyReply>
  /**
   * Who has come back without having shown who they are: the interaction at `address` asks again, and `state` is for the method of this
   * name to say why, in its `page` or on the sign-in page in what it offers.
   */
  leadBack(
    address: string,
    noted: { readonly method: string; readonly state: unknown },
    call: BrowserCall,
  ): Promise<FastifyReply>
  /** `address` (`interaction.address`) where it can be gone back to in this browser; null for all else. */
  wayBack(address: string, call: BrowserCall): Promise<string | null>
}

const OUTCOME = 'sign-in'

/** @internal */
export function createOwnSignIn({ oauth }: FastifyInstance, engine: Engine): OwnSignIn {
  const { basePath } = oauth.config
  const prefix = `${basePath}/interaction/`

  oauth.register('outcome', OUTCOME, {
    approved: async ({ state }, _granted, { reply }) => reply.redirect(String(state['returnTo']), 303),
    async denied(_ended, error) {
      throw error
    },
  })

  /** Null for what is no address of an interaction. */
  function parse(address: string): Address | null {
    if (!address.startsWith(prefix) || !URL.canParse(address, oauth.issuer)) return null
    const { pathname, search } = new URL(address, oauth.issuer)
    const [id = '', ...more] = pathname.slice(prefix.length).split('/')
    const sealed = parseForm(search.slice(1))[REQUEST]
    return more.length > 0 || typeof sealed !== 'string' ? null : { id, sealed }
  }

  function placeOf(address: string): Address {
    const parsed = parse(address)
    if (parsed === null) throw new OAuthError('invalid_request', 'there is nothing here to go back to')
    return parsed
  }

  return {
    async signIn({ returnTo, maxAge, other = false }, call) {
      const request = ownRequest({
        ...(other ? { prompt: ['select_account'] } : {}),
        ...(maxAge === undefined ? {} : { max_age: maxAge }),
      })
      return engine.startHere(request, OUTCOME, { returnTo }, call)
    },
    prove: async (address, proof, call) => engine.prove(placeOf(address), proof, call),
    leadBack: async (address, noted, call) => engine.note(placeOf(address), noted, call),
    async wayBack(address, call) {
      const parsed = parse(address)
      return parsed !== null && (await engine.goesOn(parsed, call)) ? address : null
    },
  }
}
