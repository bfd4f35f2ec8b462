import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { t } from '../text'
import { Button } from './basics'
import { DownloadIcon } from './icons'

export interface Column<T> {
  title: string
  /** What a cell shows. */
  cell: (item: T) => ReactNode
  /** What the cell is in a CSV file; columns without it are left out. */
  text?: (item: T) => string
  narrow?: boolean
}

// Only the parts of a long table that are near the window have rows.
const part = 50

/**
 * A table. On a phone, each row is a block in which the titles of the columns stand before the cells. Of a long one, only
 * the rows that are near the window are in the page; its columns keep the widths that they had at first.
 */
export function Table<T>({ label, items, columns, id, csv }: {
  label: string
  items: readonly T[]
  columns: Column<T>[]
  id: (item: T) => string
  csv?: string
}) {
  const long = items.length > 4 * part
  const head = useRef<HTMLTableRowElement>(null)
  const [widths, setWidths] = useState<number[]>()
  useLayoutEffect(() => {
    if (!long) setWidths(undefined)
    else if (head.current?.offsetParent) setWidths((before) => before ?? [...head.current!.cells].map((c) => c.offsetWidth))
  }, [long])
  const all = widths?.reduce((sum, w) => sum + w, 0) ?? 0
  const parts = Array.from({ length: Math.ceil(items.length / part) }, (_, i) => items.slice(i * part, (i + 1) * part))
  return (
    <>
      <section aria-label={label} tabIndex={0} className="relative overflow-x-auto rounded-lg border border-line bg-card shadow-xs">
        <table
          aria-rowcount={long ? items.length + 1 : undefined}
          className={`w-full border-collapse text-start max-sm:block ${widths ? 'sm:table-fixed' : ''}`}
        >
          <caption className="sr-only">{label}</caption>
          {widths && <colgroup>{widths.map((w, i) => <col key={i} style={{ width: `${(w / all) * 100}%` }} />)}</colgroup>}
          <thead className="bg-page max-sm:sr-only">
            <tr ref={head} className="border-b border-line text-xs text-soft">
              {columns.map((c) => (
                <th key={c.title} scope="col" className="px-4 py-2 font-medium whitespace-nowrap">
                  {c.title === t.actions ? <span className="sr-only">{c.title}</span> : c.title}
                </th>
              ))}
            </tr>
          </thead>
          {parts.map((some, n) => (
            <Part key={n} rows={some.length} near={!long || n === 0}>
              {() => some.map((item) => (
                <tr key={id(item)} className="border-b border-line hover:bg-hover max-sm:block max-sm:py-1.5">
                  {columns.map((c, i) => (
                    <td
                      key={c.title}
                      className={`px-4 align-top max-sm:flex max-sm:flex-wrap max-sm:gap-x-3 max-sm:py-1 max-sm:has-[>div:empty]:hidden
                        ${c.title === t.actions ? 'py-0.5 text-end' : 'py-2'} ${c.narrow ? 'sm:whitespace-nowrap' : 'break-words'}`}
                    >
                      {i > 0 && c.title !== t.actions && <span aria-hidden="true" className="w-20 shrink-0 text-xs leading-5 text-soft sm:hidden">{c.title}</span>}
                      {/* On a phone, the text of a button without a border begins where the other cells do. */}
                      <div className={'min-w-0 ' + (c.title === t.actions ? 'max-sm:-mx-3' : 'max-sm:grow max-sm:basis-32 max-sm:wrap-anywhere' + (c.narrow ? '' : ' sm:min-w-40'))}>{c.cell(item)}</div>
                    </td>
                  ))}
                </tr>
              ))}
            </Part>
          ))}
        </table>
      </section>
      {csv && items.length > 0 && (
        <p className="m-0 mt-1 text-end">
          <Button tone="quiet" className="text-xs text-soft" onClick={() => download(csv, items, columns)}>
            <DownloadIcon size={14} aria-hidden="true" />{t.csv}
          </Button>
        </p>
      )}
    </>
  )
}

/** Some rows of a table, or a gap of their height while they are far from the window. */
function Part({ rows, near, children }: { rows: number; near: boolean; children: () => ReactNode }) {
  const body = useRef<HTMLTableSectionElement>(null)
  const [gap, setGap] = useState(near ? 0 : rows * 37) // 0: the rows are there
  useEffect(() => {
    if (near) setGap(0)
    const watch = new IntersectionObserver(([seen]) => {
      if (seen?.isIntersecting) setGap(0)
      else if (seen && !near && !body.current?.contains(document.activeElement)) setGap(seen.boundingClientRect.height)
    }, { rootMargin: '800px 0px' })
    watch.observe(body.current!)
    return () => watch.disconnect()
  }, [near])
  return (
    <tbody ref={body} className="max-sm:block [&:last-child>tr:last-child]:border-b-0">
      {gap === 0 ? children() : <tr aria-hidden="true" className="max-sm:block" style={{ height: gap }} />}
    </tbody>
  )
}

// A spreadsheet program would run a text that begins like a formula (https://owasp.org/www-community/attacks/CSV_Injection).
// A number with a sign is none.
const inert = (cell: string) => (/^[=+\-@\t\r\n＝＋－＠]/.test(cell) && !/^[+-]\d+([.,]\d+)*(e[+-]?\d+)?$/i.test(cell) ? "'" + cell : cell)

/** A CSV file of the API, for people who open it with a spreadsheet program. */
export const forSpreadsheet = (csv: string) =>
  csv.replace(/"(?:[^"]|"")*"|[^",\r\n]+/g, (cell) => (cell.startsWith('"') ? `"${inert(cell.slice(1, -1))}"` : inert(cell)))

function download<T>(name: string, items: readonly T[], columns: Column<T>[]) {
  const kept = columns.filter((c) => c.text)
  const quote = (s: string) => '"' + inert(s).replaceAll('"', '""') + '"'
  const lines = [kept.map((c) => quote(c.title)), ...items.map((i) => kept.map((c) => quote(c.text?.(i) ?? '')))]
  saveFile(name + '.csv', lines.map((l) => l.join(',')).join('\r\n'), 'text/csv')
}

/** Gives the person a file. */
export function saveFile(name: string, text: string, type: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

/** The button that loads the next page of a list. */
export function More({ list }: { list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown } }) {
  if (!list.hasNextPage) return null
  return <p className="mt-3"><Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>{t.more}</Button></p>
}
