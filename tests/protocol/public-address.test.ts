import { expect, test } from 'vitest'
import { isPublicAddress } from '../../src/protocol/public-address.ts'

test.each([
  ['this machine', ['127.0.0.1', '127.8.8.8', '::1']],
  ['no address at all', ['0.0.0.0', '0.1.2.3', '::', 'localhost', '', '1.2.3']],
  ['private', ['10.1.1.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd00:ec2::254']],
  ['shared by the customers of a provider', ['100.64.0.1', '100.127.255.255']],
  ['of the link, where clouds have their metadata', ['169.254.169.254', 'fe80::1', 'fe80::1%eth0']],
  ['of the host of a machine at Azure', ['168.63.129.16']],
  ['of a site, as it was once called', ['fec0::1']],
  ['many at once', ['224.0.0.1', '239.255.255.250', '255.255.255.255', 'ff02::1']],
  ['an IPv4 address in disguise', ['::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:7f00:1', '::127.0.0.1', '::7f00:1']],
  ['an IPv4 address behind a translator', ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::a00:1']],
  ['a tunnel to an IPv4 address', ['2002:7f00:1::', '2001:0:7f00:1::', '192.88.99.1']],
  ['for protocols, papers and measurements', ['192.0.0.8', '192.0.2.1', '198.18.0.1', '203.0.113.9', '2001:db8::1', '100::1', '3fff::1', '5f00::1']],
  ['not given to anybody', ['240.0.0.1', '4000::1', 'e000::1']],
])('%s is not public', (_what, addresses) => {
  expect(addresses.filter(isPublicAddress)).toEqual([])
}) // prettier-ignore

test('addresses of hosts on the internet are public', () => {
  const addresses = [
    '8.8.8.8',
    '93.184.215.14',
    '172.15.0.1',
    '172.32.0.1',
    '2606:4700::1111',
    '2a00:1450::1',
  ]
  expect(addresses.filter((one) => !isPublicAddress(one))).toEqual([])
})
