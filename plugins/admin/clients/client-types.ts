/** Kinds of apps, and what the form is filled with for each. */
import { message, type Message } from '../../../src/protocol/message.ts'
import { CLIENT_KINDS, type ClientKindName, DEVICE_CODE } from '../../../src/services/clients/client-kinds.ts'
import type { Values } from './client-fields.ts'

export interface ClientType {
  readonly title: Message
  readonly text: Message
  /** Only where this grant is served. */
  readonly grant?: string
}

export const CLIENT_TYPES: Readonly<Record<ClientKindName, ClientType>> = {
  web: {
    title: message('Web app'),
    text: message(
      'Has a server that keeps a secret, and people who sign in. With scopes, it may get tokens for itself too.',
    ),
  },
  app: {
    title: message('Single-page or native app'),
    text: message('Runs in the browser or on a device: no secret, PKCE instead.'),
  },
  device: {
    title: message('TV or command-line app'),
    text: message('Shows a short code, which people enter in a browser elsewhere: no secret, no redirect.'),
    grant: DEVICE_CODE,
  },
  service: {
    title: message('Service'),
    text: message('Acts for itself, machine to machine, and nobody signs in.'),
  },
}

export function isClientType(type: string): type is ClientKindName {
  return Object.hasOwn(CLIENT_TYPES, type)
}

/** What the form of this kind is filled with. */
export function presetOf(type: ClientKindName): Values {
  return Object.fromEntries(
    Object.entries(CLIENT_KINDS[type]).map(([name, value]) => [name, [value].flat().join(' ')]),
  )
}
