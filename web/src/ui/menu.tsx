import { Menu as M } from '@base-ui/react/menu'
import { useRef } from 'react'
import { t } from '../text'
import { MoreIcon } from './icons'

export interface MenuItem { label: string; onClick: () => void; danger?: boolean; disabled?: boolean }

/** The rarer actions of a page, behind one button. */
export function Menu({ items }: { items: (MenuItem | false | undefined)[] }) {
  const shown = items.filter((item): item is MenuItem => !!item)
  const box = useRef<HTMLDivElement>(null)
  if (shown.length === 0) return null
  return (
    <M.Root>
      <M.Trigger
        aria-label={t.moreActions} title={t.moreActions}
        className="inline-flex size-9 cursor-pointer items-center justify-center rounded-md border border-line bg-card text-ink shadow-xs hover:bg-hover"
      >
        <MoreIcon size={16} aria-hidden="true" />
      </M.Trigger>
      {/* In the main part of the page, which screen readers know as a region. */}
      <div ref={box} className="contents" />
      <M.Portal container={box}>
        <M.Positioner sideOffset={4} align="end" className="z-20 outline-none">
          <M.Popup className="min-w-40 rounded-lg border border-line bg-card p-1 shadow-xl outline-none">
            {shown.map((item) => (
              <M.Item
                key={item.label} disabled={item.disabled} onClick={item.onClick}
                className={`cursor-pointer rounded-md px-2.5 py-1.5 outline-none data-[disabled]:cursor-default
                  data-[disabled]:opacity-50 data-[highlighted]:bg-hover ${item.danger ? 'text-bad' : ''}`}
              >
                {item.label}
              </M.Item>
            ))}
          </M.Popup>
        </M.Positioner>
      </M.Portal>
    </M.Root>
  )
}
