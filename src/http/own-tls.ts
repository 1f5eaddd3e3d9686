/** Connections whose TLS is our own and asked for a certificate: there no proxy says in a header what was shown. */
import type { Socket } from 'node:net'

const asked = new WeakSet<Socket>()

export function hasAsked(socket: Socket): boolean {
  return asked.has(socket)
}

export function noteAsked(socket: Socket): void {
  asked.add(socket)
}
