/** `/admin/initial-tokens`: the initial access tokens that there are, a form for a new one, which is shown once, and the end of each. */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import { Type } from '../../src/protocol/schema.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import type { FieldView, Paged } from '../admin/models.ts'
import { LOOK_AGAIN } from '../pages/expired-form.ts'
import type { PageCall } from '../pages/index.ts'
import type { FormTarget, Notice } from '../pages/models.ts'
import { createShownOnce } from '../pages/shown-once.ts'
import { problemsIn } from '../pages/words.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-initial-tokens': InitialTokensPage
    'admin-initial-token-new': NewInitialTokenPage
    'admin-initial-token': { name: string; token: string; endpoint: string; listUri: string }
  }
}

interface InitialTokensPage extends Paged {
  newUri: string
  rows: readonly {
    name: string
    usesLeft: number
    expiresAt: Date
    /** Neither used up nor expired. */
    isGood: boolean
    /** What it allows beside what all have. */
    allows: readonly string[]
    remove: FormTarget
  }[]
  /** One was ended just now. */
  removed: boolean
}

interface NewInitialTokenPage extends FormTarget {
  /** Null for nothing. */
  notice: Notice | null
  fields: readonly FieldView[]
  error: Words | null
  listUri: string
}

type Values = Readonly<Record<string, string>>
type Field = Pick<FieldView, 'name' | 'label'> & Partial<FieldView>

const PATH = '/initial-tokens'
const NEW = `${PATH}/new`
const SHOWN = `${PATH}/token`
const REMOVE = `${PATH}/delete`
const PAGE = 50
/** The key of an error that belongs to no field. */
const FORM = ''
const Text = () => Type.Optional(Type.String())

const FIELDS: readonly Field[] = [
  { name: 'name', label: message('Name'), hint: message('By which you know it again, such as partners-2026.') },
  { name: 'uses', label: message('How many apps it registers'), kind: 'number', value: '1' },
  {
    name: 'expires_in',
    label: message('How long it is good'),
    kind: 'choice',
    value: '604800',
    options: [
      { value: '86400', text: message('One day') },
      { value: '604800', text: message('One week') },
      { value: '2592000', text: message('30 days') },
      { value: '31536000', text: message('One year') },
    ],
  },
  { name: 'scopes', label: message('Scopes'), hint: message('Separated by spaces: registered ones that its apps may have beside those of OpenID Connect. Empty: as OIDC_REGISTRATION_SCOPES has it.') },
  { name: 'grant_types', label: message('Grant types'), hint: message('Separated by spaces. Empty: those by which people sign in.') },
  { name: 'redirect_hosts', label: message('Hosts of redirect URIs'), hint: message('Separated by spaces, such as app.example. Empty: any.') },
] // prettier-ignore

