/** A rush of requests with a chosen secret that is not proven, or not any more: counted verifications, never times. */
import argon2 from 'argon2'
import { beforeEach, expect, test, vi } from 'vitest'
import { createClient, requestToken } from '../support/clients.ts'
import { basic } from '../support/requests.ts'
import { startServer } from '../support/server.ts'
import { statusOf } from '../support/service.ts'

const server = await startServer()
const verifications = vi.spyOn(argon2, 'verify')
beforeEach(() => void verifications.mockClear())

const createService = (client_secret: string) => createClient(server, { scope: ['a'], client_secret })
const burst = async (services: readonly Parameters<typeof requestToken>[1][]): Promise<number[]> =>
  Promise.all(services.map(async (service) => statusOf(requestToken(server, service))))

test('200 requests at once all get their token, for one verification', async () => {
  const service = await createService('a secret that was chosen')
  const statuses = await burst(Array.from({ length: 200 }, () => service))
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(verifications).toHaveBeenCalledTimes(1)
})

test('wrong secrets among them are refused, and right ones are not', async () => {
  const service = await createService('another that was chosen')
  const wrong = { ...service, basic: basic(service.clientId, 'another that was guessed') }
  const all = Array.from({ length: 60 }, (_, index) => (index % 10 === 3 ? wrong : service))
  const statuses = await burst(all)
  expect(statuses).toEqual(all.map((one) => (one === wrong ? 401 : 200)))
})

test('a secret that is changed while it is in use is refused at once, and the new one works', async () => {
  const service = await createService('the former one')
  await burst(Array.from({ length: 20 }, () => service))
  const { client_secret } = await server.server.oauth.clients.rotateSecret(service.clientId)
  expect(await burst([service])).toEqual([401])
  expect(await burst([{ ...service, basic: basic(service.clientId, client_secret!) }])).toEqual([200])
})
