/**
 * Clients' colours (`brand_color`), each as a stylesheet of our own origin: its address has the colour, and a keyed tag of its content. So
 * every process serves what another one's page names, and nobody makes us serve, or a cache keep, a colour that no client has.
 */
import type { FastifyInstance } from 'fastify'
import { createBoundedCache } from '../../src/services/bounded-cache.ts'
import type { SecretBox } from '../../src/services/keys/secret-box.ts'
import type { Client } from '../../src/doors/client.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { assetHeaders } from './assets.ts'
import { themeOf } from './theme.ts'

export interface ClientThemes {
  /** The address of the stylesheet of a client's colour; null for a client that has none. */
  addressOf(client: Client): string | null
}

/** Addresses that are remembered; only pages ask for any, of clients that are registered. */
const MOST = 200
const NAME = /^([0-9a-f]{6})\.([0-9a-f]{24})\.css$/
const CONTEXT = 'client theme'

export function createClientThemes(fastify: FastifyInstance, prefix: string, box: SecretBox): ClientThemes {
  const addresses = createBoundedCache<{ address: string }>(MOST)
  const bytesOf = (css: string): Buffer => Buffer.from(`${CONTEXT}\0${css}`)

  function make(color: string): string {
    const tag = box.tag(bytesOf(themeOf(`#${color}`))).toString('hex')
    return `${prefix}/assets/client/${color}.${tag}.css`
  }

  /** Undefined where no page of ours names it. */
  function find(name: string): string | undefined {
    const [, color, tag = ''] = NAME.exec(name) ?? []
    const css = color === undefined ? undefined : themeOf(`#${color}`)
    return css !== undefined && box.isTag(Buffer.from(tag, 'hex'), bytesOf(css)) ? css : undefined
  }

  fastify.get<{ Params: { name: string } }>(`${prefix}/assets/client/:name`, async ({ params }, reply) => {
    const css = find(params.name)
    if (css === undefined) throw new OAuthError('not_found', 'there is nothing here', { status: 404 })
    return reply.headers(assetHeaders('.css')).send(css)
  })

  return {
    addressOf({ metadata: { brand_color: color } }) {
      if (typeof color !== 'string') return null
      const key = color.slice(1).toLowerCase()
      const known = addresses.get(key) ?? { address: make(key) }
      addresses.set(key, known)
      return known.address
    },
  }
}
