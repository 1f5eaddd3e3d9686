/**
 * Requests of devices, from the code to the decision. Each lies under a hash of its device_code, so that the user_code
 * can lead to it without knowing the other. Codes themselves are stored nowhere.
 */
import { randomInt } from 'node:crypto'
import type { ApprovalRequest } from '../../../../src/doors/approval.ts'
import type { Client } from '../../../../src/doors/client.ts'
import { approvalToJson, type StoredApproval } from '../../../../src/doors/stored-facts.ts'
import type { NewEvent } from '../../../../src/events.ts'
import { hashOf, isSameHash } from '../../../../src/protocol/handle.ts'
import { randomText } from '../../../../src/protocol/random.ts'
import {
  assertShort,
  isAnybodys,
  MOST,
  type Place,
  placeOf,
} from '../../../../src/services/clients/anybodys.ts'
import { createDoneOnce } from '../../../../src/services/done-once.ts'
import type { Kernel } from '../../../../src/services/kernel.ts'
import { statements } from '../../../../src/store/artifacts.ts'
import type { OAuth } from '../../../oauth/index.ts'
import { isOpen, type Decided, type Decision } from '../decision.ts'
import { createPolls, type Poll } from '../polls.ts'
import { createUserCode } from './user-code.ts'

export interface DeviceRequest extends Decided {
  readonly approval: StoredApproval
  /** The device's address, for people to recognise. */
  readonly address: string
  /** Milliseconds since the epoch. */
  readonly askedAt: number
  /** Hash of the id, 256 random bits, of the browser in which the code was entered: no other may go on. */
  readonly browser?: string
}

export interface Decider {
  /** One of the times that the code was entered. */
  readonly entry: string
  /** Absent for nobody who was signed in. */
  readonly user?: string
}

export interface Found {
  readonly id: string
  readonly request: DeviceRequest
}

export interface DeviceRequests {
  create(approval: ApprovalRequest, address: string): Promise<{ deviceCode: string; userCode: string }>
  /** Without a request where that is not known, or was spent. */
  findByDeviceCode(deviceCode: string): Promise<{ id: string; request: DeviceRequest | null }>
  /** Binds the request to the browser. Null for a code that is not open, or was entered in another one. */
  claim(userCode: string, browserId: string): Promise<Found | null>
  /** False when it was decided before, or is too old; not where the same one decides again as they did a moment ago. */
  decide(id: string, decision: Decision, decidedBy: Decider): Promise<boolean>
  /** Notes that the device asked; false when it came too early, and then has to leave 5 seconds more (§3.5). */
  poll(id: string): Promise<boolean>
}

/** The kind of artifact that a token request spends. */
export const DEVICE = 'device'
/** Seconds. */
export const LIFETIME = 600
/** Seconds for which a device is told that its code has expired, and may fetch what was allowed at the last moment. */
const GRACE = 300

/**
 * Open requests lie in places, so many in each, of which the oldest give way: nobody fills the database. Clients that not anybody can be
 * have places of their own.
 */
const PLACES = 64

export function createDeviceRequests(
  { artifacts }: Pick<OAuth, 'artifacts'>,
  kernel: Pick<Kernel, 'artifacts' | 'audit' | 'box'>,
): DeviceRequests {
  const { audit, box } = kernel
  const requests = artifacts<DeviceRequest>(DEVICE, { lifetime: LIFETIME + GRACE })
  const userCodes = artifacts<{ id: string }>('device-user-code', { lifetime: LIFETIME })
  // Apart from the request, which the device may have spent before the answer comes.
  const decisions = createDoneOnce<{ allowed: boolean }>(kernel, 'device-decision')
  const polls = createPolls(artifacts<Poll>('device-polls', { lifetime: LIFETIME + GRACE }))

  /** One that nobody else has at the moment. */
  async function userCodeOf(id: string, place: Place): Promise<string> {
    const userCode = await userCodes.put({ id }, { handle: createUserCode(), ...place })
    return userCode === false ? userCodeOf(id, place) : userCode
  }

  function placeFor(client: Client, address: string): Place {
    return isAnybodys(client)
      ? placeOf(box, address)
      : { owner: `${client.clientId} ${randomInt(PLACES)}`, most: MOST }
  }

  return {
    async create(approval, address) {
      const deviceCode = randomText(32, 'base64url')
      const [id, askedAt] = [hashOf(deviceCode), Date.now()]
      const asked = { approval: approvalToJson(approval), address, askedAt }
      if (isAnybodys(approval.client)) assertShort(JSON.stringify(asked))
      const place = placeFor(approval.client, address)
      await requests.put({ ...asked, expiresAt: askedAt + LIFETIME * 1000 }, { handle: id, ...place })
      await polls.begin(id, place)
      return { deviceCode, userCode: await userCodeOf(id, place) }
    },

    async findByDeviceCode(deviceCode) {
      const id = hashOf(deviceCode)
      return { id, request: await requests.get(id) }
    },

    async claim(userCode, browserId) {
      const id = (await userCodes.get(userCode))?.id
      const request = id === undefined ? null : await requests.get(id)
      if (id === undefined || request === null || !isOpen(request)) return null
      if (request.browser !== undefined)
        return isSameHash(hashOf(browserId), request.browser) ? { id, request } : null
      const claimed = { ...request, browser: hashOf(browserId) }
      return (await requests.replace(id, request, claimed)) ? { id, request: claimed } : null
    },

    async decide(id, decision, { entry, user }) {
      const [sent, allowed] = [{ form: entry, browser: user ?? '' }, 'granted' in decision]
      const request = await requests.get(id)
      if (request !== null && isOpen(request)) {
        const isDecided = await audit.transaction(async (query, note) => {
          const values = [DEVICE, box.hashes(id), request, { ...request, decision }] as const
          if ((await query(statements.replace, values)).length === 0) return false
          await decisions.note(query, sent, { allowed })
          note(eventOf(request, allowed, user))
          return true
        })
        if (isDecided) return true
      }
      // By the same form, whose answer was lost, or which was sent twice.
      return (await decisions.find(sent))?.allowed === allowed
    },

    poll: polls.note,
  }
}

function eventOf({ approval, address }: DeviceRequest, allowed: boolean, user: string | undefined): NewEvent {
  const type = allowed ? 'device.allowed' : 'device.denied'
  return { type, client: approval.client, user, details: { device: address } }
}
