/** The passkeys on `/account/security`: adding, naming and deleting them. What changes who can sign in asks for a sign-in of a moment ago. */
import type { FastifyInstance } from 'fastify'
import type { AccountArea } from '../account/sections.ts'
import type { PageCall } from '../pages/index.ts'
import type { FormTarget } from '../pages/models.ts'
import type { User } from '../../src/doors/user.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import type { RelyingParty } from '../../src/protocol/relying-party.ts'
import { Type } from '../../src/protocol/schema.ts'
import { isUnseen } from '../../src/protocol/unseen.ts'
import { isFresh } from '../sign-in.ts'
import { kindOf } from './authenticators.ts'
import { creationOptions, verifyAttestation } from './ceremonies.ts'
import type { Challenges } from './challenges.ts'
import { MOST, NAME_LENGTH, type KnownPasskey, type OwnPasskeys } from './passkeys.ts'
import { readAttestation } from './responses.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'account-security-passkeys': SecurityPasskeys
  }
}

export interface SecurityPasskeys {
  passkeys: readonly {
    id: string
    name: string
    since: Date
    lastUsed: Date | null
    synced: boolean
    /** Whether the name that was sent for it is none. */
    wrong: boolean
    rename: FormTarget
    remove: FormTarget
  }[]
  nameLength: number
  /** Null where there are as many as there may be. */
  add: (FormTarget & Ceremony) | null
  /** What was done, or was not; null for nothing. */
  done: { kind: 'success' | 'alert'; text: Words } | null
  /** JSON for authenticators that keep what we know in step: `''` where nothing has changed. */
  signals: string
}

interface Ceremony {
  issued: string
  /** JSON, for `PublicKeyCredential.parseCreationOptionsFromJSON`; `''` where the sign-in was too long ago. */
  options: string
  origin: string
}

const PATHS = { add: '/passkeys/add', rename: '/passkeys/rename', remove: '/passkeys/delete' } as const
const PAGE = '/security'
/** The id of its heading. */
const PART = 'passkeys'
const DONE: Readonly<Record<string, SecurityPasskeys['done']>> = {
  added: { kind: 'success', text: message('The passkey is added. From now on it signs you in.') },
  renamed: { kind: 'success', text: message('The passkey has its new name.') },
  deleted: { kind: 'success', text: message('The passkey is deleted. It does not sign you in any more.') },
  'too-late': { kind: 'alert', text: message('This took too long, or was sent twice. Please add the passkey once more.') },
  refused: { kind: 'alert', text: message('This passkey cannot be used here. Please try once more, or choose another place to keep it.') },
  taken: { kind: 'alert', text: message('This passkey is known here already. Choose another place to keep the new one.') },
  full: { kind: 'alert', text: message('The new passkey is not added.') },
  name: { kind: 'alert', text: message('A name has 1 to {most} characters. Nothing is changed.', { most: NAME_LENGTH }) },
  last: { kind: 'alert', text: message('This is the only way by which you can sign in. Add another one first, and then delete it.') },
} // prettier-ignore
/** After these, what authenticators show is not what is so. */
const CHANGED = new Set(['renamed', 'deleted'])
/** For who signed in too long ago: they come back to the page, and begin there. */
const NOT_YET = { issued: '', options: '' }

