/** Every page, light and dark, wide and narrow: WCAG 2.2 AA as far as a program can tell, under its own policy. */
import type { Page } from 'playwright-core'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { noBrowser } from '../../support/browser.ts'
import { openStillPage } from './opened.ts'
import { samples } from './samples.ts'
import { startPages } from './server.ts'

const server = await startPages()
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Violation {
  id: string
  nodes: { html: string; failureSummary: string }[]
}

/** What axe finds, in a form that a failed test can show. */
async function violations(page: Page): Promise<string[]> {
  const run = `axe.run({ runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) => violations)`
  const found = await page.evaluate<Violation[]>(run)
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  )
}

/** Colours of each field: its border, its inside, and what is around it. */
const COLORS = `[...document.querySelectorAll('input:not([type=hidden])')].map((input) => {
  const { borderTopColor, backgroundColor } = getComputedStyle(input)
  return [borderTopColor, backgroundColor, getComputedStyle(document.querySelector('main')).backgroundColor]
})`

/** The contrast of two colours as `rgb(…)` (WCAG 2.2, 1.4.11). */
function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].toSorted((a, b) => b - a) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = color.match(/[\d.]+/g)!.map((part) => {
    const value = Number(part) / 255
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

describe.skipIf(noBrowser)('accessible and within its policy:', () => {
  test.for(samples)('$name, $state', { timeout: 180_000 }, async (sample) => {
    const { page, said } = await openStillPage()
    await page.goto(server.address(sample))
    await page.evaluate(axe)
    await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      for (const width of [1280, 320]) {
        await page.setViewportSize({ width, height: 720 })
        expect(await violations(page)).toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      }
      for (const [border, inside, around] of await page.evaluate<[string, string, string][]>(COLORS)) {
        expect(contrast(border, inside)).toBeGreaterThanOrEqual(3)
        expect(contrast(border, around)).toBeGreaterThanOrEqual(3)
      }
    }
    expect(said).toEqual([])
    await page.context().close()
  })
})
