/** How the events of a stream are delivered (SSF 1.0 §6.1), as its receiver says it. */
import type { FastifyInstance } from 'fastify'
import { kernelOf } from '../../src/http/kernel-of.ts'
import type { Bag } from '../../src/protocol/bag.ts'
import { OAuthError } from '../../src/protocol/errors.ts'
import { Type } from '../../src/protocol/schema.ts'
import { POLL, PUSH, type Delivery } from './stream.ts'

export const DeliverySchema = Type.Object({
  method: Type.String({ maxLength: 200 }),
  endpoint_url: Type.Optional(Type.String({ maxLength: 2000 })),
  authorization_header: Type.Optional(Type.String({ maxLength: 4000 })),
})

/** What the parser of addresses drops or encodes, and no address has (RFC 3986). */
const BLANK = /[\s\p{Cc}]/u
/** What a header may hold (RFC 9110 §5.5), without what ends one. */
const HEADER = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

interface Sent {
  readonly endpoint_url?: string
  readonly authorization_header?: string
}

/** Throws `invalid_request`. Without `sent` it is by poll (§8.1.1.1). */
export type ReadDelivery = (sent: Bag | undefined, former?: Delivery) => Delivery

export function createReadDelivery(fastify: FastifyInstance): ReadDelivery {
  const unsafe = new Set(kernelOf(fastify).config.UNSAFE_OUTBOUND_ORIGINS)

  /** As the receiver writes it, who compares it with what is shown (§8.1.1). */
  function addressOf(address = ''): string {
    const url = BLANK.test(address) ? null : URL.parse(address)
    if (url === null) throw refusal('delivery.endpoint_url must be the address to which events are pushed')
    const isClean = url.username === '' && url.password === '' && url.hash === ''
    if ((url.protocol !== 'https:' && !unsafe.has(url.origin)) || !isClean)
      throw refusal('delivery.endpoint_url must be https, without credentials or a fragment')
    return address
  }

  return (sent, former) => {
    if (sent === undefined || sent['method'] === POLL) return { method: POLL }
    if (sent['method'] !== PUSH) throw refusal(`delivery.method must be ${PUSH} or ${POLL}`)
    const { endpoint_url, authorization_header: header } = sent as Sent
    const endpointUrl = addressOf(endpoint_url)
    // It is not shown, so who sends back what was read does not have it. Another address does not get it.
    const kept = isSame(endpointUrl, former?.endpointUrl) ? former?.authorizationHeader : undefined
    const authorizationHeader = header === undefined ? kept : header === '' ? undefined : header
    if (authorizationHeader !== undefined && !HEADER.test(authorizationHeader))
      throw refusal('delivery.authorization_header has characters that no header can hold')
    return {
      method: PUSH,
      endpointUrl,
      ...(authorizationHeader === undefined ? {} : { authorizationHeader }),
    }
  }
}

/** However they are written. */
function isSame(address: string, former = ''): boolean {
  return URL.parse(address)?.href === URL.parse(former)?.href
}

function refusal(description: string): OAuthError {
  return new OAuthError('invalid_request', description)
}
