/**
 * docs/mcp.md: its setting, and its start of the example, are what the tests of both run.
 * @needs latchkey-mcp, latchkey-client-documents
 */
import { expect, test } from 'vitest'
import { resolve } from 'node:path'
import { startServer } from '../support/server.ts'
import { openPage } from './page.ts'

test('the start of the page serves the example under the profile of the page', async () => {
  const page = await openPage('mcp.md')
  const [profile, start] = [page.next('ini'), page.next('sh')]
  page.end()
  expect(start).toContain(profile.trim())
  const words = start.trim().split(' ')
  const command = words.filter((word) => !word.includes('='))
  expect(command).toEqual(['npm', 'start'])
  const given = words.filter((word) => word.includes('=')).map((word) => word.split('=') as [string, string])
  const settings: Record<string, string> = Object.fromEntries(given)
  const PLUGINS = resolve(import.meta.dirname, '../..', settings['PLUGINS']!)
  const server = await startServer({ ...settings, PLUGINS })
  const metadata = await server.get('/.well-known/oauth-protected-resource/mcp')
  expect(await metadata.json()).toMatchObject({ resource: `${server.url}/mcp` })
})
