import { AtriumError } from '@atrium-hq/client'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { t } from '../text'
import { Button } from '../ui/basics'

interface Toast { text: string; undo?: () => PromiseLike<unknown> }

const listeners = new Set<() => void>()
let shown: Toast | undefined

/** Says what was done, for a while, with a way to undo it. A later one takes its place. */
export function toast(text: string, undo?: () => PromiseLike<unknown>) {
  shown = { text, ...(undo && { undo }) }
  for (const listener of listeners) listener()
}

function close() {
  shown = undefined
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** The place of toasts. One stays for 15 seconds, and as long as its button is pointed at or has the focus. */
export function Toasts() {
  const now = useSyncExternalStore(subscribe, () => shown)
  const [held, setHeld] = useState(false)
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    if (!now || held || busy) return
    const timer = setTimeout(close, 15_000)
    return () => clearTimeout(timer)
  }, [now, held, busy])
  const undo = async () => {
    setBusy(true)
    try {
      await now!.undo!()
      toast(t.undone)
    } catch (e) {
      toast(AtriumError.is(e) ? e.detail : t.unreachable)
    }
    setBusy(false)
    setHeld(false)
  }
  return (
    <div role="status" aria-label={t.messages} className="pointer-events-none fixed inset-x-4 bottom-4 z-30 flex justify-center">
      {now && (
        <p className="pointer-events-auto m-0 flex max-w-full items-center gap-2 rounded-lg border border-line bg-card py-1.5 pe-1.5 ps-4 shadow-xl">
          <span className="min-w-0 break-words">{now.text}</span>
          {now.undo && (
            <Button
              tone="quiet" disabled={busy} onClick={() => void undo()} onFocus={() => setHeld(true)} onBlur={() => setHeld(false)}
              onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)}
            >
              {t.undo}
            </Button>
          )}
          <Button tone="quiet" aria-label={t.close} onClick={close}>✕</Button>
        </p>
      )}
    </div>
  )
}
