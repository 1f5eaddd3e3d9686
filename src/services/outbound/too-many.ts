import { OutboundError } from '../../doors/outbound.ts'

/** Says nothing of the host, which was not asked. */
export class TooManyUnderWay extends OutboundError {
  constructor() {
    super('too many requests are under way')
  }
}
