import { expect, test } from 'vitest'
import { acceptedTags, lookUp, tagsIn } from '../../src/protocol/language-tags.ts'

test.each([
  ['de', ['de']],
  ['de-CH, de;q=0.9, en;q=0.8', ['de-CH', 'de', 'en']],
  ['en;q=0.2, es;q=0.7,*;q=0.1', ['es', 'en']],
  ['es;q=0, de', ['de']],
  ['fr;q=nonsense, de', ['de']],
  ['', []],
  [';;,,q=1', []],
  [`${'x'.repeat(5000)},de`, []],
])('a browser that accepts %j', (header, tags) => {
  expect(acceptedTags(header)).toEqual(tags)
})

test('ui_locales has spaces between, and what is no tag is ignored', () => {
  expect(tagsIn('fr-CA fr  en')).toEqual(['fr-CA', 'fr', 'en'])
  expect(tagsIn('../de d <b> en_GB')).toEqual([])
})

test.each([
  [['de-CH', 'en'], 'de'],
  [['fr', 'ES-mx'], 'es'],
  [['en-GB'], 'en'],
  [['pt-br'], 'pt-BR'],
  [['pt'], undefined],
  [['zh-Hant-TW'], undefined],
  [[], undefined],
])('of en, de, es and pt-BR, %j gets %s', (asked, found) => {
  expect(lookUp(asked, ['en', 'de', 'es', 'pt-BR'])).toBe(found)
})