export async function addAdminInitialTokens(fastify: FastifyInstance, endpoint: string): Promise<void> {
  const { admin, pages } = fastify
  const kernel = kernelOf(fastify)
  const { initialTokens } = kernel
  for (const name of ['admin-initial-tokens', 'admin-initial-token-new', 'admin-initial-token'] as const)
    await pages.add(name, new URL(`../../templates/${name}.eta`, import.meta.url))
  const shownOnce = createShownOnce(kernel, 'initial-token-shown-once')
  const { serve, uri, target, assertGenuine, administratorOf, signInAgain } = admin.addSection({
    text: message('Registration'),
    path: PATH,
    group: 'apps',
  })

  serve({
    path: `/admin${PATH}`,
    query: Type.Object({ after: Text(), removed: Text() }),
    async show({ after, removed }, call) {
      const found = await initialTokens.list({ after, limit: PAGE + 1 })
      const rows = found.slice(0, PAGE).map(({ name, uses_left: usesLeft, ...token }) => {
        const expiresAt = new Date(token.expires_at)
        const { scopes = [], grant_types: grantTypes = [], redirect_hosts: hosts = [] } = token
        return {
          name,
          usesLeft,
          expiresAt,
          isGood: usesLeft > 0 && expiresAt.getTime() > Date.now(),
          allows: [...scopes, ...grantTypes, ...hosts],
          remove: target(call, REMOVE, name),
        }
      })
      return call.reply.page('admin-initial-tokens', {
        newUri: uri(NEW),
        rows,
        removed: removed !== undefined,
        nextUri: found.length > PAGE ? uri(PATH, { after: rows.at(-1)!.name }) : null,
        firstUri: after === undefined ? null : uri(PATH),
      })
    },
  })

  function show(
    call: PageCall,
    values: Values = {},
    { errors = {}, notice = null }: { errors?: Readonly<Record<string, Words>>; notice?: Notice | null } = {},
  ): FastifyReply {
    const isRefused = Object.keys(errors).length > 0
    const fields = FIELDS.map((field) => ({
      hint: '',
      kind: 'words' as const,
      autocomplete: 'off',
      options: [],
      ...field,
      value: values[field.name] ?? field.value ?? '',
      error: errors[field.name] ?? null,
    }))
    const error = isRefused ? (errors[FORM] ?? message('Please look at the marked fields.')) : null
    const model = { ...target(call, NEW, ''), notice, fields, error, listUri: uri(PATH) }
    return call.reply.page('admin-initial-token-new', model, { status: isRefused ? 400 : 200 })
  }

  serve({
    path: `/admin${NEW}`,
    query: Type.Object({}),
    form: Type.Object({}),
    show: async (_query, call) => show(call),
    async submit(_form, call) {
      const administrator = assertGenuine(call, NEW, '')
      const again = signInAgain(call, uri(NEW))
      if (again !== undefined) return again
      const values = typedIn(call.wire)
      const handle = shownOnce.handleOf(administrator, call.wire)
      const toToken = (shown: string) => call.reply.redirect(uri(SHOWN, { handle: shown }), 303)
      try {
        const token = await initialTokens.create(inputOf(values))
        return toToken(await shownOnce.put(values['name']!, token, administrator, handle))
      } catch (error) {
        if (!(error instanceof OAuthError) || error.status !== 400) throw error
        const fieldOf = (member: string) => FIELDS.find(({ name }) => name === member)?.name
        const errors = problemsIn(error, fieldOf, FORM)
        // The same form that came first has taken the name.
        if ('name' in errors && (await shownOnce.untilPut(handle))) return toToken(handle)
        return show(call, values, { errors })
      }
    },
    again: async (_form, call) => show(call, typedIn(call.wire), { notice: LOOK_AGAIN }),
  })

  serve({
    path: `/admin${SHOWN}`,
    query: Type.Object({ handle: Text() }),
    async show({ handle = '' }, { request, reply }) {
      const taken = await shownOnce.take(handle, administratorOf(request))
      if (taken !== null) {
        const { subject: name, secret: token } = taken
        return reply.page('admin-initial-token', { name, token, endpoint, listUri: uri(PATH) })
      }
      const model = {
        title: message('Not shown again'),
        text: message('An initial access token is shown once. Make another if it was lost.'),
        primary: { href: uri(PATH), text: message('Go to the initial access tokens') },
      }
      return reply.page('page-message', model, { status: 410 })
    },
  })

  serve({
    path: `/admin${REMOVE}`,
    query: Type.Object({}),
    form: Type.Object({ name: Text() }),
    show: async (_query, { reply }) => reply.redirect(uri(PATH), 303),
    async submit({ name = '' }, call) {
      assertGenuine(call, REMOVE, name)
      // One that somebody else has ended meanwhile is as it was wanted.
      await initialTokens.delete(name)
      return call.reply.redirect(uri(PATH, { removed: 'yes' }), 303)
    },
  })
}

function typedIn(wire: Wire): Values {
  return Object.fromEntries(FIELDS.map(({ name }) => [name, [wire[name] ?? ''].flat()[0]!.trim()]))
}

/** What is no number is left to be refused by its field. */
function inputOf(values: Values): Record<string, unknown> {
  const number = (name: string) => (/^\d{1,15}$/.test(values[name]!) ? Number(values[name]) : values[name])
  const list = (name: string) =>
    values[name] === '' ? undefined : values[name]!.split(/[\s,]+/).filter(Boolean)
  return {
    name: values['name'],
    uses: number('uses'),
    expires_in: number('expires_in'),
    scopes: list('scopes'),
    grant_types: list('grant_types'),
    redirect_hosts: list('redirect_hosts'),
  }
}
