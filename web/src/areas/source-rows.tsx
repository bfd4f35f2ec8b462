import type { Source, SourceChanges } from '@atrium-hq/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium, queries } from '../api'
import { firstPage, useWorkspace } from '../app/workspace'
import { Button, Copy, Loading, Problem, When } from '../ui/basics'
import { Select } from '../ui/form'
import { More, Table } from '../ui/table'
import { words } from '../text/sources'

type Row = Record<string, unknown> & { at: number }

const written = (value: unknown) => (value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value))

/**
 * What applications read, live: the mapped columns in the types of their fields. With since, only what changed at that
 * comparison and later.
 */
export function Rows({ source, since, onAll }: { source: Source; since: SourceChanges | undefined; onAll: () => void }) {
  const workspace = useWorkspace()
  const [sort, setSort] = useState('')
  const rows = useInfiniteQuery({
    queryKey: ['rows', source.id, source.revision, since?.cursor, sort], refetchOnWindowFocus: false, staleTime: 60_000,
    queryFn: ({ pageParam }) => firstPage(atrium.dataSources.rows(source.id, {
      limit: 1000, on_invalid: 'report', ...(sort && { sort }), ...(since && { since: since.cursor, ids: true, removed: true }), ...(pageParam && { cursor: pageParam }),
    }, { workspace })),
    initialPageParam: '', getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const fields = [...source.mapping.map((p) => p.field), ...(since ? ['$id'] : [])]
  const pages = rows.data?.pages ?? []
  const items = pages.flatMap((page) => page.data).map((row, i): Row => ({ ...row, at: i }))
  const invalid = pages.flatMap((page) => page.invalid ?? [])
  return (
    <>
      <div className="flex max-w-xl flex-wrap items-center gap-x-4">
        <Select
          label={words.orderOfRows} name="sort" value={sort} onChange={(e) => setSort(e.target.value)}
          choices={[{ value: '', label: words.asTheSourceHasThem }, ...source.mapping.flatMap((p) => [
            { value: p.field, label: words.ascending(p.field) }, { value: `-${p.field}`, label: words.descending(p.field) },
          ])]}
        />
        {pages[0]?.sorted_by && <span className="text-soft">{pages[0].sorted_by === 'source' ? words.sortedBySource : words.sortedByAtrium}</span>}
      </div>
      {rows.isPending && <Loading />}
      {since && (
        <div className="mb-3 flex flex-wrap items-center gap-2">
          <span>{words.rowsFound} <When at={since.at} /> {words.andLater}</span>
          <Button onClick={onAll}>{words.showAllRows}</Button>
        </div>
      )}
      {since && rows.isSuccess && <Removed ids={pages[0]?.removed ?? []} />}
      {rows.isSuccess && items.length === 0 && <p className="text-soft">{since ? words.noRowsSince : words.thereAreNoRows}</p>}
      {items.length > 0 && (
        <Table
          label={words.rows} items={items} id={(r) => String(r.at)} csv="rows"
          columns={fields.map((field) => ({
            title: field === '$id' ? words.rowId : field, text: (r: Row) => written(r[field]),
            cell: (r: Row) => written(r[field]),
          }))}
        />
      )}
      {invalid.length > 0 && (
        <details className="my-2 text-warn">
          <summary className="cursor-default">{invalid.length} {invalid.length === 1 ? words.valueIs : words.valuesAre} {words.noneOfTheField}</summary>
          <ul className="m-0 ps-5">
            {invalid.slice(0, 100).map((v) => <li key={`${v.row} ${v.field}`}>{words.rowRowRowField(v.row, v.field)} {v.code.replaceAll('_', ' ')}</li>)}
            {invalid.length > 100 && <li>{words.andMore(invalid.length - 100)}</li>}
          </ul>
        </details>
      )}
      <Problem error={rows.error} />
      {rows.error
        ? <p><Button onClick={() => void queries.resetQueries({ queryKey: ['rows', source.id] })}>{words.startAgain}</Button></p>
        : <More list={rows} />}
    </>
  )
}

/** The ids of rows that are gone. Nothing else of them is stored. */
function Removed({ ids }: { ids: string[] }) {
  if (ids.length === 0) return null
  return (
    <details className="my-2">
      <summary className="cursor-default">{words.rowsWereRemoved(ids.length)}</summary>
      <p className="text-soft">{words.onlyIdsAreKept}</p>
      <ul className="m-0 ps-5">
        {ids.slice(0, 100).map((id) => <li key={id}><code>{id}</code></li>)}
        {ids.length > 100 && <li>{words.andMore(ids.length - 100)}</li>}
      </ul>
      <Copy text={ids.join('\n')} label={words.copyIds} />
    </details>
  )
}
