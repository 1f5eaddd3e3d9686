/** Browsers by what they say of themselves. */
import { expect, test } from 'vitest'
import { inEnglish } from '../../../src/protocol/message.ts'
import { describeUserAgent } from '../../../plugins/pages/user-agent.ts'

const MOZILLA = 'Mozilla/5.0'
test.each([
  ['Firefox on Linux', `${MOZILLA} (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0`],
  ['Firefox on iPhone', `${MOZILLA} (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/145.0 Mobile/15E148 Safari/605.1.15`],
  ['Chrome on Windows', `${MOZILLA} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36`],
  ['Chrome on Android', `${MOZILLA} (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36`],
  ['Chrome on ChromeOS', `${MOZILLA} (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36`],
  ['Chrome on iPad', `${MOZILLA} (iPad; CPU OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0 Mobile/15E148 Safari/604.1`],
  ['Edge on Windows', `${MOZILLA} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`],
  ['Opera on macOS', `${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 OPR/125.0.0.0`],
  ['Samsung Internet on Android', `${MOZILLA} (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/29.0 Chrome/136.0.0.0 Mobile Safari/537.36`],
  ['Safari on macOS', `${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15`],
  ['Safari on iPhone', `${MOZILLA} (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1`],
  ['Unknown browser on Linux', `${MOZILLA} (X11; Linux x86_64) SomethingElse/1.0`],
  ['Unknown browser', 'curl/8.5.0'],
  ['Unknown browser', '<script>alert(1)</script>'],
  ['Unknown browser', null],
])('%s', (words, userAgent) => {
  expect(inEnglish(describeUserAgent(userAgent))).toBe(words)
}) // prettier-ignore
