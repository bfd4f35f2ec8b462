import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** Changes what is shown. It replaces the latest step of the browser's history if it is not one to go back to. */
export type Show = (next: string, replaces?: boolean) => void

/**
 * What a screen shows, such as its tab or its filter, as a parameter of the address: links and reloads lead to it, and Back
 * returns to what was shown before. The screen changes at once, and the address soon after. While somebody types, that is
 * after a pause of so many milliseconds, and no step of the history. The third value is what the address has: what a list is
 * asked for, which need not follow each key.
 */
export function useShown(name: string, first = '', pause = 0): [shown: string, show: Show, settled: string] {
  const address = String((useSearch({ strict: false }) as Record<string, unknown>)[name] ?? first)
  const navigate = useNavigate()
  const [shown, setShown] = useState(address)
  const latest = useRef(address)
  const coming = useRef(new Set<string>()) // what the address is about to have
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  useLayoutEffect(() => {
    if (coming.current.has(address)) {
      if (address === latest.current) coming.current.clear()
      return
    }
    clearTimeout(timer.current)
    latest.current = address
    setShown(address)
  }, [address])
  const show = useCallback((next: string, replaces = pause > 0) => {
    setShown(next)
    clearTimeout(timer.current)
    if (next === latest.current) return
    const go = () => {
      latest.current = next
      coming.current.add(next)
      const search = (before: object) => ({ ...before, [name]: next === first ? undefined : next })
      void navigate({ to: '.', search: search as never, replace: replaces, resetScroll: false })
    }
    if (pause > 0) timer.current = setTimeout(go, pause)
    else go()
  }, [name, first, pause, navigate])
  return [shown, show, address]
}

/** The pause of what is typed, in milliseconds: browsers refuse many changes of the address at once. */
export const TYPING = 250
