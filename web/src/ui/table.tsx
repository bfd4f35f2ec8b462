import type { ReactNode } from 'react'
import { t } from '../text'
import { Button } from './basics'

export interface Column<T> {
  title: string
  /** What a cell shows. */
  cell: (item: T) => ReactNode
  /** What the cell is in a CSV file; columns without it are left out. */
  text?: (item: T) => string
  narrow?: boolean
}

/** A table. On a phone, each row is a block in which the titles of the columns stand before the cells. */
export function Table<T>({ label, items, columns, id, csv }: {
  label: string
  items: readonly T[]
  columns: Column<T>[]
  id: (item: T) => string
  csv?: string
}) {
  return (
    <>
      <section aria-label={label} tabIndex={0} className="overflow-x-auto rounded-lg border border-line bg-card">
        <table className="w-full border-collapse text-left max-sm:block">
          <caption className="sr-only">{label}</caption>
          <thead className="max-sm:sr-only">
            <tr className="border-b border-line text-xs text-soft">
              {columns.map((c) => (
                <th key={c.title} scope="col" className="px-3 py-2 font-medium whitespace-nowrap">
                  {c.title === t.actions ? <span className="sr-only">{c.title}</span> : c.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="max-sm:block">
            {items.map((item) => (
              <tr key={id(item)} className="border-b border-line last:border-0 hover:bg-hover max-sm:block max-sm:py-1.5">
                {columns.map((c, i) => (
                  <td
                    key={c.title}
                    className={`px-3 align-top max-sm:flex max-sm:flex-wrap max-sm:gap-x-3 max-sm:py-1
                      ${c.title === t.actions ? 'py-0.5 text-right' : 'py-2'} ${c.narrow ? 'sm:whitespace-nowrap' : 'break-words'}`}
                  >
                    {i > 0 && c.title !== t.actions && <span aria-hidden="true" className="w-20 shrink-0 text-xs leading-5 text-soft sm:hidden">{c.title}</span>}
                    <div className="min-w-0">{c.cell(item)}</div>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {csv && items.length > 0 && (
        <p className="mt-2"><Button onClick={() => download(csv, items, columns)}>{t.csv}</Button></p>
      )}
    </>
  )
}

function download<T>(name: string, items: readonly T[], columns: Column<T>[]) {
  const kept = columns.filter((c) => c.text)
  // A cell that begins like a formula would be run by spreadsheets.
  const quote = (s: string) => '"' + (/^[=+\-@\t\r]/.test(s) ? "'" + s : s).replaceAll('"', '""') + '"'
  const lines = [kept.map((c) => quote(c.title)), ...items.map((i) => kept.map((c) => quote(c.text?.(i) ?? '')))]
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([lines.map((l) => l.join(',')).join('\r\n')], { type: 'text/csv' }))
  link.download = name + '.csv'
  link.click()
  URL.revokeObjectURL(link.href)
}

/** The button that loads the next page of a list. */
export function More({ list }: { list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown } }) {
  if (!list.hasNextPage) return null
  return <p className="mt-3"><Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>{t.more}</Button></p>
}
