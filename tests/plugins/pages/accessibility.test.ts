/** Every page, light and dark, wide and narrow: WCAG 2.2 AA as far as a program can tell, under its own policy. */
import { describe, expect, test } from 'vitest'
import { assertAccessible } from '../../support/accessibility.ts'
import { noBrowser } from '../../support/browser.ts'
import { contrast } from './contrast.ts'
import { type Opened, openStillPage } from './opened.ts'
import { samples } from './samples.ts'
import { startPages } from './server.ts'

const server = await startPages()
let opening: Promise<Opened> | undefined

/** Colours of each field: its border, its inside, and what is around it. */
const COLORS = `[...document.querySelectorAll('input:not([type=hidden])')].map((input) => {
  const { borderTopColor, backgroundColor } = getComputedStyle(input)
  return [borderTopColor, backgroundColor, getComputedStyle(document.querySelector('main')).backgroundColor]
})`

describe.skipIf(noBrowser)('accessible and within its policy:', () => {
  test.for(samples)('$name, $state', async (sample) => {
    // One for all of them: a browser takes longer to open a page than to show one.
    const { page, said } = await (opening ??= openStillPage())
    said.length = 0
    await page.goto(server.address(sample))
    await assertAccessible(page, sample.name, async () => {
      for (const [border, inside, around] of await page.evaluate<[string, string, string][]>(COLORS)) {
        expect(contrast(border, inside)).toBeGreaterThanOrEqual(3)
        expect(contrast(border, around)).toBeGreaterThanOrEqual(3)
      }
    })
    expect(said).toEqual([])
  })
})
