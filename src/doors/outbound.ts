/** The way out: requests to addresses that others named, and things that are done behind the change they belong to. */
import type { Static, TObject } from 'typebox'
import type { Bag } from '../protocol/bag.ts'
import { OAuthError } from '../protocol/errors.ts'

/** How an address is asked, where it is not a plain GET. */
export interface OutboundRequest {
  /** Default `GET`. */
  readonly method?: 'GET' | 'POST'
  /** A GET with others than `accept` is neither kept nor shared. */
  readonly headers?: Readonly<Record<string, string>>
  /** Of a POST. */
  readonly body?: string | URLSearchParams
  /** How many redirects a GET follows at most, up to 5; by default none: then one is an answer as any other. */
  readonly redirects?: number
  /**
   * Seconds: a kept answer that is older is asked for again, such as keys in which one is missing. What is younger than
   * half a minute is taken all the same, so that nobody can make us ask others as often as they ask us.
   */
  readonly maxAge?: number
  /** Whether a kept answer that is too old serves on while its host fails (RFC 5861 §4); default true. */
  readonly staleIfError?: boolean
  /** Bytes of the answer at most, after decompression, up to 1 MiB; by default 64 KiB. With it, a GET is neither kept nor shared. */
  readonly maxBytes?: number
  /**
   * Whether anybody can bring us to ask, as by naming an address in a request: of the places for what is under way such requests have half, also of
   * those at one origin, and those of one network a tenth. Default false.
   */
  readonly byAnybody?: boolean
}

/**
 * Asks an address that somebody named. https only; never this machine, a private network or its cloud, unless
 * UNSAFE_OUTBOUND_ORIGINS names the origin; 5 seconds and, unless more is asked for, 64 KiB at most. The answer is complete, whatever its status. GETs
 * are kept by the rules of HTTP (RFC 9111), half a minute at least and an hour at most. Throws `OutboundError`.
 */
export type Fetch = (address: string | URL, request?: OutboundRequest) => Promise<Response>

/**
 * No answer, or none that was taken. What a client is told is the same for every reason, so that nobody sees through it
 * what our network looks like; catch it to refuse in the words of your own endpoint.
 */
export class OutboundError extends OAuthError {
  /** What happened, for the log and for administrators. */
  readonly reason: string

  constructor(reason: string, options: { cause?: unknown } = {}) {
    super('invalid_request', 'an address that this request depends on could not be fetched', {
      cause: options.cause ?? reason,
    })
    this.reason = reason
  }
}

/**
 * What a delivery throws where there is no use in trying it again: it is given up at once. Administrators see the message, so it names
 * nobody.
 */
export class Undeliverable extends Error {}

/**
 * What a delivery throws where somebody else is at its recipient, who takes one thing after the other: it is no attempt, and this process leaves that
 * recipient alone for two seconds.
 */
export class NotNow extends Error {
  readonly pauseMs: number = 2000
}

/**
 * What a delivery throws where this process does not know its recipient, and another may: it is no attempt, and this process leaves that recipient
 * to others for half a minute.
 */
export class NotHere extends NotNow {
  override readonly pauseMs = 30_000
}

/**
 * What a delivery throws where its recipient is no more, as nobody else will know it either: all that waits for that one, and was enqueued before, is
 * given up together.
 */
export class RecipientGone extends Undeliverable {
  /** Milliseconds since the epoch. */
  readonly enqueuedBefore: number

  constructor(
    message: string,
    { enqueuedBefore = Date.now(), ...options }: ErrorOptions & { enqueuedBefore?: number } = {},
  ) {
    super(message, options)
    this.enqueuedBefore = enqueuedBefore
  }
}

/** What a delivery knows of itself. */
export interface DeliveryTry {
  /** The same at each try, so that who gets it twice can tell. */
  readonly id: string
  /** 1 at first. */
  readonly attempt: number
  /** When it was enqueued; milliseconds since the epoch. */
  readonly enqueuedAt: number
}

/** Something that is done outside, behind the change that it belongs to; at least once. */
export interface Delivery<P extends TObject = TObject> {
  /** One owner for each. */
  readonly kind: string
  /** What is stored of it, encrypted: 32 KiB of JSON at most. One that does not fit it any more is given up. */
  readonly payload: P
  /**
   * Does it, within 15 seconds. What it throws puts it off for a pause that grows, up to an hour; after a day, or at
   * once where that is an `Undeliverable`, it is given up, and administrators see the message of what was thrown. Where it has a `recipient`, they
   * see the text that it answers with, a line, among the last attempts; without a text, those that failed alone. Null is for what had come to
   * nothing before anybody was asked: that says of no recipient that they are well again.
   */
  deliver(payload: Static<P>, attempt: DeliveryTry): Promise<string | null | void>
}

/** What a listener enqueues with the change that it hears of. */
export interface Enqueued {
  readonly kind: string
  readonly payload: Bag
  /**
   * Whom it is for, by a name that is no secret, where one may be away while others of this kind are not: each has a share of the places, and who
   * fails again and again is tried less, up to every five minutes. By default nobody in particular.
   */
  readonly recipient?: string
}
