/**
 * `reply.page(name, model)`: HTML pages by name, each with a typed model and its security headers, and
 * `fastify.pages.add` and `serve` for the pages of other plugins. Which page is the answer is for those plugins to say.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { readFile } from 'node:fs/promises'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { type Assets, createAssets } from './assets.ts'
import { beginWith, sourceOf } from './brand/beginning.ts'
import { readBrandDirectory } from './brand/directory.ts'
import { notesWhenListening } from './brand/when-listening.ts'
import { createBrand } from './brand.ts'
import { createClientThemes } from './client-themes.ts'
import { policySource, pageHeaders } from './headers.ts'
import type { Client } from '../../src/doors/client.ts'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import type { Reader } from '../../src/services/languages/languages.ts'
import type { Pages, Person } from './models.ts'
import { createPlaces, type Places } from './places.ts'
import { createRegistry, type PageRegistry } from './registry.ts'
import { createServePage, type ServePage } from './serve.ts'
import { createTemplates, LAYOUT, type Site } from './templates.ts'

export type { PageOptions, PageRegistry } from './registry.ts'
export type { FormPage, PageCall, ServePage, ShownPage } from './serve.ts'

/** Null when nobody is signed in. */
export type FindPerson = (call: BrowserCall, how?: { toLeave: boolean }) => Promise<Person | null>

/** What kind of page somebody reads: whether it is of an area of their own, and whether it tells of an error. */
export interface ReadPage {
  readonly isOwn: boolean
  readonly isError: boolean
}
/** Who reads a page. Of an error nothing is asked of the database. */
export type FindReader = (call: BrowserCall, page: ReadPage) => Promise<Reader>

export interface PageDoors extends PageRegistry {
  /** Serves a page at an address of its own, by GET, and its form by POST. */
  readonly serve: ServePage
  /**
   * Serves a file of the plugin's own folder (`.css`, `.js`, `.svg`) from our origin, for templates to load at `site.assets['name']`. Returns
   * its path. Throws `ConfigError` for a name that is taken.
   */
  readonly addAsset: Assets['add']
  readonly places: Places
  /** @internal What a page shows of its model for a plugin that is there: a template of an operator's that does not is refused at the start. */
  mustShow<Name extends keyof Pages>(page: Name, ...members: (keyof Pages[Name] & string)[]): void
  /**
   * @internal Who every page names at its top, but for those on the way to a client and those of an error. `toLeave` where all that it is
   * for is that they can sign out.
   */
  name(find: FindPerson): void
  /** @internal Who reads the page, which is then in their language. */
  speak(find: FindReader): void
  /** @internal The answer is a page on the way to this client, and has its colour. */
  leadTo(request: FastifyRequest, client: Client): void
}

declare module 'fastify' {
  interface FastifyInstance {
    pages: PageDoors
  }
  interface FastifyReply {
    /** Answers with a page; the status is the reply's own unless given. A value that is missing is an error. */
    page<Name extends keyof Pages>(
      name: Name,
      model: Pages[Name],
      options?: { status?: number },
    ): FastifyReply
  }
}

const OF_AN_AREA = /^(?:account|admin)(?:-|$)/
/** What looks like ours, whoever people are on the way to. */
const OF_OURS = /^(?:(?:account|admin)(?:-|$)|error$)/
/** The answer of `form_post`: no other has a form for another site. */
const POSTS_AWAY = 'form-post'
const DIRECTORY = new URL('../../templates/', import.meta.url)
const inDirectory = (name: string): URL => new URL(`${name}.eta`, DIRECTORY)

