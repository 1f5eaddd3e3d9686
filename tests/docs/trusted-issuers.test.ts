/**
 * docs/trusted-issuers.md, as it stands there: an issuer is registered on the command line, and by SEED_FILE; a job has no secret.
 * @needs latchkey-jwt-bearer, latchkey-federated-jwt
 */
import { expect, test } from 'vitest'
import { kernelOf } from '../../src/http/kernel-of.ts'
import { startServer } from '../support/server.ts'
import { createAssertionKey, JAG_SEED, said, startIssuer } from '../support/trusted-issuer.ts'
import { openPage, sitDown, substitute } from './page.ts'

const GITHUB = 'https://token.actions.githubusercontent.com'

test('an issuer is registered by either way', async () => {
  const page = await openPage('trusted-issuers.md')
  const [register, section] = [page.next('sh'), page.next('json')]
  const [workload, proof] = [page.next('sh'), page.next('sh')]
  page.end()
  const key = await createAssertionKey()
  const platform = await startIssuer(key.jwk)
  const server = await startServer({ UNSAFE_OUTBOUND_ORIGINS: platform.origin }, { seed: JAG_SEED })
  const desk = await sitDown(server.settings)
  await desk.sh(register)
  const found = await kernelOf(server.server).trustedIssuers.find('https://login.example')
  expect(found).toMatchObject({ subject: 'email', scopes: ['read_shelf'], clients: ['app'] })

  await desk.sh(substitute(workload, { [`${GITHUB}/.well-known/jwks`]: platform.origin }))
  const job = { repository: 'org/app', ref: 'refs/heads/main' }
  const send = async (claims: object) => {
    const token = await said(key, GITHUB, server.url, claims)
    const block = substitute(proof, { 'https://login.example.com': server.url })
    return JSON.parse((await desk.sh(block, { PLATFORM_TOKEN: token })).stdout) as object
  }
  expect(await send(job)).toMatchObject({ scope: 'read_shelf' })
  expect(await send({ ...job, ref: 'refs/heads/other' })).toMatchObject({ error: 'invalid_client' })

  const content = JSON.parse(section) as { trusted_issuers: object[] }
  const seeded = await startServer({}, { seed: { ...JAG_SEED, ...content } })
  const { trusted_issuers: all } = content
  expect(await kernelOf(seeded.server).trustedIssuers.list()).toEqual(all)
  const wrong = async (entry: object) => startServer({}, { seed: { trusted_issuers: [entry] } })
  await expect(wrong({ issuer: 'https://a.example' })).rejects.toThrow('trusted_issuers[0]: jwks')
})
