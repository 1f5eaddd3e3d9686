/** Every page says all of its words by messages: in a language that nobody speaks, nothing of it is in English. */
import { describe, expect, test } from 'vitest'
import { samples } from '../pages/samples.ts'
import { startPages } from '../pages/server.ts'
import { textsIn, unsaidIn } from './unsaid.ts'

/** Pages that are not said by messages yet. */
const ENGLISH = new Set<string>([
  'consent',
  'error',
  'forgot-password',
  'form-post',
  'home',
  'new-password',
  'setup',
  'setup-done',
  'sign-out',
  'signed-out',
])

const server = await startPages()

describe.each(samples.filter(({ name }) => !ENGLISH.has(name)))('$name, $state', (sample) => {
  test('says everything by messages', async () => {
    const response = await server.server.inject({
      url: server.address(sample).slice(server.url.length),
      headers: { 'accept-language': 'ar-XB' },
    })
    expect(response.headers['content-language']).toBe('ar-XB')
    expect(response.body).toContain('<html lang="ar-XB" dir="rtl">')
    const ours = ['Latchkey', '127.0.0.1']
    expect(unsaidIn(response.body, [...textsIn(sample.model), ...ours])).toEqual([])
  })
})
