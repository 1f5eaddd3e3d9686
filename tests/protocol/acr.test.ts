/** The one rule of `acr`: which values satisfy which, and which one is told. */
import { expect, test } from 'vitest'
import { askedAcr, orderedAcr, strongerAcr, toldAcr } from '../../src/protocol/acr.ts'
import { parseClaimsRequest } from '../../src/protocol/claims-request.ts'
import { satisfies } from '../../src/doors/assurance.ts'

const claims = (acr: unknown) => parseClaimsRequest(JSON.stringify({ id_token: { acr } }))

test.each([
  ['1', ['1'], true],
  ['2', ['1'], true],
  ['phr', ['1'], true],
  ['phr', ['2'], true],
  ['phr', ['phr'], true],
  ['1', ['2'], false],
  ['2', ['phr'], false],
  ['2', ['phr', '1'], true],
  [null, ['1'], false],
  ['other', ['1'], false],
  ['phr', ['other'], false],
  ['other', ['other'], true],
])('who has reached %s satisfies %j: %s', (acr, wanted, met) => {
  expect(satisfies({ amr: [], acr }, { acr: wanted })).toBe(met)
})

test.each([
  [{}, '1', '1'],
  [{}, null, null],
  [{ acr_values: '2 1' }, 'phr', '2'],
  [{ acr_values: 'phr 2' }, '2', '2'],
  [{ acr_values: ' 9  1' }, '2', '1'],
  [{ acr_values: '9' }, '2', '2'],
  [{ claims: claims({ value: '1' }) }, 'phr', '1'],
  [{ claims: claims({ essential: true, values: ['phr', '2'] }), acr_values: '1' }, '2', '2'],
  [{ claims: claims(null), acr_values: '1' }, '2', '1'],
])('of %j and %s reached, the token tells %s', (parameters, had, told) => {
  expect(toldAcr(parameters, had)).toBe(told)
})

test('what is essential is a demand, and all else a wish', () => {
  const essential = { claims: claims({ essential: true, values: ['2'] }), acr_values: 'phr' }
  expect(askedAcr(essential)).toEqual({ demanded: ['2'], wished: ['phr'] })
  expect(askedAcr({ claims: claims({ values: ['2'] }), acr_values: 'phr' })).toEqual({
    demanded: [],
    wished: ['2', 'phr'],
  })
  expect(askedAcr({ claims: claims({ essential: true }) })).toEqual({ demanded: [], wished: [] })
})

test('nobody falls by showing more', () => {
  expect(strongerAcr('phr', '2')).toBe('phr')
  expect(strongerAcr('1', '2')).toBe('2')
  expect(strongerAcr(null, '2')).toBe('2')
  expect(strongerAcr('1', null)).toBe('1')
  expect(strongerAcr('1', 'other')).toBe('other')
})

test('the weakest is named first', () => {
  expect(orderedAcr(['phr', 'other', '1', '2', '1'])).toEqual(['1', '2', 'phr', 'other'])
})
