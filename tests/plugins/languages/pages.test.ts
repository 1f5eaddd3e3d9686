/** Every page says all of its words by messages: in a language that nobody speaks, nothing of it is in English. */
import { describe, expect, test } from 'vitest'
import { samples } from '../pages/samples.ts'
import { startPages } from '../pages/server.ts'
import { textsIn, unsaidIn } from './unsaid.ts'

const server = await startPages()

describe.each(samples)('$name, $state', (sample) => {
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
