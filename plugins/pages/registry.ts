/** Which pages there are: the template of each, and what its headers are made from. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readFile } from 'node:fs/promises'
import { ConfigError } from '../../src/config.ts'
import { assertShape, BOOLEAN, FUNCTION, maybe, oneOf, type Shape } from '../../src/doors/shapes.ts'
import { sendErrorPage } from './error-page.ts'
import { type HeaderFacts, type PageKind, policySource } from './headers.ts'
import type { Pages } from './models.ts'
import type { Source } from './brand/own-templates.ts'
import { LAYOUT, type Area } from './templates.ts'

export interface PageOptions<Model> {
  /** Default `page`. */
  kind?: PageKind
  /** The address of an image at another origin that the page shows; its policy then allows that origin. */
  image?: (model: Model) => string | null
  /** The addresses that it has frames of; its policy then allows their origins. */
  frames?: (model: Model) => readonly string[]
  /** Whether its form may lead to another site, by whatever redirects; default false. */
  leadsAway?: boolean
}

const OPTIONS: Shape<PageOptions<never>> = {
  kind: maybe(oneOf('page', 'interaction')),
  image: maybe(FUNCTION),
  frames: maybe(FUNCTION),
  leadsAway: maybe(BOOLEAN),
}

export interface PageRegistry {
  /**
   * Adds a page, before the server is ready. `template` is the file of an Eta template that begins with
   * `<% title('…') %>` and reads its `model`, whose type `Pages` has under the same name. One without a title is a
   * part of pages, which their templates print by `part(name, model)`. Throws `ConfigError` for a name that is taken.
   */
  add<Name extends keyof Pages>(name: Name, template: URL, options?: PageOptions<Pages[Name]>): Promise<void>
  /** Pages whose template says `title('…', { area, here })` have these links at their top, `here` being the text of one. */
  addArea(name: string, area: Area): void
  /** The error page, as an error handler for scopes that serve pages. */
  sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply
}

/** @internal */
export interface OpenRegistry extends PageRegistry {
  /** What `add` was told of the page. */
  find(
    name: string,
    model: object,
  ): Pick<HeaderFacts, 'kind' | 'leadsAway' | 'frames'> & { image: string | null }
  /** From here on `add` throws: the server has started. */
  close(): void
}

/** @internal */
export function createRegistry(templates: Source): OpenRegistry {
  const registered = new Map<string, PageOptions<never>>()
  let closed = false
  return {
    async add(name, template, options = {}) {
      if (closed) throw new ConfigError(`The page ${name} must be registered before the server is ready.`)
      if (!/^[a-z][a-z0-9-]*$/.test(name))
        throw new ConfigError(`The page ${name} needs a name of small letters, digits and hyphens.`)
      if (registered.has(name) || (name as string) === LAYOUT)
        throw new ConfigError(`The page ${name} is registered twice.`)
      assertShape(`page ${name}`, OPTIONS, options)
      registered.set(name, options)
      templates.add(name, template, await readFile(template, 'utf8'))
    },
    addArea: templates.addArea,
    sendError: sendErrorPage,
    find(name, model) {
      const options = registered.get(name)
      if (options === undefined) throw new TypeError(`there is no page ${name}`)
      const { kind = 'page', leadsAway = false, image, frames } = options
      const framed = (frames?.(model as never) ?? []).map(policySource).filter((one) => one !== null)
      return { kind, leadsAway, frames: [...new Set(framed)], image: image?.(model as never) ?? null }
    },
    close() {
      closed = true
    },
  }
}
