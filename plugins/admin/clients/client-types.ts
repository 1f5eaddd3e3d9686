/** Kinds of apps, and what the form is filled with for each. */
import { message, type Message } from '../../../src/protocol/message.ts'
import type { Values } from './client-fields.ts'

export interface ClientType {
  readonly title: Message
  readonly text: Message
  readonly preset: Values
}

/** What is not filled in follows from the rest, as for every client whatever the way in. */
export const CLIENT_TYPES: Readonly<Record<string, ClientType>> = {
  web: {
    title: message('Web app'),
    text: message(
      'Has a server that keeps a secret, and people who sign in. With scopes, it may get tokens for itself too.',
    ),
    preset: { response_types: 'code' },
  },
  app: {
    title: message('Single-page or native app'),
    text: message('Runs in the browser or on a device: no secret, PKCE instead.'),
    preset: { response_types: 'code', token_endpoint_auth_method: 'none' },
  },
  service: {
    title: message('Service'),
    text: message('Acts for itself, machine to machine, and nobody signs in.'),
    preset: { grant_types: 'client_credentials' },
  },
}
