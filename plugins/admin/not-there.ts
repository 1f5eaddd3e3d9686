/** What is not there, or not any more: said in the area, with the way to the list in which it would stand. */
import type { FastifyReply } from 'fastify'
import { logFailure } from '../../src/http/errors.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { message, type Words } from '../../src/protocol/message.ts'
import type { AdminArea } from './sections.ts'
import type { FormPage, PageCall, ServePage, ShownPage } from '../pages/serve.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'admin-not-there': NotTherePage
  }
}

export interface NotTherePage {
  /** The text of the section that it would be in. */
  section: string
  title: Words
  listUri: string
  listText: Words
}

/** Thrown by a page of the administration: `not_found` (404), shown as the page that it has. */
export class NotThere extends OAuthError {
  readonly page: NotTherePage

  constructor(description: string, page: NotTherePage) {
    super('not_found', description, { status: 404 })
    this.page = page
  }
}

/** By the id in the address. */
export function noSuchUser({ uri }: Pick<AdminArea, 'uri'>): NotThere {
  return new NotThere('no user has this id', {
    section: 'Users',
    title: message('There is no such user'),
    listUri: uri('/users'),
    listText: message('Users'),
  })
}

type Handle<Parameters> = (parameters: Parameters, call: PageCall) => Promise<FastifyReply>

function showing<Parameters>(handle: Handle<Parameters>): Handle<Parameters> {
  return async (parameters, call) => {
    try {
      return await handle(parameters, call)
    } catch (error) {
      if (!(error instanceof NotThere)) throw error
      const { request, reply } = call
      logFailure(error, request)
      reply.header('x-request-id', request.id)
      return reply.page('admin-not-there', error.page, { status: error.status })
    }
  }
}

export function servingNotThere(serve: ServePage): ServePage {
  return (page: ShownPage | FormPage) => {
    const show = showing(page.show)
    if (!('submit' in page)) return serve({ ...page, show })
    const again = page.again === undefined ? {} : { again: showing(page.again) }
    return serve({ ...page, show, submit: showing(page.submit), ...again })
  }
}
