import type { Code, FieldError, Problem } from './api.gen.js'

/** An error that the API returned: a problem of RFC 9457. Compare its `code`. */
export class AtriumError extends Error {
  override readonly name = 'AtriumError'
  /** The name of the call: promptTemplates.create. */
  readonly call: string
  readonly code: Code
  readonly status: number
  /** What went wrong, for people. */
  readonly detail: string
  /** Include it when you ask for support. */
  readonly requestId: string
  /** The errors in the body, each with a JSON Pointer. */
  readonly errors: FieldError[]
  /** When the call can be repeated, in seconds. */
  readonly retryAfter: number | undefined
  /** Everything that the response said. */
  readonly problem: Problem

  constructor(call: string, problem: Problem, retryAfter?: number) {
    const fields = (problem.errors ?? []).slice(0, 3).map((e) => ` ${e.pointer}: ${e.detail}`)
    const request = problem.request_id ? ` (request ${problem.request_id})` : ''
    super(`${call}: ${problem.code}: ${problem.detail}${fields.join('')}${request}`)
    this.call = call
    this.code = problem.code
    this.status = problem.status
    this.detail = problem.detail
    this.requestId = problem.request_id
    this.errors = problem.errors ?? []
    this.retryAfter = retryAfter
    this.problem = problem
  }

  /** Whether e is an error of the API, with this code if one is given. */
  static is(e: unknown, code?: Code): e is AtriumError {
    return e instanceof AtriumError && (code === undefined || e.code === code)
  }
}

/** A call that received no response, or none in time. It may have taken effect. */
export class AtriumConnectionError extends Error {
  override readonly name = 'AtriumConnectionError'
  /** The name of the call. */
  readonly call: string

  constructor(call: string, reason: string, cause?: unknown) {
    super(`${call}: ${reason}`, { cause })
    this.call = call
  }
}

/** The resource still has the ETag of `ifNoneMatch`. */
export class NotModifiedError extends Error {
  override readonly name = 'NotModifiedError'
}

export function unexpected(
  call: string,
  response: Response,
  detail = 'The response is not from Atrium.',
  code = 'unexpected_response',
): AtriumError {
  return new AtriumError(call, {
    type: 'about:blank',
    title: 'Unexpected response',
    status: response.status,
    detail,
    code,
    request_id: response.headers.get('Request-Id') ?? '',
  })
}
