/**
 * `fastify.pages.serve`: an address where people open a page and send its form. Parsing, refusals and error pages are
 * the same for every one; what is shown, and whether the form came from our page (`fastify.browser`), is the plugin's.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject } from 'typebox'
import type { BrowserCall } from '../../src/doors/interaction.ts'
import { assertShape, FUNCTION, maybe, PARAMETERS, type Shape } from '../../src/doors/shapes.ts'
import { isObject } from '../../src/protocol/json.ts'
import { assertLengths, compileParameters, lengthsOf } from '../../src/protocol/parameters.ts'
import { parseForm, type Wire } from '../../src/protocol/wire.ts'
import { refuseOtherMethods, withSlash } from '../../src/http/methods.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { acceptForms, formText, queryText } from '../../src/http/forms.ts'
import { sendErrorPage } from './error-page.ts'
import { isTypedAgain, keepingTyped } from './expired-form.ts'

/** A page that is opened by GET. `Q` are the parameters of its query. */
export interface ShownPage<Q extends TObject = TObject> {
  /** Below the issuer; served with and without a trailing slash. */
  readonly path: `/${string}`
  readonly query: Q
  /** What it throws is shown as the error page. */
  show(query: Static<Q>, call: PageCall): Promise<FastifyReply>
}

/** One with a form that is sent to the same address. `F` are the parameters of the form. */
export interface FormPage<Q extends TObject = TObject, F extends TObject = TObject> extends ShownPage<Q> {
  readonly form: F
  /** Begins with `browser.assertGenuine(call, call.wire, purpose)`, and ends with a redirect (303) or the page again. */
  submit(form: Static<F>, call: PageCall): Promise<FastifyReply>
  /** Shows the page with what was typed, after it had expired (`assertGenuine` refused it), and does nothing else. */
  again?(form: Static<F>, call: PageCall): Promise<FastifyReply>
}

export interface PageCall extends BrowserCall {
  /** Everything that was sent, `csrf_token` too. */
  readonly wire: Wire
}

export interface ServePage {
  <Q extends TObject, F extends TObject>(page: FormPage<Q, F>): void
  <Q extends TObject>(page: ShownPage<Q>): void
}

const SHOWN: Shape<ShownPage> = {
  path: {
    is: (path) => typeof path === 'string' && path.startsWith('/'),
    words: "below the issuer's, as '/counter'",
  },
  query: PARAMETERS,
  show: FUNCTION,
}
const WITH_FORM: Shape<FormPage> = { ...SHOWN, form: PARAMETERS, submit: FUNCTION, again: maybe(FUNCTION) }

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** In a scope of its own: body parser and error handler are nobody else's. */
export async function createServePage(fastify: FastifyInstance): Promise<ServePage> {
  const { doors } = kernelOf(fastify)
  let scope: FastifyInstance
  const opened = async (child: FastifyInstance): Promise<void> => {
    await acceptForms(child)
    child.setErrorHandler(sendErrorPage)
    scope = child
  }
  await fastify.register(opened, { prefix: fastify.oauth.config.basePath })

  return (page: ShownPage | FormPage) => {
    assertPage(page)
    doors.assertOpen(`The page ${page.path}`)
    const hasForm = 'submit' in page
    const show = handlerOf(page.query, queryText, page.show)
    for (const url of withSlash(scope, page.path)) {
      scope.get(url, show)
      if (hasForm) scope.post(url, handlerOf(page.form, formText, submitOf(page)))
      refuseOtherMethods(
        scope,
        url,
        ['PUT', 'PATCH', 'DELETE', 'OPTIONS', ...(hasForm ? [] : ['POST'])],
        hasForm ? 'GET, HEAD, POST' : 'GET, HEAD',
      )
    }
  }
}

/** For plugins that no compiler reads. */
function assertPage(page: unknown): void {
  const given = isObject(page) ? page : {}
  const { path } = given
  const hasForm = 'form' in given || 'submit' in given
  assertShape(typeof path === 'string' ? `page ${path}` : 'page', hasForm ? WITH_FORM : SHOWN, page)
}

function submitOf({ submit, again }: FormPage): FormPage['submit'] {
  if (again === undefined) return submit
  return async (form, call) => {
    const { request, wire } = call
    if (!isTypedAgain(wire)) return keepingTyped(request.url, wire, async () => submit(form, call))
    request.server.browser.assertFromHere(call)
    return again(form, call)
  }
}

function handlerOf(
  schema: TObject,
  textOf: (request: FastifyRequest) => string,
  handle: (parameters: never, call: PageCall) => Promise<FastifyReply>,
): Handler {
  const parse = compileParameters(schema)
  const lengths = lengthsOf(schema)
  return async (request, reply) => {
    const wire = parseForm(textOf(request))
    assertLengths(wire, lengths)
    return handle(parse(wire) as never, { request, reply, wire })
  }
}
