import type { Heartbeat, Presence, PresenceResource } from './api.gen.js'
import { sleep } from './core.js'

export interface PresenceSettings extends Heartbeat {
  /** Called with the presence after each heartbeat. */
  onPresence?: (presence: Presence) => void
  /** Called if a heartbeat failed. The next one follows all the same. */
  onError?: (error: unknown) => void
}

/** Heartbeats that are being sent. */
export interface Heartbeats {
  /** Ends them. The device expires after its `ttl_seconds`. */
  stop(): void
  /** Resolves when they have ended. */
  readonly ended: Promise<void>
}

interface Page {
  visibilityState: string
  addEventListener(type: 'visibilitychange', listener: () => void): void
  removeEventListener(type: 'visibilitychange', listener: () => void): void
}

/**
 * Sends heartbeats of a device until it is stopped. In a browser they pause with the page: a hidden page reports once
 * that the device is idle, and a visible one that it is active again.
 */
export function keepPresence(presence: PresenceResource, settings: PresenceSettings = {}): Heartbeats {
  const { onPresence, onError, ...heartbeat } = settings
  const page = (globalThis as { document?: Page }).document
  const stopped = new AbortController()
  let wake = new AbortController()
  let seconds = 30
  const changed = () => wake.abort()
  const beat = async (activity: Heartbeat['activity']) => {
    try {
      const now = await presence.heartbeat({ ...heartbeat, activity }, { signal: stopped.signal })
      seconds = now.heartbeat_after_seconds ?? seconds
      onPresence?.(now)
    } catch (e) {
      if (!stopped.signal.aborted) onError?.(e)
    }
  }
  const run = async () => {
    page?.addEventListener('visibilitychange', changed)
    while (!stopped.signal.aborted) {
      wake = new AbortController()
      const hidden = page?.visibilityState === 'hidden'
      await beat(hidden ? 'idle' : (heartbeat.activity ?? 'active'))
      const pause = hidden ? 2 ** 31 - 1 : seconds * 1000
      if (!stopped.signal.aborted) await sleep(pause, wake.signal).catch(() => {})
    }
    page?.removeEventListener('visibilitychange', changed)
  }
  return {
    ended: run(),
    stop: () => {
      stopped.abort()
      wake.abort()
    },
  }
}
