/** Cookies of ours: their names and attributes, by the issuer's address, and how they are read, set and taken away. */
import cookie from '@fastify/cookie'
import { fastify as createApp, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { BrowserCall } from '../../src/doors/interaction.ts'

/** A cookie of this browser. */
export interface Cookie {
  /** As the browser knows it. */
  readonly name: string
  read(request: FastifyRequest): string | undefined
  set(call: BrowserCall, value: string): void
  /** Where the browser sent one. */
  clear(call: BrowserCall): void
}

export interface CookieOptions {
  /** Seconds; by default it lasts as long as the browser is open. */
  maxAge?: number
  /** Also by scripts, and in a frame of ours in another site's page: nothing may open by it. */
  readable?: boolean
}

export interface Cookies {
  named(name: string, options?: CookieOptions): Cookie
  /** One of 256 random bits, as base64url: what has another form is as good as none. */
  handle(name: string): Cookie
}

const HANDLE = /^[A-Za-z0-9_-]{43}$/

export async function createCookies(issuer: string, basePath: string): Promise<Cookies> {
  const secure = new URL(issuer).protocol === 'https:'
  // The prefix makes browsers refuse one that another host of the domain planted (RFC 6265bis §4.1.3.2).
  const prefix = secure ? '__Host-' : ''
  const path = secure ? '/' : basePath || '/'
  const attributes = { path, httpOnly: true, secure, sameSite: 'lax' } as const
  const jar = await cookieFunctions()

  function named(suffix: string, { readable = false, ...lasting }: CookieOptions = {}): Cookie {
    const name = `${prefix}latchkey-${suffix}`
    // Without https, browsers send none with a frame of another site.
    const sameSite = secure ? ('none' as const) : attributes.sameSite
    const own = readable ? { ...attributes, httpOnly: false, sameSite } : attributes
    const read = ({ headers }: FastifyRequest): string | undefined =>
      headers.cookie === undefined ? undefined : jar.parse(headers.cookie)[name]
    return {
      name,
      read,
      set: ({ reply }, value) =>
        void reply.header('set-cookie', jar.serialize(name, value, { ...own, ...lasting })),
      clear({ request, reply }) {
        if (read(request) !== undefined)
          void reply.header('set-cookie', jar.serialize(name, '', { ...own, maxAge: 0 }))
      },
    }
  }

  return {
    named,
    handle(name) {
      const all = named(name)
      return {
        ...all,
        read(request) {
          const value = all.read(request)
          return value !== undefined && HANDLE.test(value) ? value : undefined
        },
      }
    },
  }
}

/**
 * Only the functions of the cookie plugin, by an app that nobody asks anything: its hooks would run on every route that
 * is nobody's page, and an app that has it already cannot have it twice.
 */
async function cookieFunctions(): Promise<{
  parse: FastifyInstance['parseCookie']
  serialize: FastifyInstance['serializeCookie']
}> {
  const app = createApp()
  await app.register(cookie, { hook: false })
  return { parse: app.parseCookie.bind(app), serialize: app.serializeCookie.bind(app) }
}