async function pages(fastify: FastifyInstance): Promise<void> {
  const { config, issuer } = fastify.oauth
  const { languages } = kernelOf(fastify)
  const assets = await createAssets(fastify, config.basePath, new URL('assets/', DIRECTORY))
  const notes = notesWhenListening(fastify)
  const { BRAND_DIRECTORY: directory } = kernelOf(fastify).config
  const own = directory === undefined ? null : await readBrandDirectory(directory)
  const brand = await createBrand(kernelOf(fastify).config, notes, assets, own)
  const places = createPlaces(fastify)
  const site: Site = {
    brand,
    host: new URL(issuer).host,
    get home() {
      return places.start()
    },
    development: !config.production,
    assets: assets.addresses,
  }
  const templates = await createTemplates(fastify, site)
  const source = sourceOf(templates, site, own)
  const registry = createRegistry(source)
  const themes = createClientThemes(fastify, config.basePath, kernelOf(fastify).box)
  const ledTo = new WeakMap<FastifyRequest, Client>()
  const mustShow = new Map<string, ReadonlySet<string>>()

  let findPerson: FindPerson = async () => null
  let findReader: FindReader = async () => ({ tags: [], zone: null })

  /** An error is shown whatever else fails, and asks the database nothing but where it offers to sign out. */
  async function personOf(name: string, model: object, call: BrowserCall): Promise<Person | null> {
    if (name !== 'error') return findPerson(call)
    if (!('offersSignOut' in model) || model.offersSignOut !== true) return null
    return findPerson(call, { toLeave: true }).catch(() => null)
  }

  async function render(reply: FastifyReply, name: string, model: object): Promise<string> {
    const { image, ...facts } = registry.find(name, model)
    const { kind } = facts
    const call = { request: reply.request, reply }
    const person = kind === 'page' ? await personOf(name, model, call) : null
    const reader = await findReader(call, { isOwn: OF_AN_AREA.test(name), isError: name === 'error' })
    const language = await languages.of(reader)
    const client = OF_OURS.test(name) ? undefined : ledTo.get(reply.request)
    const theme = client === undefined ? null : themes.addressOf(client)
    const html = await templates.render(name, model, { person, language, theme })
    const images = [brand.logo, image ?? ''].map(policySource).filter((one) => one !== null)
    reply.headers(pageHeaders(issuer, { ...facts, images, postsAway: name === POSTS_AWAY }))
    void reply.header('content-language', language.tag)
    return html
  }
  fastify.decorate('pages', {
    ...registry,
    addAsset: assets.add,
    places,
    serve: await createServePage(fastify),
    mustShow(page, ...members) {
      mustShow.set(page, new Set([...(mustShow.get(page) ?? []), ...members]))
    },
    name(find) {
      findPerson = find
    },
    speak(find) {
      findReader = find
    },
    leadTo(request, client) {
      ledTo.set(request, client)
    },
  })
  fastify.decorateReply('page', function page(this: FastifyReply, name, model, { status } = {}) {
    if (status !== undefined) this.code(status)
    // Sent in either case: an error goes the way of every other.
    void render(this, name, model)
      .catch((error: unknown) => error)
      .then((answer) => this.send(answer))
    return this
  })
  fastify.addHook('onReady', async () => {
    registry.close()
    if (own !== null) await beginWith(own, source, { languages, mustShow, notes })
  })

  source.add(LAYOUT, inDirectory(LAYOUT), await readFile(inDirectory(LAYOUT), 'utf8'))
  await addOurs(registry)
}

async function addOurs({ add }: PageRegistry): Promise<void> {
  const kind = 'interaction'
  const image = ({ client }: Pages['login' | 'consent']) => client.logoUri
  for (const name of ['login', 'consent'] as const) await add(name, inDirectory(name), { kind, image })
  for (const name of ['sign-out', 'form-post'] as const) await add(name, inDirectory(name), { kind })
  const frames = (model: Pages['signed-out' | 'signing-out']) => model.frames
  for (const name of ['signed-out', 'signing-out'] as const)
    await add(name, inDirectory(name), { kind, frames })
  await add('sign-out-frames', inDirectory('sign-out-frames'))
  for (const name of ['error', 'home', 'setup', 'setup-done', 'confirm', 'page-message'] as const)
    await add(name, inDirectory(name))
  for (const name of ['password-script', 'wait'] as const) await add(name, inDirectory(name))
  // Whoever has forgotten theirs is led back to the app.
  await add('new-password', inDirectory('new-password'), { leadsAway: true })
}

export default fp(pages, { name: 'latchkey-pages', dependencies: ['latchkey-oauth'] })
