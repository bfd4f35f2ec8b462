import { AtriumError } from '@atrium-hq/client'
import { atrium } from '../api'

/**
 * Runs a call that the server refuses to older sessions (step_up_required), or to those that have shown no second factor
 * (second_factor_required). A passkey of the browser confirms the session. Without one, the error remains, and leads to the
 * page where people sign in again.
 */
export async function confirmed<T>(run: () => PromiseLike<T>): Promise<T> {
  try {
    return await run()
  } catch (e) {
    if (!(AtriumError.is(e, 'step_up_required') || AtriumError.is(e, 'second_factor_required')) || !await stepUp()) throw e
  }
  return run()
}

/** Confirms the session with a passkey. false if the browser has none for this host, or the person cancels. */
export async function stepUp(): Promise<boolean> {
  let found: Credential | null
  try {
    const { public_key: options } = await atrium.auth.stepUpChallenge()
    found = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options as never) })
  } catch {
    return false
  }
  await atrium.auth.stepUp({ credential: answerOf(found) as never })
  return true
}

/** What an authenticator has answered, as the API reads it. */
export function answerOf(found: Credential | null): Record<string, unknown> {
  return (found as PublicKeyCredential).toJSON() as unknown as Record<string, unknown>
}
