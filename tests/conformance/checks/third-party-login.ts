/** Where others begin a sign-in to an app (OpenID Connect Core §4): an address that it registers. */
import { expect } from 'vitest'
import { bearer } from '../../support/requests.ts'
import type { Checks } from '../plan.ts'
import { askToRegister, createKey, expectRefused, register } from '../registered.ts'

const ADDRESS = 'https://suite.example/test/a/latchkey/initiate_login'

export const thirdPartyLogin = {
  'oidcc-3rd_party-init-login': async (suite) => {
    const { told } = await register(suite, await createKey(), { initiate_login_uri: ADDRESS })
    expect(told['initiate_login_uri']).toBe(ADDRESS)
    const { pathname } = new URL(told['registration_client_uri'] as string)
    const read = await suite.server.get(pathname, bearer(told['registration_access_token'] as string))
    expect([read.status, read.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(await read.json()).toMatchObject({ client_id: told.client_id, initiate_login_uri: ADDRESS })
  },

  'oidcc-3rd_party-init-login-nohttps': async (suite) => {
    const plain = { initiate_login_uri: ADDRESS.replace('https', 'http') }
    await expectRefused(await askToRegister(suite, plain), 'invalid_client_metadata')
  },
} satisfies Checks
