import { expect, test } from 'vitest'
import { neighbourhoodOf, networkOf } from '../../src/protocol/network.ts'

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['192.0.2.7:50123', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::FFFF:c000:207', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
])('%s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test.each(['', 'unknown', '_hidden', '1.2.3', '[::1', '1.2.3.4:x:y'])('%j counts as something', (address) => {
  expect(() => networkOf(address)).not.toThrow()
})

test.each([
  ['192.0.2.7', '192.0.2.0/24'],
  ['192.0.2.200:50123', '192.0.2.0/24'],
  ['::ffff:192.0.2.7', '192.0.2.0/24'],
  ['2001:db8:1:2ff:3:4:5:6', '2001:db8:1:200::/56'],
  ['[2001:db8:1:200::9]:443', '2001:db8:1:200::/56'],
  ['::1', '0:0:0:0::/56'],
  ['1.2.3', '1.2.3'],
  ['unknown', 'unknown'],
])('%s lies beside %s', (address, neighbourhood) => {
  expect(neighbourhoodOf(address)).toBe(neighbourhood)
})
