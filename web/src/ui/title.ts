import { useLayoutEffect, useSyncExternalStore } from 'react'

let shown = ''
const listeners = new Set<() => void>()

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Names the tab of the browser after what the screen shows, most specific first. */
export function useTitle(...names: (string | undefined)[]) {
  const title = names.filter(Boolean).join(' · ')
  useLayoutEffect(() => {
    if (!title) return
    shown = title
    document.title = title + ' · Atrium'
    for (const listener of listeners) listener()
  }, [title])
}

/** The title, which screen readers have to be told when another screen is shown: the page is not loaded again. */
export const useShownTitle = () => useSyncExternalStore(subscribe, () => shown)
