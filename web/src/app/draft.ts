import { useCallback, useEffect, useRef, useState } from 'react'

/**
 * A text that is typed but not saved yet. It survives a reload: it is kept in this browser at each pause, and when the page
 * is left, because keeping a long text at each key would delay the keys.
 */
export function useDraft(key: string): [draft: string | undefined, set: (draft: string | undefined) => void, forget: () => void] {
  const [draft, setDraft] = useState<string>()
  const unkept = useRef<{ key: string; draft: string | undefined }>(null)
  const keep = useCallback(() => {
    const now = unkept.current
    unkept.current = null
    if (!now) return
    if (now.draft === undefined) localStorage.removeItem(now.key)
    else localStorage.setItem(now.key, now.draft)
  }, [])
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    setDraft(localStorage.getItem(key) ?? undefined)
    addEventListener('pagehide', keep)
    return () => {
      removeEventListener('pagehide', keep)
      keep()
    }
  }, [key, keep])
  const set = useCallback((next: string | undefined) => {
    setDraft(next)
    unkept.current = { key, draft: next }
    clearTimeout(timer.current)
    timer.current = setTimeout(keep, 300)
  }, [key, keep])
  const forget = useCallback(() => {
    set(undefined)
    keep()
  }, [set, keep])
  return [draft, set, forget]
}
