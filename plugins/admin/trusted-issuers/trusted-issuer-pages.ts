/** `/admin/trusted-issuers`: others whose JWTs are good here, how far, and when one was last. */
import { message } from '../../../src/protocol/message.ts'
import type { TrustedIssuerInformation } from '../../../src/protocol/trusted-issuer-information.ts'
import type { OwnArea } from '../area.ts'
import { addRecordPages } from '../scopes-and-resources/record-pages.ts'
import { FIELDS, valuesOf } from './trusted-issuer-fields.ts'

/** With what is not registered of it, but noted. */
interface Shown extends TrustedIssuerInformation {
  usedAt?: Date
}

export function addTrustedIssuerPages(area: OwnArea): void {
  const { trustedIssuers } = area.kernel

  async function withUses(found: TrustedIssuerInformation[]): Promise<Shown[]> {
    const uses = await trustedIssuers.lastUses(found.map(({ issuer }) => issuer))
    return found.map((one) => {
      const usedAt = uses.get(one.issuer)
      return usedAt === undefined ? one : { ...one, usedAt }
    })
  }

  addRecordPages<Shown>(area, area.kernel, {
    path: '/trusted-issuer',
    section: message('Trusted issuers'),
    tabs: [],
    asksAgain: true,
    words: {
      list: message('Trusted issuers'),
      listLead: message(
        'Others whose JWTs are good here: as grants, in the exchange of tokens, and as the proof of a workload.',
      ),
      new: message('Register a trusted issuer'),
      one: 'trusted issuer',
      none: message('There is no such issuer'),
      delete: message('Delete this issuer'),
      deleted: message('The issuer is deleted.'),
      notItsName: message('This is not the identifier of this issuer.'),
      lead: message(
        'Somebody else whose JWTs are good here, as far as it says below. Whoever has its keys can speak for those whom it may name.',
      ),
      endings: [
        message('What came of its JWTs ends here within two seconds.'),
        message('Clients that are proven by its workloads cannot prove who they are any more.'),
        message('Registered again, it is another one: nothing of what has ended comes back.'),
      ],
    },
    columns: [message('Issuer'), message('Trust'), message('Last used')],
    identifier: {
      name: 'issuer',
      label: message('Issuer'),
      kind: 'url',
      hint: message('Letter by letter as its JWTs have it in iss. It cannot be changed later.'),
    },
    fields: async () => FIELDS,
    cellsOf: ({ disabled, usedAt }) => [
      disabled === true ? message('Disabled') : message('Trusted'),
      usedAt === undefined ? message('Not yet') : message('{time}', { time: usedAt }),
    ],
    valuesOf,
    noteOf: ({ usedAt }) =>
      usedAt === undefined
        ? message('None of its JWTs has been accepted yet.')
        : message('A JWT of it was last good here on {time}.', { time: usedAt }),
    list: async (options) => withUses(await trustedIssuers.list(options)),
    async find(issuer) {
      const found = await trustedIssuers.find(issuer)
      return found === null ? null : ((await withUses([found]))[0] ?? null)
    },
    async save(values, options) {
      const members = Object.entries(values).map(([name, value]) => [name, value === '' ? null : value])
      await trustedIssuers.save(Object.fromEntries(members), options)
    },
    delete: async (issuer) => trustedIssuers.delete(issuer),
    async related({ clients = [] }) {
      const links = clients.map((id) => ({ text: id, href: area.uri('/client', { client_id: id }) }))
      return {
        title: message('Apps that may use its JWTs'),
        none: message('All that are registered for it.'),
        links: links.toSorted((a, b) => a.text.localeCompare(b.text)),
      }
    },
  })
}
