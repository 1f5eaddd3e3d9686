/** The one sign-in page: an element of each registered method, and links. A method that has a page of its own is led to it. */
import type { FastifyInstance } from 'fastify'
import type { BrowserCall, Elsewhere, Interaction, StepPage } from '../../src/doors/interaction.ts'
import type { Proof, SignInAsked, SignInElement, SignInMethod } from '../../src/doors/sign-in.ts'
import type { User } from '../../src/doors/user.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import type { Wire } from '../../src/protocol/wire.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { LOGIN } from '../interaction/phases.ts'
import { promptsOf } from '../interaction/prompt.ts'
import { isSilent } from '../interaction/visitors.ts'

/** What a method goes on from. */
export interface MethodNote {
  readonly method?: string
  readonly state?: unknown
}

/** A form that had expired, and what was typed into it. */
interface Typed {
  readonly wire: Wire
  readonly part: string | undefined
}

interface Shown {
  readonly typed?: Typed | undefined
  readonly instead?: readonly [string, SignInElement]
  readonly note?: MethodNote | undefined
}

export interface SignInPage {
  show(
    interaction: Interaction,
    note: MethodNote | undefined,
    call: BrowserCall,
    typed?: Typed,
  ): Promise<StepPage>
  submit(
    interaction: Interaction,
    note: MethodNote | undefined,
    wire: Wire,
    call: BrowserCall,
    part?: string,
  ): Promise<StepPage | Elsewhere | { method: string; state: unknown } | { proof: Proof }>
}

/** Whose form has no part in its address. */
const PASSWORD = 'password'

export function createSignInPage(fastify: FastifyInstance): SignInPage {
  const { oauth } = fastify
  const { doors } = kernelOf(fastify)

  function askedOf(
    interaction: Interaction,
    name: string,
    known: User | null,
    note: MethodNote = {},
  ): SignInAsked {
    const { request, session, notes, missing, formFor, insteadOf } = interaction
    return {
      get id() {
        return interaction.id
      },
      get address() {
        return interaction.address
      },
      get form() {
        return formFor(LOGIN, name === PASSWORD ? undefined : name)
      },
      request,
      session,
      notes,
      missing,
      formFor,
      insteadOf,
      known,
      hint: (request.parameters['login_hint'] as string | undefined) ?? '',
      state: note.method === name ? note.state : undefined,
    }
  }

  async function knownOf({ session }: Interaction): Promise<User | null> {
    return session === null ? null : oauth.users.get(session.userId)
  }

  /** Whoever comes to make an account, or to choose one, need not be who is there. */
  const wantsOther = ({ request }: Interaction): boolean =>
    promptsOf(request).some((one) => one === 'select_account' || one === 'create')

  /** Who has to show that it is them; null where anybody may. */
  const expectedOf = async (interaction: Interaction): Promise<User | null> =>
    wantsOther(interaction) ? null : knownOf(interaction)

  /** The way in that the client has asked for by name. */
  function promptedOf({ request }: Interaction): string | undefined {
    const prompts = promptsOf(request)
    const isAsked = ({ prompt }: SignInMethod): boolean => prompt !== undefined && prompts.includes(prompt)
    return [...oauth.owners('signInMethod')].find(([, method]) => isAsked(method))?.[0]
  }

  /** None where nobody will see the page: the way back that they carry would begin something in the browser. */
  async function linksOf(interaction: Interaction) {
    if (isSilent(interaction.request)) return []
    const links = doors.all('signInLink').map(async (link) => {
      const shown = await link.link(interaction)
      return shown === null ? [] : [{ id: link.name, ...shown }]
    })
    return (await Promise.all(links)).flat()
  }

  /** The page; `instead` is what a method shows in the place of what it offers, and `note` is of the one that has no page for it. */
  async function all(interaction: Interaction, call: BrowserCall, shown: Shown = {}): Promise<StepPage> {
    const { typed, instead, note } = shown
    const somebody = await knownOf(interaction)
    const known = wantsOther(interaction) ? null : somebody
    const offers = [...oauth.owners('signInMethod')].map(async ([name, method]) => {
      const asked = askedOf(interaction, name, known, note)
      const isTyped = typed !== undefined && (typed.part ?? PASSWORD) === name
      const element =
        instead?.[0] === name ? instead[1] : await method.offer(asked, call, isTyped ? typed.wire : undefined)
      return element === null ? [] : [{ ...element, model: { ...asked.form, ...element.model } }]
    })
    const elements = (await Promise.all(offers)).flat()
    const model = {
      elements: elements.map(({ part, model: own }) => ({ part, model: own })),
      links: await linksOf(interaction),
      refused: elements.some(({ refused = false }) => refused),
      reauthenticate: known !== null,
      knownUser: somebody?.username ?? null,
    }
    return { page: 'login', model, status: instead?.[1].status ?? 200 }
  }

  /** The form's own, where it is not the method's only one. */
  function toMethod(page: StepPage, { form }: SignInAsked): StepPage {
    return { ...page, model: { ...form, ...page.model } }
  }

  function methodOf(part: string | undefined): readonly [string, SignInMethod] {
    const name = part ?? PASSWORD
    const method = oauth.owners('signInMethod').get(name)
    if (method === undefined) throw new OAuthError('invalid_request', 'there is no such way to sign in')
    return [name, method]
  }

  return {
    async show(interaction, note, call, typed) {
      const name = note?.method ?? promptedOf(interaction)
      const method = name === undefined ? undefined : oauth.owners('signInMethod').get(name)
      if (name === undefined || method?.page === undefined) return all(interaction, call, { typed, note })
      const asked = askedOf(interaction, name, await expectedOf(interaction), note)
      const page = await method.page(asked, call)
      return page === null ? all(interaction, call, { typed, note }) : toMethod(page, asked)
    },
    async submit(interaction, note, wire, call, part) {
      const [name, method] = methodOf(part)
      const asked = askedOf(interaction, name, await expectedOf(interaction), note)
      const result = await method.submit(asked, wire, call)
      if ('page' in result) return toMethod(result, asked)
      if ('part' in result) return all(interaction, call, { instead: [name, result] })
      if ('elsewhere' in result) return result
      return 'proof' in result ? result : { method: name, state: result.state }
    },
  }
}
