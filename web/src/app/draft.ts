import { isTheirs } from '../person'
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react'

/** A text that somebody types and has not saved yet. It survives a reload of the page, until the person signs out. */
export interface Draft {
  /** What was typed until the last pause. Undefined if there is nothing to save. */
  text: string | undefined
  /** Whether more was typed since then. */
  isBehind: boolean
  /** Reports a change. The text is read at the next pause: to read a long one at each key would delay the keys. */
  change: (read: () => string | undefined) => void
  /** Reads at once what was typed since the last pause. Returns the text. */
  settle: () => string | undefined
  /** Removes it. */
  forget: () => void
  /** Keeps it with another key, which the caller then uses. */
  move: (to: string) => void
}

/** The draft with a key of this browser's storage, which gets it at each pause and when the page is left. */
export function useDraft(key: string): Draft {
  const [text, setText] = useState<string>()
  const [isBehind, setBehind] = useState(false)
  const last = useRef<string>(undefined)
  const unread = useRef<{ key: string; read: () => string | undefined }>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const take = useCallback((next: string | undefined) => {
    clearTimeout(timer.current)
    unread.current = null
    last.current = next
    setText(next)
    setBehind(false)
  }, [])
  const settle = useCallback(() => {
    const next = unread.current
    if (!next) return last.current
    take(next.read())
    keep(next.key, last.current)
    return last.current
  }, [take])
  // Not after the page is painted: a key between the two would belong to the draft before, and be lost.
  useLayoutEffect(() => {
    take(localStorage.getItem(key) ?? undefined)
    addEventListener('pagehide', settle)
    return () => {
      removeEventListener('pagehide', settle)
      settle()
    }
  }, [key, take, settle])
  const change = useCallback((read: () => string | undefined) => {
    if (!unread.current) setBehind(true)
    unread.current = { key, read }
    clearTimeout(timer.current)
    timer.current = setTimeout(settle, 200)
  }, [key, settle])
  const forget = useCallback(() => {
    take(undefined)
    keep(key, undefined)
  }, [key, take])
  const move = useCallback((to: string) => {
    keep(to, settle())
    keep(key, undefined)
  }, [key, settle])
  return useMemo(() => ({ text, isBehind, change, settle, forget, move }), [text, isBehind, change, settle, forget, move])
}

function keep(key: string, text: string | undefined) {
  if (!isTheirs()) return // the person has signed out in another window, or somebody else has signed in there
  try {
    if (text === undefined) localStorage.removeItem(key)
    else localStorage.setItem(key, text)
  } catch {
    // The storage is full. Then a reload loses the draft, but it can still be saved.
  }
}
