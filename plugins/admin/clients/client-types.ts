/** Kinds of apps, and what the form is filled with for each. */
import type { Values } from './client-fields.ts'

export interface ClientType {
  readonly title: string
  readonly text: string
  readonly preset: Values
}

const CODE = { grant_types: 'authorization_code refresh_token', response_types: 'code' }

export const CLIENT_TYPES: Readonly<Record<string, ClientType>> = {
  web: {
    title: 'Web app',
    text: 'Has a server that keeps a secret, and people who sign in.',
    preset: { ...CODE, token_endpoint_auth_method: 'client_secret_basic' },
  },
  app: {
    title: 'Single-page or native app',
    text: 'Runs in the browser or on a device: no secret, PKCE instead.',
    preset: { ...CODE, token_endpoint_auth_method: 'none' },
  },
  service: {
    title: 'Service',
    text: 'Acts for itself, machine to machine, and nobody signs in.',
    preset: { grant_types: 'client_credentials', token_endpoint_auth_method: 'client_secret_basic' },
  },
}
