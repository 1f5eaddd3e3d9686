/** Instants in the time zone of the device, where the reader has chosen none; without scripts they are in UTC, and say so. */
import { describe, expect, test } from 'vitest'
import { newBrowserContext, noBrowser } from '../../support/browser.ts'
import { samples } from '../pages/samples.ts'
import { startPages } from '../pages/server.ts'

const server = await startPages()
const consent = samples.find(({ name }) => name === 'consent')!

describe.skipIf(noBrowser)('the instant of a registration, 21 November 2026 at 09:30 UTC,', () => {
  test.each([
    ['with scripts', { timezoneId: 'America/New_York' }, /^21 November 2026 at 04:30 (?:GMT-5|EST)$/],
    [
      'with scripts, in German',
      { timezoneId: 'Asia/Tokyo', locale: 'de' },
      /^21\. November 2026 um 18:30 (?:GMT\+9|JST)$/,
    ],
    [
      'without',
      { timezoneId: 'America/New_York', javaScriptEnabled: false },
      /^21 November 2026 at 09:30 UTC$/,
    ],
  ])('%s', async (_how, options, said) => {
    const page = await (await newBrowserContext(options)).newPage()
    await page.goto(server.address(consent))
    expect(await page.textContent('time')).toMatch(said)
  })
})

test.skipIf(noBrowser)('what names no day, but a second, is said so', async () => {
  const page = await (await newBrowserContext({ timezoneId: 'Asia/Tokyo', locale: 'de' })).newPage()
  await page.route(server.address(consent), async (route) => {
    const response = await route.fetch()
    const time = '<time id="behind" datetime="2026-11-21T09:30:05Z">09:30:05 UTC</time>'
    await route.fulfill({ response, body: (await response.text()).replace('</main>', `${time}</main>`) })
  })
  await page.goto(server.address(consent))
  expect(await page.textContent('#behind')).toMatch(/^18:30:05 (?:GMT\+9|JST)$/)
})
