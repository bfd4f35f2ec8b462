import type { Source, SourceFieldValidation } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { atrium, download, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useWorkspace } from '../app/workspace'
import { Button, Loading, Pill, Problem, When } from '../ui/basics'
import { forSpreadsheet, saveFile, Table } from '../ui/table'
import { words } from '../text/sources'

const tone = { succeeded: 'ok', failed: 'bad', running: 'mark', queued: 'plain' } as Record<string, 'ok' | 'bad' | 'mark' | 'plain'>

const reasons = ['missing', 'wrong_type', 'ambiguous', 'not_in_enum', 'duplicate'] as const

/** The last check of all rows, or its progress. */
export function Validate({ source, mayRead }: { source: Source; mayRead: boolean }) {
  const workspace = useWorkspace()
  const key = ['validation', source.id]
  const report = useQuery({
    queryKey: key,
    queryFn: () => atrium.dataSources.validation(source.id, { workspace }),
    refetchInterval: (query) => (['queued', 'running'].includes(query.state.data?.state ?? '') ? 700 : false),
  })
  const begin = useMutation({
    mutationFn: () => atrium.dataSources.validate(source.id, { workspace }),
    onSuccess: (v) => queries.setQueryData(key, v),
  })
  const failing = useMutation({
    mutationFn: async () => saveFile('failing-rows.csv', forSpreadsheet(await download(`api/datasources/${source.id}/validation/failing-rows`, workspace)), 'text/csv'),
  })
  if (report.isPending) return <Loading />
  const v = report.data?.state === 'none' ? undefined : report.data
  const isBusy = !!v && !v.ended_at
  return (
    <>
      <p className="flex flex-wrap items-center gap-2">
        {mayRead && <Button tone="act" disabled={begin.isPending || isBusy} onClick={() => begin.mutate()}>{words.validateAllRows}</Button>}
        {mayRead && v && v.failing_rows > 0 && !isBusy && (
          <Button disabled={failing.isPending} onClick={() => failing.mutate()}>{words.downloadFailingRows}</Button>
        )}
        {v && <Pill tone={tone[v.state] ?? 'plain'}>{v.state}</Pill>}
        {v && <span className="text-soft">{words.validatedRows(v.rows, v.failing_rows)} <When at={v.ended_at ?? v.requested_at} /></span>}
      </p>
      <Problem error={report.error ?? begin.error ?? failing.error} />
      {!v && <p className="text-soft">{words.notValidated}</p>}
      {v?.failure && <p role="alert" className="text-bad">{words.itCouldNotBe(v.failure, '')}</p>}
      {v?.outdated && !isBusy && <p className="text-warn">{words.validationOutdated}</p>}
      {v && v.state === 'succeeded' && !v.complete && <p className="text-warn">{words.validationCut}</p>}
      {v && v.fields.length > 0 && (
        <Table
          label={words.validation} items={v.fields} id={(f) => f.field}
          columns={[
            { title: words.transformedField, cell: (f) => f.field },
            { title: words.emptyRows, narrow: true, cell: (f) => f.empty },
            { title: words.fails, cell: (f) => <Counts of={f} /> },
            { title: words.firstFailures, cell: (f) => <First of={f} /> },
          ]}
        />
      )}
    </>
  )
}

function Counts({ of }: { of: SourceFieldValidation }) {
  const found = reasons.filter((reason) => of[reason] > 0)
  if (found.length === 0) return <Pill tone="ok">{words.nothingFails}</Pill>
  return <span className="text-bad">{found.map((reason) => `${of[reason]} ${reason.replaceAll('_', ' ')}`).join(', ')}</span>
}

function First({ of }: { of: SourceFieldValidation }) {
  if (of.first.length === 0) return null
  return (
    <ul className="m-0 list-none p-0 text-xs">
      {of.first.map((f) => (
        <li key={`${f.row} ${f.code}`}>{words.failedRow(f.row, f.code.replaceAll('_', ' '), f.class ?? '')}</li>
      ))}
    </ul>
  )
}
