import { expect, test } from 'vitest'
import { runCommand, spawnServer } from './process.ts'
import { startServer } from './server.ts'

test('a server in this process answers at its issuer and is gone when closed', async () => {
  const one = await startServer()
  const response = await one.get('/.well-known/openid-configuration')
  expect(await response.json()).toMatchObject({ issuer: one.url })
  expect(one.output()).toContain('"level"')
  await one.close()
  await expect(one.get('/healthz')).rejects.toThrow('fetch failed')
})

test('a server in a child process, with a command beside it, ends in order', async () => {
  const child = await spawnServer()
  expect((await child.get('/.well-known/openid-configuration')).status).toBe(200)
  const { status, stdout, stderr } = await runCommand(['client', 'list', '--json'], child.settings)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(JSON.parse(stdout)).toEqual([])
  expect(await child.stop()).toBe(0)
})
