/**
 * Who of ours somebody of an upstream is: who is linked; else who has the same verified address, where the upstream is believed and nobody
 * else of it is linked with them; else a new one, where that is allowed and takes nobody's name and address. An address that is not believed
 * has to be shown to be theirs before (`newcomers.ts`): who has it is said to nobody else.
 */
import { isMailAddress } from '../../src/protocol/mail-address.ts'
import { randomInt } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { isAbout, OAuthError } from '../../src/protocol/errors.ts'
import { linkIdOf, type LinkedSubject } from '../../src/protocol/upstream-link.ts'
import { chosenUsernameProblem } from '../../src/protocol/username.ts'
import type { UpstreamInformation } from '../../src/services/upstreams/upstream-registry.ts'
import type { User } from '../../src/services/users/user.ts'
import { believedEmail, isOfDomains, mappedClaims } from './claims.ts'
import { type Link, linkEvent, linkOf, type Links, registrationEvent } from './links.ts'
import type { Identity } from './provider.ts'

type Claims = Readonly<Record<string, unknown>>

export type Account =
  | { readonly user: User }
  | { readonly refused: 'unlinked' | 'taken' | 'disabled' | 'full' | 'other person' }

/** Who may have an account once this address is shown to be theirs. */
export interface Newcomer {
  readonly email: string
  /** By our names. */
  readonly claims: Claims
}
/** What became of a link; `full` where the user has as many as there can be. */
export type Linking = 'linked' | 'already' | 'taken' | 'full'

export interface Accounts {
  /**
   * `known` is the id of who has to show once more that it is them, for whom nobody new is registered; else null. Throws `UpstreamFailure`
   * where more has to be asked of the upstream, and that fails.
   */
  find(
    upstream: UpstreamInformation,
    identity: Identity,
    known: string | null,
  ): Promise<Account | { readonly newcomer: Newcomer }>
  /** Whoever has read a mail to the address; `isNew` where the account was made by it. */
  welcome(
    upstream: UpstreamInformation,
    subject: LinkedSubject,
    newcomer: Newcomer,
  ): Promise<Account & { readonly isNew?: boolean }>
  link(userId: string, upstream: UpstreamInformation, identity: Identity): Promise<Linking>
}

/** Of names that are taken, another one is tried so often. */
const TRIES = 3

export function createAccounts(fastify: FastifyInstance, links: Links): Accounts {
  const { users } = fastify.oauth
  const { upstreams } = kernelOf(fastify)

  async function linked(identity: LinkedSubject): Promise<User | null> {
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

  /** Of the same person, who came by another way, or twice, at the same moment; null for nobody. */
  async function accountOf(identity: LinkedSubject): Promise<Account | null> {
    const user = await linked(identity)
    return user === null ? null : asAccount(user)
  }

  /** Mails are how anybody shows that an address is theirs. */
  const isAsked = (): boolean => fastify.hasDecorator('letters') && fastify.letters.isOn()

  async function register(
    upstream: UpstreamInformation,
    identity: LinkedSubject,
    claims: Claims,
    email: { readonly address: string; readonly isVerified: boolean } | null,
  ): Promise<Account> {
    const { preferred_username: wished, email: _said, email_verified: _verified, ...others } = claims
    const members = {
      ...others,
      ...(email === null ? {} : { email: email.address, email_verified: email.isVerified }),
    }
    const own = email?.isVerified === true ? email.address : null
    const link = linkOf(upstream, identity, claims)
    for (const username of namesOf(wished, own, upstream)) {
      if ((await users.find(username)) !== null) continue
      try {
        const eventOf = (id: string) => registrationEvent(id, link)
        const user = await links.register({ ...members, username }, linkIdOf(identity), link, eventOf)
        if (user !== null) return { user }
      } catch (error) {
        // Somebody took the address meanwhile.
        if (isAbout(error, 'email')) return (await accountOf(identity)) ?? { refused: 'taken' }
        // Or the name, or it cannot be one.
        if (!isAbout(error, 'username')) throw error
        continue
      }
      const account = await accountOf(identity)
      if (account !== null) return account
    }
    return { refused: 'taken' }
  }

  async function put(
    userId: string,
    upstream: UpstreamInformation,
    identity: Identity,
    unless?: (kept: readonly Link[]) => boolean,
  ): Promise<Linking> {
    const id = linkIdOf(identity)
    const made = linkOf(upstream, identity, mappedClaims(upstream, await identity.claims()))
    const event = linkEvent('user.upstream_linked', userId, made)
    let isFull = false
    try {
      if (await links.put(userId, id, made, event, unless)) return 'linked'
    } catch (error) {
      if (!(error instanceof OAuthError) || error.code !== 'invalid_request') throw error
      isFull = true
    }
    const owner = await links.owner(id)
    if (owner === userId) return 'already'
    return isFull && owner === null ? 'full' : 'taken'
  }

  /**
   * Null where somebody else of this issuer is linked with the user: issuers give addresses to others, and `sub` to nobody (OpenID Connect
   * Core §5.7), so that one address is no evidence any more that both are one person. Of two who come at the same moment, one is linked. Null too
   * for who was unlinked from the user: they come back by their user's hand alone.
   */
  async function linkByAddress(
    userId: string,
    upstream: UpstreamInformation,
    identity: Identity,
  ): Promise<Linking | null> {
    if (await links.wasUnlinked(userId, linkIdOf(identity))) return null
    let hasOther = false
    const linking = await put(userId, upstream, identity, (kept) => {
      hasOther = kept.some((one) => one.issuer === identity.issuer && linkIdOf(one) !== linkIdOf(identity))
      return hasOther
    })
    return hasOther ? null : linking
  }

  return {
    async link(userId, upstream, identity) {
      const linking = await put(userId, upstream, identity)
      if (linking === 'linked') await links.forgetUnlinked(userId, linkIdOf(identity))
      return linking
    },
    async find(upstream, identity, known) {
      const owner = await linked(identity)
      if (owner !== null) return asAccount(owner)
      const claims = mappedClaims(upstream, await identity.claims())
      const email = believedEmail(upstream, claims)
      if (email !== null) {
        const user = await users.findByEmail(email)
        // Who has asked for their deletion is not changed, and keeps the address until then.
        if (user?.deletesAt === null) {
          const linking = await linkByAddress(user.id, upstream, identity)
          if (linking === null) return { refused: known === null ? 'taken' : 'other person' }
          if (linking === 'full') return { refused: 'full' }
          if (linking !== 'taken') return asAccount(user)
        }
      }
      if (known !== null) return { refused: 'other person' }
      if (!mayRegister(upstream, email)) return { refused: 'unlinked' }
      if (email !== null) {
        if ((await withEmail(email)).length > 0) return { refused: 'taken' }
        return register(upstream, identity, claims, { address: email, isVerified: true })
      }
      const { email: said } = claims
      if (typeof said !== 'string' || !isMailAddress(said) || (await isSpokenFor(said)))
        return register(upstream, identity, claims, null)
      if (isAsked()) return { newcomer: { email: said, claims } }
      return register(upstream, identity, claims, { address: said, isVerified: false })
    },
    async welcome(upstream, subject, { email, claims }) {
      const owner = await linked(subject)
      if (owner !== null) return asAccount(owner)
      if (!mayRegister(upstream, null)) return { refused: 'unlinked' }
      const made = await register(upstream, subject, claims, { address: email, isVerified: true })
      return { ...made, isNew: 'user' in made }
    },
  }
}

/** `email` is that which is believed. */
function mayRegister({ sign_up: signUp }: UpstreamInformation, email: string | null): boolean {
  return signUp ?? email !== null
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
