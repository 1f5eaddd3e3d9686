/**
 * Requests of devices, from the code to the decision. Each lies under a hash of its device_code, so that the user_code
 * can lead to it without knowing the other. Codes themselves are stored nowhere.
 */
import { hash, randomInt, timingSafeEqual } from 'node:crypto'
import type { ApprovalRequest } from '../../../../src/doors/approval.ts'
import type { PutOptions } from '../../../../src/doors/artifacts.ts'
import type { Client } from '../../../../src/doors/client.ts'
import { approvalToJson, type StoredApproval } from '../../../../src/doors/stored-facts.ts'
import { OAuthError } from '../../../../src/protocol/errors.ts'
import { networkOf } from '../../../../src/protocol/network.ts'
import { randomText } from '../../../../src/protocol/random.ts'
import type { SecretBox } from '../../../../src/services/keys/secret-box.ts'
import type { OAuth } from '../../../oauth.ts'
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

export interface Found {
  readonly id: string
  readonly request: DeviceRequest
}

export interface DeviceRequests {
  create(approval: ApprovalRequest, address: string): Promise<{ deviceCode: string; userCode: string }>
  findByDeviceCode(deviceCode: string): Promise<Found | null>
  /** Binds the request to the browser. Null for a code that is not open, or was entered in another one. */
  claim(userCode: string, browserId: string): Promise<Found | null>
  /** The request as it was; null when it was decided before, or is too old. */
  decide(id: string, decision: Decision): Promise<DeviceRequest | null>
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
 * Open requests lie in places, so many in each, of which the oldest give way: nobody fills the database. Those that anybody may ask for,
 * in the name of a public client or one that registered itself, share places by the networks that they came from, as pushed requests do;
 * each other client has places of its own.
 */
const PLACES = { anybody: 256, ofClient: 64 }
const MOST = 1000
/** Of one request that anybody may ask for. */
const MOST_BYTES = 16_384

type Bound = Pick<PutOptions, 'owner' | 'most'>

export function createDeviceRequests(
  { artifacts }: Pick<OAuth, 'artifacts'>,
  box: Pick<SecretBox, 'tag'>,
): DeviceRequests {
  const requests = artifacts<DeviceRequest>(DEVICE, { lifetime: LIFETIME + GRACE })
  const userCodes = artifacts<{ id: string }>('device-user-code', { lifetime: LIFETIME })
  const polls = createPolls(artifacts<Poll>('device-polls', { lifetime: LIFETIME + GRACE }))

  /** One that nobody else has at the moment. */
  async function userCodeOf(id: string, bound: Bound): Promise<string> {
    const userCode = await userCodes.put({ id }, { handle: createUserCode(), ...bound })
    return userCode === false ? userCodeOf(id, bound) : userCode
  }

  function placeOf(client: Client, address: string): Bound {
    const place = isAnybodys(client)
      ? `anybody ${box.tag(Buffer.from(networkOf(address))).readUInt32BE() % PLACES.anybody}`
      : `${client.clientId} ${randomInt(PLACES.ofClient)}`
    return { owner: place, most: MOST }
  }

  return {
    async create(approval, address) {
      const deviceCode = randomText(32, 'base64url')
      const [id, askedAt] = [idOf(deviceCode), Date.now()]
      const asked = { approval: approvalToJson(approval), address, askedAt }
      if (isAnybodys(approval.client) && Buffer.byteLength(JSON.stringify(asked)) > MOST_BYTES)
        throw new OAuthError('invalid_request', 'the request is too long for a client without credentials')
      const bound = placeOf(approval.client, address)
      await requests.put({ ...asked, expiresAt: askedAt + LIFETIME * 1000 }, { handle: id, ...bound })
      await polls.begin(id, bound)
      return { deviceCode, userCode: await userCodeOf(id, bound) }
    },

    async findByDeviceCode(deviceCode) {
      const id = idOf(deviceCode)
      const request = await requests.get(id)
      return request === null ? null : { id, request }
    },

    async claim(userCode, browserId) {
      const id = (await userCodes.get(userCode))?.id
      const request = id === undefined ? null : await requests.get(id)
      if (id === undefined || request === null || !isOpen(request)) return null
      if (request.browser !== undefined)
        return isSame(digestOf(browserId), request.browser) ? { id, request } : null
      const claimed = { ...request, browser: digestOf(browserId) }
      return (await requests.replace(id, request, claimed)) ? { id, request: claimed } : null
    },

    async decide(id, decision) {
      const request = await requests.get(id)
      if (request === null || !isOpen(request)) return null
      return (await requests.replace(id, request, { ...request, decision })) ? request : null
    },

    poll: polls.note,
  }
}

function isAnybodys(client: Client): boolean {
  return client.isPublic() || client.registrar !== undefined
}

function idOf(deviceCode: string): string {
  return digestOf(deviceCode)
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64url')
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
