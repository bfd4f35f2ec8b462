import type { Source } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { atrium } from '../api'
import { firstPage, useWorkspace } from '../app/workspace'
import { Button, Loading, Problem } from '../ui/basics'
import { Table } from '../ui/table'

type Row = Record<string, unknown> & { at: number }

const written = (value: unknown) => (value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value))

/** What applications read, live: the mapped columns in the types of their fields. */
export function Rows({ source }: { source: Source }) {
  const workspace = useWorkspace()
  const [cursors, setCursors] = useState<string[]>([]) // those of the pages up to this one
  const cursor = cursors.at(-1)
  const rows = useQuery({
    queryKey: ['rows', source.id, source.revision, cursor], refetchOnWindowFocus: false, staleTime: 60_000,
    queryFn: () => firstPage(atrium.dataSources.rows(source.id, { limit: 50, on_invalid: 'report', ...(cursor && { cursor }) }, { workspace })),
  })
  if (rows.isPending) return <Loading />
  const fields = source.mapping.map((p) => p.field)
  const items = (rows.data?.data ?? []).map((row, i): Row => ({ ...row, at: i }))
  const invalid = rows.data?.invalid ?? []
  return (
    <>
      <Problem error={rows.error} />
      {rows.isSuccess && items.length === 0 && <p className="text-soft">There are no rows.</p>}
      {items.length > 0 && (
        <Table
          label="Rows" items={items} id={(r) => String(r.at)} csv="rows"
          columns={fields.map((field) => ({
            title: field, text: (r: Row) => written(r[field]),
            cell: (r: Row) => written(r[field]),
          }))}
        />
      )}
      {invalid.length > 0 && (
        <details className="my-2 text-warn">
          <summary className="cursor-default">{invalid.length} {invalid.length === 1 ? 'value is' : 'values are'} none of the field, and read as null</summary>
          <ul className="m-0 pl-5">{invalid.map((v) => <li key={`${v.row} ${v.field}`}>row {v.row}, {v.field}: {v.code.replaceAll('_', ' ')}</li>)}</ul>
        </details>
      )}
      <p className="flex gap-2">
        {cursors.length > 0 && <Button onClick={() => setCursors(cursors.slice(0, -1))}>Previous rows</Button>}
        {rows.data?.next_cursor && <Button onClick={() => setCursors([...cursors, rows.data.next_cursor!])}>Next rows</Button>}
        {rows.error && cursors.length > 0 && <Button onClick={() => setCursors([])}>Start again</Button>}
      </p>
    </>
  )
}
