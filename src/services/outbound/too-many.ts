import { OutboundError } from '../../doors/outbound.ts'
import { asShed } from '../shedding.ts'

/** Says nothing of the host, which was not asked: not caught, it is answered with 503. */
export class TooManyUnderWay extends OutboundError {
  constructor() {
    super('too many requests are under way')
    asShed(this, 'outbound')
  }
}
