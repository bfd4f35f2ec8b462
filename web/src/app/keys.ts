import { useLayoutEffect } from 'react'
import { places } from './places'
import { usePermission } from './workspace'

function typing(target: EventTarget | null) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/** Clicks what saves, or what confirms the dialog. */
function send(e: KeyboardEvent) {
  const form = e.key === 'Enter' ? '[role=dialog] form, form[data-saves]' : 'form[data-saves]'
  const button = document.querySelector(form)?.querySelector<HTMLButtonElement>('button[type=submit]')
  if (e.key === 's' || button) e.preventDefault()
  button?.click()
}

/** Moves the focus along the first links of the rows of a table. */
function step(key: string) {
  const links = [...document.querySelectorAll<HTMLElement>('main tbody tr td:first-child a')]
  const at = links.indexOf(document.activeElement as HTMLElement)
  links[Math.min(Math.max(at + (key === 'j' ? 1 : at < 0 ? 1 : -1), 0), links.length - 1)]?.focus()
}

/** Goes to the version before or after, of those that the page offers newest first. */
function turn(key: string) {
  const versions = document.querySelector<HTMLSelectElement>('main select[data-steps]')
  const next = versions?.options[versions.selectedIndex + (key === '[' ? 1 : -1)]
  if (!versions || !next) return
  versions.value = next.value
  versions.dispatchEvent(new Event('change', { bubbles: true }))
}

let began = 0 // when g was pressed

/** The keys that work everywhere, but not while somebody types. */
export function usePressedKeys(open: (list: 'commands' | 'keys') => void, go: (path: string) => void) {
  const may = usePermission()
  useLayoutEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      const control = e.metaKey || e.ctrlKey
      if (control && e.key === 'k') {
        e.preventDefault()
        open('commands')
        return
      }
      if (control && (e.key === 's' || e.key === 'Enter')) return send(e)
      if (control || e.altKey || typing(e.target) || document.querySelector('[role=dialog]')) return
      const after = Date.now() - began < 1500
      began = e.key === 'g' ? Date.now() : 0
      const place = after && places.find((p) => p.key === e.key && (!p.needs || may(p.needs)))
      if (place) return go(place.path)
      if (e.key === 'c') document.querySelector<HTMLElement>('main [data-key=c]')?.click()
      if (e.key === 'j' || e.key === 'k') step(e.key)
      if (e.key === '[' || e.key === ']') turn(e.key)
      if (e.key === '?') open('keys')
      if (e.key === '/') {
        const search = document.querySelector<HTMLInputElement>('main input[type=search]')
        if (search) e.preventDefault()
        search?.focus()
      }
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  })
}
