import type { Source } from '@atrium-hq/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { atrium, queries } from '../api'
import { firstPage, useWorkspace } from '../app/workspace'
import { Button, Loading, Problem } from '../ui/basics'
import { More, Table } from '../ui/table'
import { words } from '../text/sources'

type Row = Record<string, unknown> & { at: number }

const written = (value: unknown) => (value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value))

/** What applications read, live: the mapped columns in the types of their fields. */
export function Rows({ source }: { source: Source }) {
  const workspace = useWorkspace()
  const rows = useInfiniteQuery({
    queryKey: ['rows', source.id, source.revision], refetchOnWindowFocus: false, staleTime: 60_000,
    queryFn: ({ pageParam }) => firstPage(atrium.dataSources.rows(source.id, {
      limit: 1000, on_invalid: 'report', ...(pageParam && { cursor: pageParam }),
    }, { workspace })),
    initialPageParam: '', getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  if (rows.isPending) return <Loading />
  const fields = source.mapping.map((p) => p.field)
  const pages = rows.data?.pages ?? []
  const items = pages.flatMap((page) => page.data).map((row, i): Row => ({ ...row, at: i }))
  const invalid = pages.flatMap((page) => page.invalid ?? [])
  return (
    <>
      {rows.isSuccess && items.length === 0 && <p className="text-soft">{words.thereAreNoRows}</p>}
      {items.length > 0 && (
        <Table
          label={words.rows} items={items} id={(r) => String(r.at)} csv="rows"
          columns={fields.map((field) => ({
            title: field, text: (r: Row) => written(r[field]),
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
