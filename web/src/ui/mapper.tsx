import type { SourceColumn, SourceField, SourcePair, SourceSuggestion } from '@atrium-hq/client'
import { type ReactNode, useRef, useState } from 'react'
import { t } from '../text'
import { words } from '../text/sources'
import { Back, Button, Forth, Pill } from './basics'

export interface Sheet {
  /** Rows of a table may not be in the order of a column that is not sortable. */
  headers: (SourceColumn & { sortable?: boolean })[]
  rows: (string | null)[][]
  leading_rows: (string | null)[][]
  suggestions: SourceSuggestion[]
  header_row: number | null
}

/** The mapping that the suggestions make. */
export function suggested(sheet: Sheet): SourcePair[] {
  return sheet.suggestions.map(({ field, column }) => ({ field, column }))
}

/**
 * Maps columns to fields by pointing: choose a field, then a column; or drag the field onto the column. With the
 * keyboard, the arrows move between fields, Enter chooses one, and Tab reaches the columns.
 */
export function Mapper({ fields, sheet, pairs, onChange, onHeaderRow, after }: {
  fields: SourceField[]
  sheet: Sheet
  pairs: SourcePair[]
  onChange: (pairs: SourcePair[]) => void
  /** Takes a row as the header; 0: there is none; nothing: whichever row looks like one. */
  onHeaderRow?: (row?: number) => void
  /** A value of a field in a row as applications will read it, if that is known. */
  after?: (row: number, field: string) => ReactNode
}) {
  const [chosen, setChosen] = useState(fields.find((f) => !pairs.some((p) => p.field === f.key))?.key)
  const list = useRef<HTMLUListElement>(null)
  const columnOf = (field: string) => pairs.find((p) => p.field === field)?.column
  const fieldOf = (column: string) => fields.find((f) => columnOf(f.key) === column)
  const isUsed = (column: string) => pairs.some((p) => p.column === column || p.transform?.join?.columns.includes(column))
  const titlesOf = (column: string) => fields.filter((f) => columnOf(f.key) === column).map((f) => f.title).join(', ')
  const map = (field: string, column: string) => {
    onChange([...pairs.filter((p) => p.field !== field), { field, column }])
    const rest = fields.slice(fields.findIndex((f) => f.key === field) + 1)
    setChosen((rest.find((f) => !columnOf(f.key)) ?? rest[0])?.key)
  }
  const unmap = (field: string) => onChange(pairs.filter((p) => p.field !== field))
  const move = (e: React.KeyboardEvent, by: number) => {
    const buttons = [...(list.current?.querySelectorAll<HTMLButtonElement>('[data-field]') ?? [])]
    const at = buttons.indexOf(e.target as HTMLButtonElement)
    if (at < 0) return
    e.preventDefault()
    buttons[Math.min(Math.max(at + by, 0), buttons.length - 1)]?.focus()
  }
  const why = (field: string) => sheet.suggestions.find((s) => s.field === field && s.column === columnOf(field))
  const missing = fields.filter((f) => f.required && !columnOf(f.key))
  const unused = sheet.headers.filter((h) => !isUsed(h.name))
  const active = fields.find((f) => f.key === chosen)
  return (
    <div className="grid gap-4 lg:grid-cols-[20rem_minmax(0,1fr)]">
      <div>
        <h2 className="mt-0 mb-2 text-base font-semibold">{words.chooseAField}</h2>
        <ul ref={list} className="m-0 grid list-none gap-1 p-0">
          {fields.map((f) => (
            <li key={f.key} className="flex gap-1">
              <button
                type="button" data-field={f.key} aria-pressed={chosen === f.key} draggable
                onDragStart={(e) => { e.dataTransfer.setData('text/plain', f.key); setChosen(f.key) }}
                onClick={() => setChosen(f.key)}
                onKeyDown={(e) => { if (e.key === 'ArrowDown') move(e, 1); if (e.key === 'ArrowUp') move(e, -1) }}
                className="min-w-0 grow rounded-md border border-line bg-card px-3 py-1.5 text-start text-ink aria-pressed:border-act
                  aria-pressed:bg-markbg"
              >
                <span className="font-medium">{f.title}</span>{' '}
                <span className="text-xs text-soft">{f.type}{f.required ? t.andRequired : ''}</span>
                <span className="block truncate text-xs" data-mapped={f.key}>
                  {columnOf(f.key)
                    ? <><Back /> {columnOf(f.key)}{why(f.key) && <span className="text-soft"> ({why(f.key)?.reason.replace(/\.$/, '')}, {Math.round((why(f.key)?.score ?? 0) * 100)} %)</span>}</>
                    : <span className="text-soft">{words.notMapped}</span>}
                </span>
              </button>
              {columnOf(f.key) && <Button tone="quiet" aria-label={words.unmapTitleTitle(f.title)} onClick={() => unmap(f.key)}>✕</Button>}
            </li>
          ))}
        </ul>
        <p>
          {missing.length > 0
            ? <Pill tone="warn">{words.required} {missing.map((f) => f.title).join(', ')}</Pill>
            : <Pill tone="ok">{words.everyRequiredFieldIs}</Pill>}
        </p>
        {unused.length > 0 && <p className="text-xs text-soft">{words.columnsWithoutAField} {unused.map((h) => h.name).join(', ')}</p>}
      </div>
      <div className="min-w-0 lg:sticky lg:top-6 lg:self-start">{/* beside the fields, however many there are */}
        <h2 className="mt-0 mb-2 text-base font-semibold">
          {words.clickItsColumn}{active && <span className="font-normal text-soft"> {words.forTitleTitle(active.title)}</span>}
        </h2>
        {onHeaderRow && sheet.header_row !== null && (
          <label className="mb-2 flex items-center gap-2 text-soft">
            <input type="checkbox" checked={sheet.header_row === 0} onChange={(e) => onHeaderRow(e.target.checked ? 0 : undefined)} />
            {words.theSheetHasNo}
          </label>
        )}
        <section aria-label={words.sheet} tabIndex={0} className="overflow-x-auto rounded-lg border border-line bg-card">
          <table className="border-collapse text-start">
            <thead>
              {sheet.leading_rows.map((row, i) => (
                <tr key={i} className="text-soft">
                  {sheet.headers.map((h, j) => (
                    <td key={h.column ?? h.name} className="border border-line px-2 py-1 text-xs">
                      {j === 0 && onHeaderRow
                        ? <button type="button" aria-label={words.headerFromRow(i + 1)} className="text-act" onClick={() => onHeaderRow(i + 1)}>{row[j] ?? '–'} {words.useAsHeader}</button>
                        : row[j]}
                    </td>
                  ))}
                </tr>
              ))}
              <tr>
                {sheet.headers.map((h) => {
                  const field = fieldOf(h.name)
                  return (
                    <th key={h.column ?? h.name} scope="col" className="border border-line p-0 align-top font-normal">
                      <button
                        type="button" data-column={h.name} aria-label={words.columnNameNameValue(h.name, field ? words.mappedTo + titlesOf(h.name) : '')} disabled={!chosen}
                        onClick={() => chosen && map(chosen, h.name)}
                        onDragOver={(e) => e.preventDefault()}
                        onDrop={(e) => { e.preventDefault(); map(e.dataTransfer.getData('text/plain'), h.name) }}
                        className={`block w-full min-w-28 px-2 py-1.5 text-start text-ink hover:bg-markbg ${field ? 'bg-markbg' : ''}`}
                      >
                        <span className="block text-xs text-soft">{h.column ? h.column + ' · ' : ''}{h.inferred_type}</span>
                        <span className="font-medium">{h.name}</span>
                        <span className="block text-xs text-act">{field ? <><Forth /> {titlesOf(h.name)}</> : ' '}</span>
                        {h.sortable === false && (active?.unique || field?.unique) && <Pill tone="warn">{words.noPagesByIt}</Pill>}
                      </button>
                    </th>
                  )
                })}
              </tr>
            </thead>
            <tbody>
              {sheet.rows.map((row, i) => (
                <tr key={i}>
                  {row.map((cell, j) => <td key={j} className="max-w-60 truncate border border-line px-2 py-1.5 text-soft">{cell}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
        {pairs.length > 0 && sheet.rows.length > 0 && (
          <>
            <h2 className="mb-2 text-base font-semibold">{words.whatApplicationsWillRead}</h2>
            <section aria-label={words.mappedRows} tabIndex={0} className="overflow-x-auto rounded-lg border border-line bg-card">
              <table className="border-collapse text-start" data-testid="mapped">
                <thead>
                  <tr>
                    {fields.filter((f) => columnOf(f.key)).map((f) => (
                      <th key={f.key} scope="col" className="border border-line px-2 py-1.5 font-medium">{f.key}</th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {sheet.rows.map((row, i) => (
                    <tr key={i}>
                      {fields.filter((f) => columnOf(f.key)).map((f) => (
                        <td key={f.key} className="max-w-60 truncate border border-line px-2 py-1.5">
                          {after?.(i, f.key) ?? row[sheet.headers.findIndex((h) => h.name === columnOf(f.key))]}
                        </td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          </>
        )}
      </div>
    </div>
  )
}
