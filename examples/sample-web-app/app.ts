/** The routes: sign in and come back, show who is signed in, call the API, refresh, sign out. */
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { layout } from './layout.ts'
import { books, problem, profile, welcome, type Book } from './pages.ts'
import {
  NO_SIGN_IN_BEGUN,
  NOT_FROM_HERE,
  NOT_SIGNED_IN,
  NOTHING_HERE,
  problemOf,
  type Problem,
} from './problems.ts'
import { createSessions, type Session } from './sessions.ts'
import {
  beginSignIn,
  call,
  discover,
  finishSignIn,
  refresh,
  signOutUrl,
  stepUpOf,
  type Registration,
} from './sign-in.ts'
import { addStep, browserStep } from './steps.ts'
import type { Html } from './html.ts'

export interface SampleOptions extends Registration {
  /** The API that is called with the access token. */
  books: URL
}

const FILES = { '/style.css': 'text/css; charset=utf-8', '/icon.svg': 'image/svg+xml' }

export function buildApp(options: SampleOptions): FastifyInstance {
  const app = fastify({ forceCloseConnections: true })
  const sessions = createSessions()
  const isSignedIn = ({ config, user }: Session): boolean => config !== undefined && user !== undefined

  const send = async (reply: FastifyReply, { steps }: Session, title: string, main: Html) =>
    reply.type('text/html; charset=utf-8').send(layout({ title, main, steps }))

  const sendProblem = async (request: FastifyRequest, reply: FastifyReply, what: Problem) => {
    const session = sessions.find(request)
    return send(reply.code(what.status), session, what.title, problem(what, isSignedIn(session)))
  }

  secure(app, options)
  app.setNotFoundHandler(async (request, reply) => sendProblem(request, reply, NOTHING_HERE))
  app.setErrorHandler(async (error, request, reply) => {
    const known = problemOf(error)
    if (known?.endsSignIn) delete sessions.find(request).user
    if (known !== undefined) return sendProblem(request, reply, known)
    throw error
  })
  // Our forms have no fields.
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, async () => null)

  for (const [path, type] of Object.entries(FILES)) {
    app.get(path, async (_request, reply) =>
      reply.type(type).send(await readFile(join(import.meta.dirname, path))),
    )
  }

  app.get('/', async (request, reply) => {
    const session = sessions.find(request)
    const { user, notice } = session
    delete session.notice
    return user === undefined
      ? send(reply, session, 'Welcome', welcome(options.issuer.href.replace(/\/$/, ''), notice))
      : send(reply, session, 'Your profile', profile(user, notice))
  })

  app.get('/login', async (request, reply) => {
    const session: Session = { steps: [] }
    sessions.renew(request, reply, session)
    session.config = await discover(options, session.steps)
    const { url, pending } = await beginSignIn(session.config, options)
    session.pending = pending
    addStep(session.steps, browserStep(url))
    return reply.redirect(url.href, 303)
  })

  app.get('/callback', async (request, reply) => {
    const session = sessions.find(request)
    const { config, pending, steps } = session
    if (config === undefined || pending === undefined) return sendProblem(request, reply, NO_SIGN_IN_BEGUN)
    // An answer counts once, whatever comes of it.
    delete session.pending
    const { retry = '/' } = session
    const answer = new URL(request.url, options.origin)
    addStep(steps, browserStep(answer))
    session.user = await finishSignIn(config, answer, pending)
    sessions.renew(request, reply, session)
    return reply.redirect(retry, 303)
  })

  app.get('/books', async (request, reply) => {
    const session = sessions.find(request)
    const { config, user } = session
    if (config === undefined || user === undefined) return sendProblem(request, reply, NOT_SIGNED_IN)
    let answer: Response
    try {
      answer = await call(config, user, options.books)
    } catch (error) {
      const stepUp = stepUpOf(error)
      // Whoever has just come back from there would go round in a circle.
      if (stepUp === undefined || session.retry !== undefined) throw error
      const { url, pending } = await beginSignIn(config, options, stepUp)
      Object.assign(session, { pending, retry: '/books' })
      addStep(session.steps, browserStep(url))
      return reply.redirect(url.href, 303)
    } finally {
      if (session.pending === undefined) delete session.retry
    }
    const main = books(options.books, answer.status, (await answer.json()) as { books: Book[] })
    return send(reply, session, 'Your books', main)
  })

  app.post('/refresh', async (request, reply) => {
    const session = sessions.find(request)
    const { config, user } = session
    if (config === undefined || user === undefined) return sendProblem(request, reply, NOT_SIGNED_IN)
    session.user = await refresh(config, user)
    session.notice = 'The tokens are new: the access token below, the ID token and the refresh token.'
    return reply.redirect('/', 303)
  })

  app.post('/logout', async (request, reply) => {
    const { config, user, steps } = sessions.find(request)
    const session: Session = { steps, notice: 'You have signed out.' }
    sessions.renew(request, reply, session)
    if (config === undefined || user === undefined) return reply.redirect('/', 303)
    const url = signOutUrl(config, user, options)
    addStep(steps, browserStep(url))
    return reply.redirect(url.href, 303)
  })
  return app
}

/** One host name, headers that let pages load only what is ours, and no forms from elsewhere. */
function secure(app: FastifyInstance, { issuer, origin }: SampleOptions): void {
  const headers = {
    'cache-control': 'no-store',
    // Signing out is a form whose answer leads to the server.
    'content-security-policy': `default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' ${issuer.origin}; base-uri 'none'; frame-ancestors 'none'`,
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
  }
  app.addHook('onRequest', async (request, reply) => {
    void reply.headers(headers)
    // Under another name of this machine, such as 127.0.0.1, there would be no cookie on the way back.
    if (request.headers.host !== new URL(origin).host) return reply.redirect(origin + request.url, 303)
    const { origin: from, 'sec-fetch-site': site = 'same-origin' } = request.headers
    const isForeign = (from !== undefined && from !== origin) || site !== 'same-origin'
    if (request.method === 'POST' && isForeign)
      return reply
        .code(NOT_FROM_HERE.status)
        .type('text/html; charset=utf-8')
        .send(layout({ title: NOT_FROM_HERE.title, main: problem(NOT_FROM_HERE, false), steps: [] }))
    return undefined
  })
}
