/**
 * `/dev/mail`: what a development start has sent without a mail server, for who develops, at this machine. Each process shows its own,
 * the last hundred.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { OAuthError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { PageCall } from '../pages/index.ts'
import { DEV_MAIL as PATH, isHere } from './read-here.ts'

declare module '../pages/models.ts' {
  interface Pages {
    'dev-mails': { mails: readonly { to: string; subject: string; href: string }[] }
    'dev-mail': DevMail
  }
}

interface DevMail {
  to: string
  subject: string
  /** Line by line; those that are an address alone can be followed. */
  lines: readonly { text: string; href: string | null }[]
  textUri: string
  /** Null where it has none. */
  htmlUri: string | null
  allUri: string
}

/** What is written in a mail is shown as a mail program does: with its styles, and nothing that runs. */
const AS_MAIL = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-popups allow-top-navigation",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}

export async function addDevMail(fastify: FastifyInstance): Promise<void> {
  const { oauth, pages } = fastify
  const { mail } = kernelOf(fastify)
  const uri = `${oauth.config.basePath}${PATH}`
  for (const name of ['dev-mails', 'dev-mail'] as const)
    await pages.add(name, new URL(`../../templates/${name}.eta`, import.meta.url))

  /** Numbers from 1 on, which stay. */
  const numbered = () => mail.kept().map((one, at) => ({ ...one, number: mail.dropped() + at + 1 }))

  pages.serve({
    path: PATH,
    query: Type.Object({}),
    async show(_query, call) {
      assertHere(call)
      const mails = numbered().map(({ number, to, subject }) => ({ to, subject, href: `${uri}/${number}` }))
      return call.reply.page('dev-mails', { mails: mails.toReversed() })
    },
  })
  pages.serve({
    path: `${PATH}/:number`,
    query: Type.Object({ format: Type.Optional(Type.String()) }),
    async show({ format }, call) {
      assertHere(call)
      const { request, reply } = call
      const { number: wanted } = request.params as { number: string }
      const found = numbered().find(({ number }) => String(number) === wanted)
      if (found === undefined) throw nothing()
      const { to, subject, text, html } = found
      if (format === 'text') return asText(reply, `To: ${to}\nSubject: ${subject}\n\n${text}`)
      if (format === 'html' && html !== undefined) return reply.headers(AS_MAIL).send(html)
      const own = `${uri}/${wanted}`
      return reply.page('dev-mail', {
        to,
        subject,
        lines: text
          .split('\n')
          .map((line) => ({ text: line, href: /^https?:\/\/\S+$/.test(line) ? line : null })),
        textUri: `${own}?format=text`,
        htmlUri: html === undefined ? null : `${own}?format=html`,
        allUri: uri,
      })
    },
  })
}

function asText(reply: FastifyReply, text: string): FastifyReply {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' }
  return reply.headers(headers).send(text)
} // prettier-ignore

/** Links in mails open accounts. */
function assertHere(call: PageCall): void {
  if (!isHere(call)) throw nothing()
}

function nothing(): OAuthError {
  return new OAuthError('not_found', 'there is no such mail', { status: 404 })
}
