/**
 * Who left an app here, of those that nobody has looked at (RFC 9700 §4.11.2): such an app gets back whom it signs out, and nobody else is
 * led to it. On the way by other pages, where nobody is signed in any more, a mark in the address says so, good in this browser alone.
 */
import type { FastifyInstance } from 'fastify'
import type { Client } from '../../../src/doors/client.ts'
import type { BrowserCall } from '../../../src/doors/interaction.ts'
import { kernelOf } from '../../../src/http/kernel-of.ts'

export interface Departures {
  /** For the address by which they come back here, as `signed_out`. */
  markOf(client: Client, call: BrowserCall): string
  isOf(client: Client, mark: unknown, call: BrowserCall): boolean
}

export function createDepartures(fastify: FastifyInstance): Departures {
  const { box } = kernelOf(fastify)
  const textOf = ({ clientId }: Client, call: BrowserCall): string =>
    `signed out of\0${clientId}\0${fastify.browser.id(call)}`
  return {
    markOf: (client, call) => box.hash(textOf(client, call)),
    isOf: (client, mark, call) => typeof mark === 'string' && box.matches(textOf(client, call), mark),
  }
}