export async function addSecurity(
  { account, language, oauth: { languages }, pages }: FastifyInstance,
  party: RelyingParty,
  passkeys: OwnPasskeys,
  challenges: Challenges,
): Promise<void> {
  const file = (name: string): URL => new URL(`../../templates/${name}`, import.meta.url)
  await pages.add('account-security-passkeys', file('account-security-passkeys.eta'))
  await pages.addAsset('passkey-account.js', file('assets/passkey-account.js'))

  const area: AccountArea = account.addSecurity({
    name: 'passkeys',
    part: 'account-security-passkeys',
    model,
    async nextStep({ request }) {
      const known = await passkeys.list(area.sessionOf(request).userId)
      const href = area.uri(PAGE, undefined, PART)
      if (known.length === 0)
        return {
          text: message('Add a passkey: you sign in without a password, and nobody can trick you out of it.'),
          href,
        }
      const isAlone = known.length === 1 && !known[0]!.value.synced
      return isAlone
        ? { text: message('Add a second passkey, for the day when this one is lost.'), href }
        : null
    },
  })
  const purposeOf = (call: PageCall): string => `add ${area.sessionOf(call.request).sid}`
  const back = (call: PageCall, done: string, about: Readonly<Record<string, string>> = {}) =>
    call.reply.redirect(area.uri(PAGE, { passkeys: done, ...about }, PART), 303)

  async function model(call: PageCall): Promise<SecurityPasskeys> {
    const user = await area.userOf(call)
    const known = await passkeys.list(user.id)
    const { passkeys: done = '', passkey: about } = call.wire
    const key = typeof done === 'string' && Object.hasOwn(DONE, done) ? done : ''
    return {
      passkeys: known.map(({ id, value: { name, usedAt, synced }, createdAt }) => ({
        id,
        name,
        since: new Date(createdAt),
        lastUsed: usedAt === null ? null : new Date(usedAt),
        synced,
        wrong: key === 'name' && id === about,
        rename: area.target(call, PATHS.rename, id),
        remove: area.target(call, PATHS.remove, id),
      })),
      nameLength: NAME_LENGTH,
      add: known.length < MOST ? await ceremony(call, user, known) : null,
      done: DONE[key] ?? null,
      signals: CHANGED.has(key) ? await signals(user, known) : '',
    }
  }

  async function ceremony(call: PageCall, user: User, known: readonly KnownPasskey[]) {
    const form = { ...area.target(call, PATHS.add), origin: party.origin }
    if (!isFresh(area.sessionOf(call.request))) return { ...form, ...NOT_YET }
    const { challenge, issued } = challenges.make(purposeOf(call))
    const registrant = { handle: await passkeys.handleOf(user.id), ...namesOf(user) }
    return { ...form, issued, options: JSON.stringify(creationOptions(party, challenge, registrant, known)) }
  }

  /** For `signalAllAcceptedCredentials` and `signalCurrentUserDetails` (§5.1.10). */
  async function signals(user: User, known: readonly KnownPasskey[]): Promise<string> {
    const { username: name, displayName } = namesOf(user)
    const userId = await passkeys.handleOf(user.id)
    const ids = known.map(({ id }) => id)
    return JSON.stringify({ rpId: party.id, userId, allAcceptedCredentialIds: ids, name, displayName })
  }

  /** What became of it, as `DONE` says. */
  async function add(call: PageCall, userId: string, issued: string, text: string): Promise<string> {
    const response = readAttestation(text)
    if (response === null) return 'refused'
    if (!challenges.isOpen(issued)) return 'too-late'
    const made = await verifyAttestation(party, response, (challenge) =>
      challenges.matches(purposeOf(call), { challenge, issued }),
    )
    if (made === null) return 'refused'
    if (!(await challenges.spend(purposeOf(call), issued))) return 'too-late'
    const userHandle = await passkeys.handleOf(userId)
    const kind = (await languages.of(await language.reader(call, true))).say(kindOf(made))
    return passkeys.add(userId, response.id, { ...made, userHandle }, kind)
  }

  const Text = Type.Optional(Type.String())
  const toPage = async (_query: unknown, { reply }: PageCall) => reply.redirect(area.uri(PAGE), 303)
  area.serve({
    path: `/account${PATHS.add}`,
    query: Type.Object({}),
    form: Type.Object({ issued: Text, credential: Type.Optional(Type.String({ maxLength: 20_000 })) }),
    show: toPage,
    async submit({ issued = '', credential = '' }, call) {
      const { userId } = area.assertGenuine(call, PATHS.add)
      const again = area.signInAgain(call, area.uri(PAGE))
      return again ?? back(call, await add(call, userId, issued, credential))
    },
  })
  area.serve({
    path: `/account${PATHS.rename}`,
    query: Type.Object({}),
    form: Type.Object({ id: Text, name: Text }),
    show: toPage,
    async submit({ id = '', name = '' }, call) {
      const { userId } = area.assertGenuine(call, PATHS.rename, id)
      const wanted = name.trim().normalize('NFC')
      const isName = !isUnseen(wanted) && Array.from(wanted).length <= NAME_LENGTH && !/\p{C}/u.test(wanted)
      if (!isName) return back(call, 'name', { passkey: id })
      await passkeys.rename(userId, id, wanted)
      return back(call, 'renamed')
    },
  })
  area.serve({
    path: `/account${PATHS.remove}`,
    query: Type.Object({}),
    form: Type.Object({ id: Text }),
    show: toPage,
    async submit({ id = '' }, call) {
      const { userId } = area.assertGenuine(call, PATHS.remove, id)
      const again = area.signInAgain(call, area.uri(PAGE))
      if (again !== undefined) return again
      try {
        // One that is gone already is as it was wanted.
        await passkeys.remove(userId, id)
      } catch (error) {
        if (!(error instanceof OAuthError) || error.code !== 'invalid_request') throw error
        return back(call, 'last')
      }
      return back(call, 'deleted')
    },
  })
}

function namesOf({ username, claims }: User): { username: string; displayName: string } {
  return { username, displayName: (claims['name'] as string | undefined) ?? username }
}
