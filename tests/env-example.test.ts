/** `.env.example` is what operators copy: it must name every setting, with its default, and none that is gone. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { describeSettings } from '../src/config.ts'

const text = await readFile(new URL('../.env.example', import.meta.url), 'utf8')
const shown = new Map(
  [...text.matchAll(/^# ([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name, value]) => [name!, value!] as const),
)

test('.env.example names every setting and no other', () => {
  expect([...shown.keys()].toSorted()).toEqual(
    describeSettings()
      .map(({ name }) => name)
      .toSorted(),
  )
})

test('.env.example shows each default as it is', () => {
  const defaults = describeSettings().filter(
    ({ default: fallback }) => fallback !== undefined && !Array.isArray(fallback),
  )
  expect(defaults.map(({ name }) => [name, shown.get(name)])).toEqual(
    defaults.map(({ name, default: fallback }) => [name, `${fallback as string | number | boolean}`]),
  )
})
