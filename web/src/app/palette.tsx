import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { shortcuts, t } from '../text'
import { Loading } from '../ui/basics'
import { SearchIcon } from '../ui/icons'
import { Dialog } from '../ui/overlays'
import { usePressedKeys } from './keys'
import { useWorkspace } from './workspace'

const Goals = lazy(() => import('./goals').then((m) => ({ default: m.Goals })))

/** The list of commands, and the keys that work without it. */
export function Palette() {
  const workspace = useWorkspace()
  const navigate = useNavigate()
  const [open, setOpen] = useState<'' | 'commands' | 'keys'>('')
  const go = (path: string) => {
    const [screen, shown] = path.split('?')
    setOpen('')
    void navigate({ to: `/w/${workspace}/${screen}` as string, search: (shown ? { [shown]: true } : {}) as never })
  }
  usePressedKeys(setOpen, go)
  return (
    <>
      <button
        type="button" aria-label={t.commands} onClick={() => setOpen('commands')}
        className="inline-flex size-8 cursor-pointer items-center justify-center gap-2 rounded-md text-soft hover:bg-hover md:h-auto md:w-full
          md:justify-start md:border md:border-line md:bg-page md:px-2.5 md:py-1.5"
      >
        <SearchIcon size={16} aria-hidden="true" />
        <span aria-hidden="true" className="hidden md:inline">{t.find}</span>
        <kbd aria-hidden="true" className="ms-auto hidden rounded border border-line bg-card px-1.5 font-sans text-xs md:inline">{t.ctrlK}</kbd>
      </button>
      <Dialog open={open === 'commands'} onClose={() => setOpen('')} title={t.commands}>
        <Suspense fallback={<Loading />}><Goals go={go} /></Suspense>
      </Dialog>
      <Dialog open={open === 'keys'} onClose={() => setOpen('')} title={t.help}>
        <dl className="m-0 grid grid-cols-[auto_1fr] items-baseline gap-x-4 gap-y-1.5">
          {shortcuts.map(([keys, does]) => [
            <dt key={keys}><kbd className="rounded border border-line bg-page px-1.5 py-0.5 font-sans text-xs">{keys}</kbd></dt>,
            <dd key={does} className="m-0">{does}</dd>,
          ])}
        </dl>
      </Dialog>
    </>
  )
}
