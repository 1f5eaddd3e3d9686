/**
 * Who of ours somebody of an upstream is: who is linked; else who has the same verified address, where the upstream is believed; else a new
 * one, where that is allowed and takes nobody's name and address.
 */
import { isMailAddress } from '../../src/protocol/mail-address.ts'
import { randomInt } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { chosenUsernameProblem } from '../../src/protocol/username.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import type { User } from '../../src/services/users/user.ts'
import { believedEmail, isOfDomains, mappedClaims } from './claims.ts'
import { linkEvent, linkIdOf, linkOf, type Links } from './links.ts'
import type { Identity } from './provider.ts'

export type Account =
  | { readonly user: User }
  | { readonly refused: 'unlinked' | 'taken' | 'disabled' | 'full' }
/** What became of a link; `full` where the user has as many as there can be. */
export type Linking = 'linked' | 'already' | 'taken' | 'full'

export interface Accounts {
  /** Throws `UpstreamFailure` where more has to be asked of the upstream, and that fails. */
  find(upstream: UpstreamInformation, identity: Identity): Promise<Account>
  link(userId: string, upstream: UpstreamInformation, identity: Identity): Promise<Linking>
}

/** Of names that are taken, another one is tried so often. */
const TRIES = 3

export function createAccounts(fastify: FastifyInstance, links: Links): Accounts {
  const { users } = fastify.oauth
  const { upstreams } = kernelOf(fastify)

  async function linked(identity: Identity): Promise<User | null> {
    const owner = await links.owner(linkIdOf(identity))
    return owner === null ? null : users.get(owner)
  }

  /** Everybody who has the address, verified or not; those of the address itself come first. */
  async function withEmail(address: string): Promise<User[]> {
    const { found } = await users.search(address, { limit: 100 })
    const isSame = (one: unknown): boolean =>
      typeof one === 'string' && one.toLowerCase() === address.toLowerCase()
    return found.filter(({ username, claims }) => isSame(claims['email']) || isSame(username))
  }

  /** Whether another upstream is believed about it: who has it comes by that one, and finds it free. */
  async function isSpokenFor(address: string): Promise<boolean> {
    return (await upstreams.all()).some((one) => one.trust_email === true && isOfDomains(one, address))
  }

  function asAccount(user: User): Account {
    return user.disabled ? { refused: 'disabled' } : { user }
  }

  async function register(
    upstream: UpstreamInformation,
    identity: Identity,
    claims: Readonly<Record<string, unknown>>,
    email: string | null,
  ): Promise<Account> {
    const { preferred_username: wished, email: said, email_verified: _verified, ...others } = claims
    const told = email ?? (typeof said === 'string' && isMailAddress(said) ? said : null)
    if (told !== null && (await withEmail(told)).length > 0) return { refused: 'taken' }
    const address = email === null && told !== null && (await isSpokenFor(told)) ? null : told
    const members = {
      ...others,
      ...(address === null ? {} : { email: address, email_verified: email !== null }),
    }
    const link = linkOf(upstream, identity, claims)
    for (const username of namesOf(wished, email, upstream)) {
      if ((await users.find(username)) !== null) continue
      try {
        const eventOf = (id: string) => linkEvent('user.upstream_linked', id, link)
        const user = await links.register({ ...members, username }, linkIdOf(identity), link, eventOf)
        if (user !== null) return { user }
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error
        // Somebody took the address meanwhile.
        if (error.message.startsWith('email ')) return { refused: 'taken' }
        // Or the name, or it cannot be one.
        if (!error.message.startsWith('username ')) throw error
        continue
      }
      // The same person came by another way at the same moment.
      const user = await linked(identity)
      if (user !== null) return asAccount(user)
    }
    return { refused: 'taken' }
  }

  const link: Accounts['link'] = async (userId, upstream, identity) => {
    const id = linkIdOf(identity)
    const made = linkOf(upstream, identity, mappedClaims(upstream, await identity.claims()))
    let isFull = false
    try {
      if (await links.put(userId, id, made, linkEvent('user.upstream_linked', userId, made))) return 'linked'
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'invalid_request') throw error
      isFull = true
    }
    const owner = await links.owner(id)
    if (owner === userId) return 'already'
    return isFull && owner === null ? 'full' : 'taken'
  }

  return {
    link,
    async find(upstream, identity) {
      const known = await linked(identity)
      if (known !== null) return asAccount(known)
      const claims = mappedClaims(upstream, await identity.claims())
      const email = believedEmail(upstream, claims)
      if (email !== null) {
        const user = await users.findByEmail(email)
        // Who has asked for their deletion is not changed, and keeps the address until then.
        if (user?.deletesAt === null) {
          const linking = await link(user.id, upstream, identity)
          if (linking === 'full') return { refused: 'full' }
          if (linking !== 'taken') return asAccount(user)
        }
      }
      const mayRegister = upstream.sign_up ?? email !== null
      return mayRegister ? register(upstream, identity, claims, email) : { refused: 'unlinked' }
    },
  }
}

/** In the order in which they are tried. What looks like an address is only taken where it is one that is believed. */
function namesOf(wished: unknown, email: string | null, { id }: UpstreamInformation): string[] {
  const names = [wished, email].filter((one): one is string => typeof one === 'string' && one.trim() !== '')
  const own = names
    .filter((one) => !one.includes('@') || one.toLowerCase() === email?.toLowerCase())
    .filter((one) => chosenUsernameProblem(one) === undefined)
  const [first = id] = own.map((one) => one.split('@', 1)[0]!)
  const others = Array.from(
    { length: TRIES },
    () => `${first}-${String(randomInt(1_000_000)).padStart(6, '0')}`,
  )
  return [...new Set([...own, ...others])]
}
