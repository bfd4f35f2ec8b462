import { Dialog as D } from '@base-ui/react/dialog'
import { Tabs as T } from '@base-ui/react/tabs'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { t } from '../text'
import { Button, type Tone } from './basics'
import { CloseIcon } from './icons'

/** What people fill in. The first one has the focus when a dialog opens; where there is none, what changes nothing has it. */
const fields = 'input:not([type=hidden],[type=checkbox],[type=radio],[type=file]),textarea,select'

export function Dialog({ open, onClose, title, children, wide }: {
  open: boolean
  /** Without it, only what the dialog offers closes it. */
  onClose?: () => void
  title: string
  children: ReactNode
  wide?: boolean
}) {
  const popup = useRef<HTMLDivElement>(null)
  return (
    <D.Root open={open} onOpenChange={(next) => !next && onClose?.()}>
      <D.Portal>
        <D.Backdrop className="fixed inset-0 z-10 bg-black/40 transition-opacity data-[starting-style]:opacity-0 data-[ending-style]:opacity-0" />
        <D.Popup
          ref={popup} initialFocus={(how) => (how === 'touch' ? null : popup.current?.querySelector<HTMLElement>(fields + ',[data-safe]')) ?? true}
          className={`fixed top-[6vh] inset-x-0 mx-auto z-20 max-h-[88vh] w-[calc(100vw-2rem)] overflow-auto
            rounded-xl border border-line bg-card p-5 shadow-2xl transition-[opacity,scale] duration-150
            data-[starting-style]:scale-98 data-[starting-style]:opacity-0 data-[ending-style]:scale-98
            data-[ending-style]:opacity-0 ${wide ? 'max-w-4xl' : 'max-w-lg'}`}
        >
          <div className="mb-4 flex items-start gap-2">
            <D.Title className="m-0 me-auto min-w-0 text-base font-semibold break-words">{title}</D.Title>
            {onClose && (
              <D.Close
                aria-label={t.close}
                className="-mt-1 -me-1.5 inline-flex size-8 shrink-0 cursor-pointer items-center justify-center rounded-md text-soft
                  hover:bg-hover hover:text-ink"
              >
                <CloseIcon size={16} aria-hidden="true" />
              </D.Close>
            )}
          </div>
          {children}
        </D.Popup>
      </D.Portal>
    </D.Root>
  )
}

/** A button that asks before it acts. */
export function Confirm({ label, title, body, act, run, tone = 'danger', disabled }: {
  label: string
  title: string
  body: ReactNode
  act: string
  run: () => Promise<unknown> | void
  tone?: Tone
  disabled?: boolean
}) {
  const [open, setOpen] = useState(false)
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const confirm = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await run()
      setOpen(false)
    } catch (e) {
      setError(e)
    }
    setBusy(false)
  }
  return (
    <>
      <Button tone="quiet" disabled={disabled} onClick={() => setOpen(true)}>{label}</Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={title}>
        <div className="mb-4">{body}</div>
        <ErrorLine error={error} />
        <div className="flex flex-wrap justify-end gap-2">
          <Button data-safe onClick={() => setOpen(false)}>{t.cancel}</Button>
          <Button tone={tone} disabled={busy} onClick={() => void confirm()}>{act}</Button>
        </div>
      </Dialog>
    </>
  )
}

function ErrorLine({ error }: { error: unknown }) {
  if (!error) return null
  return <p role="alert" className="text-bad">{(error as { detail?: string }).detail ?? t.unreachable}</p>
}

/** Scrolls a row of tabs or links, and never the page, until one of them is in it. */
export function bringIntoRow(one: HTMLElement | null) {
  const row = one?.closest<HTMLElement>('[data-row]')
  if (!one || !row) return
  const r = row.getBoundingClientRect(), o = one.getBoundingClientRect()
  row.scrollLeft += Math.min(o.left - r.left, 0) || Math.max(o.right - r.right, 0)
}

export function Tabs({ tabs, value: wanted, onChange }: {
  tabs: { id: string; label: string; body: ReactNode }[]
  /** The first one is shown if there is none of this name: an address can name one that a role does not have. */
  value: string
  onChange: (id: string) => void
}) {
  const chosen = useRef<HTMLElement>(null)
  const value = tabs.some((tab) => tab.id === wanted) ? wanted : tabs[0]?.id ?? ''
  useEffect(() => bringIntoRow(chosen.current), [value, tabs.length]) // a role can have more tabs, once it is known
  return (
    <T.Root value={value} onValueChange={(id) => onChange(String(id))}>
      <T.List data-row className="mb-5 flex gap-1 overflow-x-auto overflow-y-hidden [scrollbar-width:thin] shadow-[inset_0_-1px_var(--line)]">
        {tabs.map((tab) => (
          <T.Tab
            key={tab.id}
            value={tab.id} ref={tab.id === value ? chosen : undefined}
            className="cursor-pointer border-b-2 border-transparent px-3 py-2 text-sm whitespace-nowrap text-soft
              hover:text-ink data-[active]:border-act data-[active]:font-medium data-[active]:text-ink"
          >
            {tab.label}
          </T.Tab>
        ))}
      </T.List>
      {tabs.map((tab) => <T.Panel key={tab.id} value={tab.id}>{tab.id === value && tab.body}</T.Panel>)}
    </T.Root>
  )
}
