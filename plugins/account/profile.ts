/** `/account/profile`: what is known of a user, to look at and, but for the email address, to change. */
import type { FastifyReply } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { User } from '../../src/services/users/user.ts'
import { keptElsewhere } from '../password/kept-elsewhere.ts'
import { LOOK_AGAIN } from '../pages/expired-form.ts'
import type { PageCall } from '../pages/index.ts'
import type { Notice } from '../pages/models.ts'
import {
  changesOf,
  fieldOf,
  groupsOf,
  problemsOf,
  typedIn,
  valuesOf,
  type Errors,
  type ProfileField,
  type Values,
} from '../pages/profile-fields.ts'
import { seenVersion } from '../pages/seen-version.ts'
import { problemsIn } from '../pages/words.ts'
import type { OwnArea } from './area.ts'

const PATH = '/profile'
/** The key of an error that belongs to no field. */
const FORM = ''
const CHANGED_MEANWHILE = message(
  'Your profile was changed meanwhile. Nothing is saved yet: saving now puts what stands here in its place.',
)

const SAVED: Notice = { kind: 'success', text: message('Saved.') }

interface Sent {
  values?: Values
  errors?: Errors
  notice?: Notice | null
}

export function addProfile(area: OwnArea): void {
  const { oauth, kernel, serve, uri, userOf } = area
  const asked = { languages: kernel.languages.tags, asBrowser: message('As my browser') }

  async function show(call: PageCall, { id, username, claims }: User, sent: Sent) {
    const { values = valuesOf(claims), errors = {}, notice = null } = sent
    const wrong = Object.keys(errors).length > 0
    const kept = await keptElsewhere(oauth, id)
    const all = groupsOf(values, errors, asked)
    const isKept = ({ name }: ProfileField): boolean => kept?.claims.includes(name) ?? false
    const model = {
      ...area.target(call, PATH),
      username,
      email: (claims['email'] as string | undefined) ?? null,
      emailUri: uri('/email'),
      notice,
      version: versionOf(claims),
      groups: all.map(({ title, fields }) => ({ title, fields: fields.filter((field) => !isKept(field)) })),
      kept: kept && { ...kept, fields: all.flatMap(({ fields }) => fields.filter(isKept)) },
      error: wrong ? (errors[FORM] ?? message('Please look at the marked fields.')) : null,
    }
    return call.reply.page('account-profile', model, { status: wrong ? 400 : 200 })
  }

  /** What is kept elsewhere stays as it is, whatever a form says. */
  async function valuesIn(wire: Wire, user: User): Promise<Values> {
    const [typed, shown] = [typedIn(wire), valuesOf(user.claims)]
    const kept = (await keptElsewhere(oauth, user.id))?.claims ?? []
    return { ...typed, ...Object.fromEntries(kept.map((name) => [name, shown[name] ?? ''])) }
  }

  /** Undefined when it is saved. */
  async function save(user: User, values: Values): Promise<Errors | undefined> {
    const shown = valuesOf(user.claims)
    const errors = problemsOf(values, shown)
    if (Object.keys(errors).length > 0) return errors
    const changes = changesOf(values, shown)
    if (Object.keys(changes).length === 0) return undefined
    try {
      await oauth.users.update(user, changes)
      return undefined
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status !== 400) throw error
      return problemsIn(error, fieldOf, FORM)
    }
  }

  serve({
    path: `/account${PATH}`,
    query: Type.Object({ saved: Type.Optional(Type.String()) }),
    form: Type.Object({ version: Type.Optional(Type.String()) }),
    show: async ({ saved }, call) =>
      show(call, await userOf(call), { notice: saved === undefined ? null : SAVED }),
    async submit({ version }, call): Promise<FastifyReply> {
      area.assertGenuine(call, PATH)
      const user = await userOf(call)
      const values = await valuesIn(call.wire, user)
      const saved = () => call.reply.redirect(uri(PATH, { saved: 'yes' }), 303)
      if (version !== versionOf(user.claims))
        // One that comes again has been saved before.
        return Object.keys(changesOf(values, valuesOf(user.claims))).length === 0
          ? saved()
          : show(call, user, { values, errors: { [FORM]: CHANGED_MEANWHILE } })
      const errors = await save(user, values)
      return errors === undefined ? saved() : show(call, user, { values, errors })
    },
    async again({ version }, call) {
      const user = await userOf(call)
      const values = await valuesIn(call.wire, user)
      return version === versionOf(user.claims)
        ? show(call, user, { values, notice: LOOK_AGAIN })
        : show(call, user, { values, errors: { [FORM]: CHANGED_MEANWHILE } })
    },
  })
}

function versionOf(claims: User['claims']): string {
  return seenVersion(valuesOf(claims))
}
