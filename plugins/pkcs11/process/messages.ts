/** What passes between a server and the process that has its token. */
import type { Kind, TokenOptions } from './token.ts'

export interface Opening extends TokenOptions {
  readonly modulePath: string
}

export type Question =
  | { readonly id: number; readonly of: 'open'; readonly options: Opening }
  | { readonly id: number; readonly of: 'algorithms' | 'list' }
  | { readonly id: number; readonly of: 'generate'; readonly algorithm: string }
  | { readonly id: number; readonly of: 'withdraw'; readonly reference: string }
  | {
      readonly id: number
      readonly of: 'sign'
      readonly reference: string
      readonly algorithm: string
      readonly input: Uint8Array
    }

export type Reply =
  | { readonly id: number; readonly value: unknown }
  /** `broken`: a function of the module refused, and may refuse for the rest of this process. */
  | {
      readonly id: number
      readonly problem: { readonly kind: Kind | 'broken' | 'failed'; readonly message: string }
    }
