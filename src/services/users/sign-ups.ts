/**
 * Accounts that people ask for themselves: kept for a day under a link of 256 random bits in a mail, stored hashed. Nobody is registered
 * before the link is used, and then the user and the end of the link are one transaction.
 */
import { OAuthError } from '../../protocol/errors.ts'
import { addressKey, isMailAddress } from '../../protocol/mail-address.ts'
import { reason } from '../../protocol/message.ts'
import { NO_ADDRESS, userError } from '../../protocol/user-members.ts'
import { chosenUsernameProblem, usernameKey } from '../../protocol/username.ts'
import { statements as artifactStatements } from '../../store/artifacts.ts'
import type { ArtifactStore } from '../artifact-store.ts'
import type { SecretBox } from '../keys/secret-box.ts'
import type { HashChosen } from './chosen-passwords.ts'
import type { OwnUserRegistry } from './user-registry.ts'
import type { User } from './user.ts'

/** What somebody asks for. */
export interface Wanted {
  readonly username: string
  readonly email: string
}

/** The same, judged, and where they were when they asked. */
export interface AskedSignUp extends Wanted {
  /** argon2id. */
  readonly passwordHash: string
  /** What their browser is known by, hashed: in another one nobody is taken for them. */
  readonly browser: string
  /** The address of the interaction that they came from; `''` for none. */
  readonly back: string
}

/** What a link is for: an account that waits, or one that it has made. */
export type SignUp =
  | ({ readonly made?: undefined } & AskedSignUp)
  | (Pick<AskedSignUp, 'browser' | 'back'> & {
      readonly made: {
        readonly user: string
        /** Milliseconds since the epoch. */
        readonly at: number
      }
    })

export interface SignUps {
  /**
   * Judges what is asked for and hashes the password: the same work whether or not somebody has the name or the address. Throws
   * `invalid_request` that names `username`, `email` or `password`.
   */
  judge(wanted: Wanted, password: string): Promise<Wanted & Pick<AskedSignUp, 'passwordHash'>>
  /** The token of a link. */
  make(asked: AskedSignUp): Promise<string>
  /** Null where the link is not good now. */
  find(token: string): Promise<SignUp | null>
  /**
   * Registers the user; the address is confirmed by the link. Whoever has the link in another browser chooses the password, since whoever
   * asked may have been somebody else. Throws `access_denied` for a link that is not good, and `invalid_request` that names `username`,
   * `email` or `password`; the link stays good then.
   */
  confirm(token: string, chosen: { readonly username?: string; readonly password?: string }): Promise<User>
}

const KIND = 'sign-up'
/** Seconds. */
const LIFETIME = 86_400
/** For one address: who asks once more does not end what is just being read, and who asks for ever fills nothing. */
const MOST = 10

/** @internal */
export interface SignUpsOptions {
  box: SecretBox
  artifacts: ArtifactStore['artifacts']
  hashChosen: HashChosen
  createWith: OwnUserRegistry['createWith']
}

/** @internal */
export function createSignUps({ box, artifacts, hashChosen, createWith }: SignUpsOptions): SignUps {
  const links = artifacts<SignUp>(KIND, { lifetime: LIFETIME })

  return {
    async judge(wanted, password) {
      const [username, email] = [wanted.username.trim(), wanted.email.trim()]
      assertName(username, email)
      return { username, email, passwordHash: await hashChosen(password, { username, inPerson: true }) }
    },
    async make(asked) {
      const owner = box.hash(`sign-up of\0${addressKey(asked.email)}`)
      const token = await links.put(asked, { owner, most: MOST })
      if (token === false) throw new Error('a new link was not stored')
      return token
    },
    find: async (token) => links.get(token),
    async confirm(token, chosen) {
      const asked = await links.get(token)
      if (asked === null || asked.made !== undefined) throw spent()
      const { email, browser, back } = asked
      const username = chosen.username?.trim() ?? asked.username
      assertName(username, email)
      const passwordHash =
        chosen.password === undefined
          ? asked.passwordHash
          : await hashChosen(chosen.password, { username, inPerson: true })
      const members = { username, email, email_verified: true }
      return createWith(
        members,
        async (query, _note, user) => {
          const done: SignUp = { browser, back, made: { user, at: Date.now() } }
          const spending = [KIND, box.hashes(token), asked, done]
          if ((await query(artifactStatements.replace, spending)).length === 0) throw spent()
        },
        passwordHash,
      )
    },
  }
}

/** Nobody is called by an address that they have not shown to be theirs. */
function assertName(username: string, email: string): void {
  const problem = chosenUsernameProblem(username)
  if (problem !== undefined) throw userError('username', problem)
  if (!isMailAddress(email)) throw userError('email', NO_ADDRESS)
  if (username.includes('@') && usernameKey(username) !== usernameKey(email))
    throw userError('username', reason('must not be an address, unless it is your own'))
}

function spent(): OAuthError {
  return new OAuthError('access_denied', 'this link has been used, or is too old')
}
