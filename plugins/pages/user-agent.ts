/**
 * A browser and its system in words, from what it says of itself (RFC 9110 §10.1.5): enough for its owner to tell one
 * from another. What is not known for sure is called unknown.
 */

import { message, type Words } from '../../src/protocol/message.ts'

/** In this order: most of them also say the names of those below. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|OPT|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bYaBrowser\//, 'Yandex Browser'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:(?:Headless)?Chrome|CriOS)\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** Such as `Firefox on Windows`, `Unknown browser on Linux` or `Unknown browser`. */
export function describeUserAgent(userAgent: string | null): Words {
  const nameIn = (known: typeof BROWSERS): string | undefined =>
    known.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1]
  const [browser = message('Unknown browser'), system] = [nameIn(BROWSERS), nameIn(SYSTEMS)]
  return system === undefined ? browser : message('{browser} on {system}', { browser, system })
}
