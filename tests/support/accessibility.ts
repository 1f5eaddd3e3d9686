/** WCAG as far as a program can tell. */
import type { Page } from 'playwright-core'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { expect } from 'vitest'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** In the dark a page has other colours and is else the same: the other rules would say twice what they have said in the light. */
const RULES_OF_COLOUR = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }

/** Light and dark, wide and narrow, with everything open. `name` tells which page it was; `look` sees each in its colours. */
export async function assertAccessible(page: Page, name: string, look = async () => {}): Promise<void> {
  // A click is over when the next page begins to come: what is not there yet nobody complains of.
  await page.waitForLoadState()
  await page.evaluate(axe)
  await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`)
  // Of two things with one id, a label or a link finds the first.
  // By the attribute: of a form, `id` may be one of its fields.
  const ids = await page.evaluate<string[]>(
    `[...document.querySelectorAll('[id]')].map((one) => one.getAttribute('id'))`,
  )
  expect([name, ids.filter((id, at) => ids.indexOf(id) !== at)]).toEqual([name, []])
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const runOnly = colorScheme === 'light' ? RULES : RULES_OF_COLOUR
    const options = JSON.stringify({ runOnly, resultTypes: ['violations'] })
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 720 })
      const found = await page.evaluate(
        `axe.run(${options}).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html + '\\n' + failureSummary)))`,
      )
      expect([name, colorScheme, width, found]).toEqual([name, colorScheme, width, []])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    }
    await look()
  }
  await page.setViewportSize({ width: 1280, height: 720 })
}
