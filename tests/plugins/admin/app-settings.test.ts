/** The first lines of code that an app is given: by the method that it is registered for. */
import { expect, test } from 'vitest'
import { appSettings } from '../../../plugins/admin/clients/app-settings.ts'

test.each([
  [undefined, 'client.ClientSecretBasic(env.OIDC_CLIENT_SECRET)'],
  ['client_secret_basic', 'client.ClientSecretBasic(env.OIDC_CLIENT_SECRET)'],
  ['client_secret_post', 'client.ClientSecretPost(env.OIDC_CLIENT_SECRET)'],
  ['client_secret_jwt', 'client.ClientSecretJwt(env.OIDC_CLIENT_SECRET)'],
  ['none', 'client.None()'],
])('%s: %s', (method, authentication) => {
  const metadata = method === undefined ? {} : { token_endpoint_auth_method: method }
  const { snippet } = appSettings('https://login.example.com', { client_id: 'app', ...metadata })
  expect(snippet).toContain(authentication)
})
