import { Autocomplete } from '@base-ui/react/autocomplete'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { shortcuts, t } from '../text'
import { Button } from '../ui/basics'
import { Dialog } from '../ui/overlays'
import { useWorkspace } from './workspace'

const places: { label: string; path: string; key?: string }[] = [
  { label: t.prompts, path: 'prompts', key: 'p' },
  { label: t.chats, path: 'chats', key: 'c' },
  { label: t.sources, path: 'sources', key: 's' },
  { label: 'Map a sheet or table', path: 'sources/new' },
  { label: t.connections, path: 'connections', key: 'k' },
  { label: t.presence, path: 'presence', key: 'r' },
  { label: t.billing, path: 'billing', key: 'b' },
  { label: 'Members and invitations', path: 'settings/members', key: 'm' },
  { label: 'Groups', path: 'settings/groups' },
  { label: 'API keys', path: 'settings/keys' },
  { label: 'Webhooks', path: 'settings/webhooks' },
  { label: 'Your sessions', path: 'settings/sessions' },
  { label: 'Your passkeys', path: 'settings/passkeys' },
  { label: 'This workspace', path: 'settings/workspace' },
  { label: 'Audit trail', path: 'settings/audit', key: 'a' },
]

function typing(target: EventTarget | null) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/** The list of commands, and the keys that work without it. */
export function Palette() {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const [open, setOpen] = useState<'' | 'commands' | 'keys'>('')
  useEffect(() => {
    let began = 0 // when g was pressed
    const pressed = (e: KeyboardEvent) => {
      if (e.key === 'k' && (e.metaKey || e.ctrlKey)) {
        e.preventDefault()
        setOpen('commands')
        return
      }
      if ((e.metaKey || e.ctrlKey) && (e.key === 's' || e.key === 'Enter')) {
        const form = e.key === 'Enter' ? '[role=dialog] form, form[data-saves]' : 'form[data-saves]'
        const send = document.querySelector(form)?.querySelector<HTMLButtonElement>('button[type=submit]')
        if (e.key === 's' || send) e.preventDefault()
        send?.click()
        return
      }
      if (e.metaKey || e.ctrlKey || e.altKey || typing(e.target) || document.querySelector('[role=dialog]')) return
      if (e.key === 'c' && Date.now() - began > 1500) document.querySelector<HTMLElement>('main [data-key=c]')?.click()
      if (e.key === 'j' || e.key === 'k') {
        const links = [...document.querySelectorAll<HTMLElement>('main tbody tr td:first-child a')]
        const at = links.indexOf(document.activeElement as HTMLElement)
        links[Math.min(Math.max(at + (e.key === 'j' ? 1 : at < 0 ? 1 : -1), 0), links.length - 1)]?.focus()
      }
      if (e.key === '[' || e.key === ']') {
        const versions = document.querySelector<HTMLSelectElement>('main select[data-steps]')
        const next = versions?.options[versions.selectedIndex + (e.key === '[' ? 1 : -1)] // newest first
        if (versions && next) {
          versions.value = next.value
          versions.dispatchEvent(new Event('change', { bubbles: true }))
        }
      }
      if (e.key === '?') setOpen('keys')
      if (e.key === '/') {
        const search = document.querySelector<HTMLInputElement>('input[type=search]')
        if (search) {
          e.preventDefault()
          search.focus()
        }
      }
      const place = Date.now() - began < 1500 && places.find((p) => p.key === e.key)
      began = e.key === 'g' ? Date.now() : 0
      if (place) void navigate({ to: `/w/${workspace}/${place.path}` as string })
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [workspace, navigate])
  const go = (label: string) => {
    const place = places.find((p) => p.label === label)
    setOpen('')
    if (place) void navigate({ to: `/w/${workspace}/${place.path}` as string })
  }
  return (
    <>
      <Button tone="quiet" className="md:justify-start md:px-2.5" onClick={() => setOpen('commands')}>
        {t.commands}<kbd className="hidden font-sans text-xs font-normal text-soft md:inline">Ctrl K</kbd>
      </Button>
      <Dialog open={open === 'commands'} onClose={() => setOpen('')} title={t.commands}>
        <Autocomplete.Root open inline items={places.map((p) => p.label)} autoHighlight="always" keepHighlight>
          <Autocomplete.Input
            aria-label={t.goTo}
            placeholder={t.goTo}
            className="mb-2 w-full rounded-md border border-soft/60 bg-page px-2.5 py-1.5 text-ink"
          />
          <Autocomplete.Empty><p className="text-soft">{t.noMatch}</p></Autocomplete.Empty>
          <Autocomplete.List>
            {(label: string) => (
              <Autocomplete.Item
                key={label}
                value={label}
                className="cursor-default rounded px-2.5 py-1.5 data-[highlighted]:bg-hover"
                onClick={() => go(label)}
              >
                {label}
              </Autocomplete.Item>
            )}
          </Autocomplete.List>
        </Autocomplete.Root>
      </Dialog>
      <Dialog open={open === 'keys'} onClose={() => setOpen('')} title={t.help}>
        <dl className="m-0 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          {shortcuts.map(([keys, does]) => [<dt key={keys}><kbd>{keys}</kbd></dt>, <dd key={does} className="m-0">{does}</dd>])}
        </dl>
      </Dialog>
    </>
  )
}
